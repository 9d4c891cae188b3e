"""One person asks by the form, another agrees, in a real browser with and without scripts."""

from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.commands.policies.files import parse
from controlplane.commands.policies.store import PolicySet
from providers.price_list import PriceList
from tests.portal.living_portal import LivingPortal
from tests.portal.watched import Watched, serious

Visit = Callable[..., Watched]

POLICY = """\
apiVersion: kedge/v1alpha1
kind: Policy
metadata: {name: calm}
limits: {maxTopicPartitions: 20}
reserved: {ownerChange: true}
"""


class Calm:
    """Changes of an owner wait for a second person."""

    def current(self) -> PolicySet:
        return PolicySet(parse({"p.yaml": POLICY}))

    def prices(self) -> PriceList:
        return PriceList()


@pytest.fixture
def calm() -> Iterator[LivingPortal]:
    living = LivingPortal(policies=Calm())
    living.converge()
    living.fill("orders", "payments")
    living.start()
    yield living
    living.stop()


def somebody(portal: LivingPortal, name: str, role: Role) -> str:
    """A user with a password of their own."""
    first = portal.people.add(name, portal.world.clock())
    portal.people.users.bind(Binding(f"user:{name}", role, "*"))
    portal.people.users.set_password(name, portal.people.passwords.hashed(first), must_change=False)
    return first


@pytest.mark.parametrize("scripts", [pytest.param(True, marks=pytest.mark.soak), False])
def test_one_person_asks_and_another_agrees(calm: LivingPortal, visit: Visit, scripts: bool) -> None:
    ada, bob = somebody(calm, "ada", Role.OWNER), somebody(calm, "bob", Role.APPROVER)
    window = visit(calm, signed_in=False, java_script_enabled=scripts)
    window.sign_in(ada, name="ada")
    page = window.page
    page.goto(f"{calm.url}/new?kind=topic&tier=standard&cluster=orders")
    page.get_by_label("Name").fill("clicks")
    page.get_by_label("Team").fill("search")
    page.get_by_label("Partitions").fill("90")
    page.get_by_role("button", name="Preview the spec").click()
    expect(page.locator("#e-partitions")).to_contain_text("at most 20 may be")
    page.get_by_label("Partitions").fill("6")
    page.get_by_role("button", name="Preview the spec").click()
    page.get_by_role("button", name="Declare").click()
    expect(page).to_have_url(f"{calm.url}/clusters/orders/topics")
    page.goto(f"{calm.url}/new?kind=topic&tier=standard&cluster=orders")
    page.get_by_label("Name").fill("clicks")
    page.get_by_label("Team").fill("growth")
    page.get_by_role("button", name="Preview the spec").click()
    if scripts:
        assert not serious(Axe().run(page).response)
    page.get_by_role("button", name="Propose").click()
    expect(page.get_by_role("heading", name="Proposal")).to_be_visible()
    expect(page.get_by_text("You are an author of this change")).to_be_visible()
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    where = page.url
    other = visit(calm, signed_in=False, java_script_enabled=scripts)
    other.sign_in(bob, name="bob")
    other.page.get_by_role("link", name="Proposals").click()
    if scripts:
        assert not serious(Axe().run(other.page).response)
    other.page.goto(where)
    other.page.get_by_role("button", name="Approve").click()
    expect(other.page.get_by_text("executed")).to_be_visible()
    if scripts:
        assert not serious(Axe().run(other.page).response)
    view = calm.services.cluster.commands.current("orders")
    assert view.topics.by_name["clicks"].declared.owner == "growth"
