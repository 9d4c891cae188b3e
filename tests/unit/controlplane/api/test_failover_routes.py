"""/v1/failovers: who declares, sees, orders and withdraws a pair, and what is told of clusters that are others'."""

from dataclasses import replace
from typing import Any

import httpx
import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.rights import Forbidden, rights_of
from controlplane.api.access.roles import Role
from controlplane.api.access.trail import Trail
from controlplane.api.scoped.services import scoped
from controlplane.api.specs import Order, declare, judge
from controlplane.cluster.commands import ClusterNotFound
from controlplane.commands.failover_declarations import DeclarePair, WithdrawPair
from controlplane.commands.failover_orders import AbortFailover, CertifyDoorShut, OrderFailover
from controlplane.commands.failovers import Failovers, FailoverService, PairNotFound
from controlplane.fleet.failovers.troubles import PairTroubles
from controlplane.portal.app import create_app
from controlplane.storage.streams import pair_stream
from events import failover_facts as facts
from events.codec import encode
from events.envelope import Origin
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


def record(house: House, *story: object) -> None:
    """What others record of the pair `both`."""
    view = house.services.fleet.failovers.get("both").view
    for n, fact in enumerate(story, view.version):
        house.store.append(pair_stream(view.uid), [encode(fact, f"s{n}")], expected_version=n, origin=Origin("loop"))


def seeded(house: House) -> None:
    standby = house.services.fleet.failovers.get("both").view.standby
    record(house, facts.DoorClosed(standby, 1, "agents", ""), facts.StandbySeeded(""))


def fences(house: House, order: str) -> None:
    """The order as far as it waits for the door of the primary."""
    view = house.services.fleet.failovers.get("both").view
    flips = facts.NamesFlipRequested(order, view.standby), facts.NamesFlipped(order, view.standby)
    record(house, facts.StandbyReady(order, ""), *flips, facts.DoorCloseRequested(order, view.primary, 2))


def post(house: House, what: str, **body: str) -> httpx.Response:
    answer: httpx.Response = house.client.post(f"/v1/failovers/both/{what}", json=body)
    return answer


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


def test_a_plan_is_told_with_what_speaks_against_it_and_changes_nothing(house: House) -> None:
    house.apply(pair())
    before = house.store.head()
    told = house.client.get("/v1/failovers/both/plan", params={"planned": "false"}).json()
    assert (told["planned"], told["primary"], told["standby"], told["loses_nothing"]) == (
        False,
        "orders",
        "orders-us",
        False,
    )
    assert [r["code"] for r in told["refusals"]] == ["failover-not-ready", "failover-loses"]
    assert [step["what"] for step in told["steps"] if step["is_point_of_no_return"]] == [
        "the door of orders-us is to be opened"
    ]
    assert told["loss"][0].startswith("every record stays on the old primary")
    assert house.store.head() == before
    shown = house.client.get("/v1/failovers/both").json()["sentence"]
    assert shown == "the door of the standby is closing by order 1, and not proved shut"
    refused = post(house, "failover", confirm="both")
    assert (refused.status_code, refused.json()["code"]) == (409, "failover-not-ready")
    assert house.store.head() == before


def test_a_failover_is_ordered_by_its_plan_fenced_by_a_persons_word_and_aborted(house: House) -> None:
    house.apply(pair())
    seeded(house)
    plan = house.client.get("/v1/failovers/both/plan").json()
    assert plan["refusals"] == []
    assert post(house, "failover", confirm="bot").json()["code"] == "not-confirmed"
    assert post(house, "failover", confirm="both", plan_digest="a-b").json()["code"] == "plan-moved"
    done = post(house, "failover", confirm="both", plan_digest=plan["digest"]).json()
    assert (done["changed"], done["sentence"]) == (
        True,
        "both: the planned failover from orders to orders-us is ordered",
    )
    shown = house.client.get("/v1/failovers/both").json()
    assert (shown["state"], shown["order"], shown["returns"]) == ("Preparing", done["order"], True)
    assert (shown["next"], shown["sentence"]) == ("what the standby has is not known",) * 2
    fences(house, done["order"])
    shown = house.client.get("/v1/failovers/both").json()
    assert [(d["cluster"], d["state"], d["epoch"]) for d in shown["doors"]] == [
        ("orders", "closing", 2),
        ("orders-us", "closed", 1),
    ]
    assert shown["next"].endswith("by your word: kedge failovers certify-shut both")
    assert post(house, "certify-shut", confirm="both").status_code == 422, "a reason is needed"
    word = post(house, "certify-shut", confirm="both", reason="switched off").json()
    assert word["sentence"] == "both: the door of orders counts as shut by your word, by order 2"
    shown = house.client.get("/v1/failovers/both").json()
    assert shown["next"] == "due: the door of orders-us is to be opened, behind which nothing is aborted"
    assert post(house, "abort", reason="x").json()["order"] == done["order"]
    shown = house.client.get("/v1/failovers/both").json()
    assert (shown["state"], shown["next"]) == ("Aborting", "due: the pair's name is to lead to orders")
    assert (shown["last_order"], shown["last_promoted"]) == ("", None)


def test_what_stands_in_the_way_is_told_without_names_of_others(house: House) -> None:
    house.apply(pair())
    service = house.services.fleet.failovers
    assert isinstance(service, FailoverService)
    found = PairTroubles({"brokers-a-0.g1": "its agent is silent"}, "REFUSED", "it rolls with search")
    told = replace(service, in_its_way=lambda pair: found)
    house.app = create_app(replace(house.services, fleet=replace(house.services.fleet, failovers=told)))
    ops = house.client_with(dict(house.client.headers))
    for shown in (ops.get("/v1/failovers/both").json(), ops.get("/v1/failovers").json()["items"][0]):
        assert shown["unproved"] == {"brokers-a-0.g1": "its agent is silent"}
        assert shown["name_problem"] == "REFUSED"
        assert shown["next"].endswith("not proved shut; it rolls with search")
    mine = scoped(
        replace(house.services, fleet=replace(house.services.fleet, failovers=told)), rights(Role.VIEWER, "team:sales")
    )
    assert mine.fleet.failovers.troubles(service.get("both")).standby == "it rolls with another cluster"


def test_the_same_request_twice_is_one_order(house: House) -> None:
    house.apply(pair())
    seeded(house)
    same = {"Idempotency-Key": "once"}
    body = {"confirm": "both"}
    first = house.client.post("/v1/failovers/both/failover", json=body, headers=same).json()
    head = house.store.head()
    second = house.client.post("/v1/failovers/both/failover", json=body, headers=same).json()
    assert (second["order"], house.store.head()) == (first["order"], head)
    assert first["order"]


def test_who_steers_both_clusters_orders_and_aborts_and_who_may_delete_both_certifies(house: House) -> None:
    house.apply(pair())
    seeded(house)
    head = {"name": "both", "actor": "person:ada"}
    order = OrderFailover(**head, command_id="o", planned=True, accepts_loss=False, confirm="both", reason="")
    abort = AbortFailover(**head, command_id="a", reason="")
    word = CertifyDoorShut(**head, command_id="c", confirm="both", reason="switched off")
    for service in (failovers(house, Role.ADMIN, "team:search"), failovers(house, Role.ADMIN, "cluster:orders")):
        for say, command in ((service.order, order), (service.abort, abort), (service.certify, word)):
            with pytest.raises(PairNotFound):
                say(command)  # type: ignore[operator]  # of each its own
    viewer, operator = failovers(house, Role.VIEWER, "team:sales"), failovers(house, Role.OPERATOR, "team:sales")
    with pytest.raises(Forbidden):
        viewer.order(order)
    done = operator.order(order)
    assert done.changed
    fences(house, done.order)
    with pytest.raises(Forbidden):
        viewer.abort(abort)
    with pytest.raises(Forbidden):
        operator.certify(word)
    assert operator.get("both").view.state == "Fencing"
    assert failovers(house, Role.OWNER, "team:sales").certify(word).changed
    assert operator.abort(abort).changed


def test_who_steers_one_of_two_clusters_orders_nothing(house: House) -> None:
    house.apply(pair())
    seeded(house)
    mine = [Binding("user:ada", Role.VIEWER, "team:sales"), Binding("user:ada", Role.OWNER, "cluster:orders")]
    service = scoped(house.services, rights_of("user:ada", mine)).fleet.failovers
    order = OrderFailover(
        name="both", actor="person:ada", command_id="o", planned=True, accepts_loss=False, confirm="both", reason=""
    )
    with pytest.raises(Forbidden):
        service.order(order)
    assert service.get("both").view.order is None


def test_an_order_is_in_the_audit_with_where_it_is_in_the_log(house: House) -> None:
    house.apply(pair())
    seeded(house)
    trail = Trail()
    caller = replace(rights(Role.OPERATOR, "team:sales"), trail=trail)
    service = scoped(house.services, caller).fleet.failovers
    service.order(
        OrderFailover(
            name="both", actor="person:ada", command_id="o", planned=True, accepts_loss=False, confirm="both", reason=""
        )
    )
    assert trail.event_position == house.store.head()


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
