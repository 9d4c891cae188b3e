"""Coming in by a real provider, and the tokens of one's programs, in a real browser."""

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.api.oidc.binding import OidcBinding
from tests.oidc_server import CLIENT, SECRET, OidcServer, free_port
from tests.portal.living_portal import LivingPortal
from tests.portal.watched import Watched, serious

Visit = Callable[..., Watched]

PORT = free_port()
"""Of the portals here, one after the other: the provider has to know where people come from."""


@pytest.fixture(scope="module")
def provider() -> Iterator[OidcServer]:
    """A real one, which sends people back to a portal at one port."""
    portal = f"http://127.0.0.1:{PORT}"
    server = OidcServer(free_port(), [f"{portal}/oidc/callback"], [f"{portal}/login"])
    with server.running():
        yield server


@pytest.fixture
def provided(provider: OidcServer, tmp_path: Path) -> Iterator[LivingPortal]:
    """A portal that it lets people into; whoever is of the group `platform` is an administrator."""
    secret = tmp_path / "client-secret"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    living = LivingPortal(
        empty=True,
        provider=OidcBinding(
            issuer=provider.issuer,
            client_id=CLIENT,
            client_secret_file=secret,
            label="Example ID",
            allowed_email_domains=("example.com",),
        ),
        port=PORT,
    )
    living.people.users.bind(Binding("group:platform", Role.ADMIN, "*"))
    living.converge()
    living.start()
    yield living
    living.stop()


def come_in(page: Page, login: str) -> None:
    """Through the provider's own pages."""
    page.get_by_role("link", name="Sign in by Example ID").click()
    page.locator("[name=login]").fill(login)
    page.locator("[name=password]").fill("any")
    page.locator("[type=submit]").click()
    page.locator("[type=submit]").click()  # what this application may know


def test_somebody_comes_in_by_the_provider_makes_a_token_and_signs_out_there_too(
    provided: LivingPortal, visit: Visit
) -> None:
    window = visit(provided, signed_in=False)
    page = window.page
    page.goto(f"{provided.url}/clusters/orders")
    assert not serious(Axe().run(page).response)
    come_in(page, "ada")
    expect(page).to_have_url(f"{provided.url}/clusters/orders")
    expect(page.get_by_role("link", name="oidc:ada@example.com")).to_be_visible()
    page.get_by_role("link", name="oidc:ada@example.com").click()
    page.get_by_label("Label").fill("ci")
    page.get_by_label("May at most").select_option("operator")
    page.get_by_label("On", exact=True).fill("cluster:orders")
    page.get_by_role("button", name="Create a token").click()
    text = page.locator("#made").inner_text()
    assert not serious(Axe().run(page).response)
    api = httpx.Client(base_url=provided.url, headers={"Authorization": f"Bearer {text}"})
    assert api.post("/v1/clusters/orders/pause", json={"reason": "x"}).status_code == 200
    assert api.get("/v1/users").status_code == 403
    page.goto(f"{provided.url}/account")
    assert text not in page.content()
    page.get_by_role("button", name="Revoke ci").click()
    expect(page.get_by_role("cell", name="revoked")).to_be_visible()
    assert api.get("/v1/clusters").status_code == 401
    page.get_by_role("link", name="Audit").click()
    page.get_by_label("Who").fill("ada")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_text("POST /v1/clusters/orders/pause")).to_be_visible()
    assert not serious(Axe().run(page).response)
    window.assert_content()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("link", name="Sign out of Example ID too").click()
    page.get_by_role("button", name="Yes, sign me out").click()
    expect(page).to_have_url(f"{provided.url}/login")
    assert page.goto(f"{provided.url}/account").url.startswith(f"{provided.url}/login"), "signed out here"  # type: ignore[union-attr]


def test_somebody_of_another_domain_is_told_why_they_do_not_come_in(provided: LivingPortal, visit: Visit) -> None:
    window = visit(provided, signed_in=False)
    window.go("/login")
    come_in(window.page, "eve")
    expect(window.page.get_by_text("people of your email domain are not let in here")).to_be_visible()
    window.page.goto(f"{provided.url}/account")
    expect(window.page).to_have_url(f"{provided.url}/login?next=/account")


def test_an_open_page_leaves_within_five_seconds_of_its_session(provided: LivingPortal, visit: Visit) -> None:
    window = visit(provided, signed_in=False)
    window.page.goto(f"{provided.url}/clusters/orders")
    come_in(window.page, "ada")
    expect(window.page).to_have_url(f"{provided.url}/clusters/orders")
    provided.wait_for_listener()
    provided.people.disable("oidc:ada@example.com", disabled=True)
    expect(window.page).to_have_url(f"{provided.url}/login?next=/clusters/orders", timeout=5_000)
