"""/v1/failovers: who declares, sees and withdraws a pair, and what is told of clusters that are others'."""

from typing import Any

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.rights import Forbidden, rights_of
from controlplane.api.access.roles import Role
from controlplane.api.scoped.services import scoped
from controlplane.api.specs import Order, declare, judge
from controlplane.cluster.commands import ClusterNotFound
from controlplane.commands.failovers import DeclarePair, Failovers, PairNotFound, WithdrawPair
from events.spec.document import load_documents
from tests.unit.controlplane.api.portal_house import House
from tests.unit.events.spec_texts import ORDERS

OURS = ORDERS.replace("name: orders", "name: orders\n  owner: sales")
STANDBY = OURS.replace("name: orders", "name: orders-us")
THEIRS = ORDERS.replace("name: orders", "name: search\n  owner: search")


def pair(name: str = "both", first: str = "orders", second: str = "orders-us") -> str:
    return (
        f"apiVersion: kedge/v1alpha1\nkind: KafkaFailover\nmetadata: {{name: {name}}}\nspec:\n"
        f"  clusters: [{first}, {second}]\n  bootstrap: {{dns: {name}.example}}\n  mode: cold\n  standby: {{size: 3}}\n"
    )


@pytest.fixture
def house() -> House:
    """`orders` and `orders-us` of sales, `search` of search."""
    house = House()
    for text in (OURS, STANDBY, THEIRS):
        house.apply(text)
    return house


def rights(role: Role, *scopes: str) -> Any:
    return rights_of("user:ada", [Binding("user:ada", role, scope) for scope in scopes])


def failovers(house: House, role: Role, *scopes: str) -> Failovers:
    return scoped(house.services, rights(role, *scopes)).fleet.failovers


def apply(house: House, text: str, role: Role, *scopes: str) -> list[str]:
    services = scoped(house.services, rights(role, *scopes))
    judged = judge(services, text, file="pair.yaml", takes_pairs=True)
    if not judged.ok:
        return [p.code for p in judged.problems if p.is_error]
    return [one.sentence for one in declare(services, judged, Order(actor="person:ada", command_id="k")).pairs]


def test_whoever_may_declare_both_clusters_declares_their_pair(house: House) -> None:
    with pytest.raises(Forbidden):
        apply(house, pair(), Role.OPERATOR, "team:sales")
    assert apply(house, pair(), Role.OWNER, "team:sales") == ["both: orders is the primary, orders-us its cold standby"]


def test_a_cluster_that_is_not_theirs_to_see_is_none(house: House) -> None:
    text = pair(first="search", second="orders")
    assert apply(house, text, Role.OWNER, "team:sales") == ["KEDGE-SPEC-162"]
    mine = scoped(house.services, rights(Role.OWNER, "team:sales"))
    judged = judge(house.services, text.replace("search", "orders-us", 1), file="p", takes_pairs=True)
    hidden = judge(house.services, THEIRS + "---\n" + text, file="p", takes_pairs=True)
    assert judged.ok
    assert [p.code for p in hidden.problems if p.is_error] == ["KEDGE-SPEC-172"]
    with pytest.raises(ClusterNotFound):
        mine.fleet.failovers.check(_command(text), {})


def test_a_pair_is_seen_by_who_may_read_both_and_withdrawn_by_who_may_delete_both(house: House) -> None:
    house.apply(pair())
    withdrawal = WithdrawPair(name="both", actor="person:ada", command_id="w", confirm="both", reason="")
    for service in (failovers(house, Role.VIEWER, "team:search"), failovers(house, Role.ADMIN, "team:search")):
        assert service.pairs().living == ()
        with pytest.raises(PairNotFound, match="there is no failover"):
            service.get("both")
        with pytest.raises(PairNotFound, match="there is no failover"):
            service.withdraw(withdrawal)
    seen = failovers(house, Role.VIEWER, "team:sales")
    assert [p.name for p in seen.pairs().living] == ["both"]
    with pytest.raises(Forbidden):
        seen.withdraw(withdrawal)
    assert failovers(house, Role.OWNER, "team:sales").withdraw(withdrawal).changed


def test_who_withdrew_a_pair_has_no_say_in_a_later_one_of_its_name(house: House) -> None:
    """The rights are asked of the pair that would be withdrawn, not of one that is over."""
    house.apply(pair())
    ours = failovers(house, Role.OWNER, "team:sales")
    assert ours.withdraw(
        WithdrawPair(name="both", actor="person:ada", command_id="w", confirm="both", reason="")
    ).changed
    house.apply(THEIRS.replace("name: search\n", "name: search-us\n", 1))
    house.apply(pair(first="search", second="search-us"))
    with pytest.raises(PairNotFound):
        ours.withdraw(WithdrawPair(name="both", actor="person:ada", command_id="x", confirm="both", reason=""))
    assert [p.name for p in failovers(house, Role.VIEWER, "team:search").pairs().living] == ["both"]


def test_a_plan_is_told_and_every_order_is_refused(house: House) -> None:
    house.apply(pair())
    before = house.store.head()
    told = house.client.get("/v1/failovers/both/plan", params={"planned": "false"}).json()
    assert (told["planned"], told["primary"], told["standby"], told["loses_nothing"]) == (
        False,
        "orders",
        "orders-us",
        False,
    )
    assert [r["code"] for r in told["refusals"]] == ["failover-not-ready", "failover-loses", "failover-not-carried-out"]
    assert [step["what"] for step in told["steps"] if step["is_point_of_no_return"]] == [
        "the door of orders-us is to be opened"
    ]
    assert house.store.head() == before
    shown = house.client.get("/v1/failovers/both").json()["sentence"]
    assert shown.startswith("the door of the standby is closing by order 1, and not proved shut")


def test_a_cluster_of_a_pair_is_deleted_once_the_pair_is_taken_back(house: House) -> None:
    house.apply(pair())
    for name in ("orders", "orders-us"):
        refused = house.client.post(f"/v1/clusters/{name}/delete", json={"confirm": name, "reason": "x"})
        assert (refused.status_code, refused.json()["code"]) == (409, "cluster-paired")
        assert refused.json()["next"].endswith("kedge failovers withdraw both")
    house.client.post("/v1/failovers/both/withdraw", json={"confirm": "both"})
    done = house.client.post("/v1/clusters/orders/delete", json={"confirm": "orders", "reason": "x"})
    assert done.status_code == 200, done.text


def test_elsewhere_a_pair_is_refused(house: House) -> None:
    """As in a pull request, of which no source would declare anything."""
    judged = judge(house.services, pair(), file="pair.yaml")
    assert [p.code for p in judged.problems] == ["KEDGE-SPEC-160"]


def _command(text: str) -> Any:

    (document,) = load_documents(text, file="p", takes_pairs=True).failovers
    return DeclarePair(name=document.pair, actor="person:ada", command_id="k", document=document, source="api")
