"""/v1/clusters/NAME/chaos, moves and health: recorded first, then done; and what is answered of moves."""

from dataclasses import replace
from datetime import timedelta

import pytest
from starlette.testclient import TestClient

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.cluster.observed.agent_reports import AGENT_REPORT
from controlplane.cluster.view import ChaosView, ClusterView
from controlplane.commands.chaos_injection import Harmer
from controlplane.portal.app import create_app
from controlplane.storage.latest_values import LatestValue, Subject
from events import facts
from providers.harm import CannotHarm
from tests.builders import a_partition, a_report, a_snapshot
from tests.unit.controlplane.api.portal_house import START, House, three_brokers

MOVING = a_partition("orders-0", (1000, 1001, 1002, 1010), isr=(1000, 1001, 1002), adding=(1010,))
PAUSE = {"fault": "pause", "vms": ["brokers-a-0"], "for_s": 30, "force": True, "reason": "game day"}


@pytest.fixture
def house() -> House:
    house = House()
    house.apply()
    house.join(*three_brokers())
    return house


def create_client(house: House, harm: Harmer) -> TestClient:
    """Of a server whose faults are brought about so."""
    house.app = create_app(replace(house.services, cluster=replace(house.services.cluster, harm=harm)))
    return house.client_with(dict(house.client.headers))


def _types(house: House) -> list[str]:
    events = house.client.get("/v1/clusters/orders/events", params={"limit": 1000}).json()["events"]
    return [e["type"] for e in events]


def test_a_fault_is_on_record_when_it_is_done(house: House) -> None:
    done: list[tuple[str, bool]] = []

    def harm(view: ClusterView, chaos: ChaosView) -> None:
        done.append((chaos.fault, "chaos.injected" in _types(house)))

    client = create_client(house, harm)
    answers = [client.post("/v1/clusters/orders/chaos", json=PAUSE, headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert [a.status_code for a in answers] == [200, 200], answers[0].text
    assert answers[0].json()["vms"] == ["brokers-a-0.g1"]
    assert done == [("pause", True)], "a request that is sent again is done once"


def test_where_no_hands_are_lent_it_says_so(house: House) -> None:
    answer = house.client.post("/v1/clusters/orders/chaos", json=PAUSE)
    assert (answer.status_code, answer.json()["code"]) == (409, "cannot-harm")


def test_a_fault_that_was_not_brought_about_is_over_and_in_nobodys_way(house: House) -> None:
    answer = house.client.post("/v1/clusters/orders/chaos", json=PAUSE)
    assert answer.status_code == 409
    events = house.client.get("/v1/clusters/orders/events", params={"limit": 1000}).json()["events"]
    assert [e["type"] for e in events][-2:] == ["chaos.injected", "chaos.ended"]
    assert events[-1]["data"]["outcome"].startswith("it was not injected: this server cannot control")
    assert not house.view().requests.chaos
    other = house.client.post("/v1/clusters/orders/chaos", json={**PAUSE, "vms": ["brokers-b-0"]})
    assert other.json()["code"] == "cannot-harm", "no VM of another rack is hurt"


def test_a_fault_that_may_have_been_begun_lasts_its_time(house: House) -> None:
    def harm(view: ClusterView, chaos: ChaosView) -> None:
        raise CannotHarm("the second VM is gone", begun=True)

    client = create_client(house, harm)
    assert client.post("/v1/clusters/orders/chaos", json=PAUSE).json()["code"] == "cannot-harm"
    assert len(house.view().requests.chaos) == 1


def test_a_cluster_tells_of_its_faults_until_they_are_over(house: House) -> None:
    client = create_client(house, lambda view, chaos: None)
    assert client.post("/v1/clusters/orders/chaos", json=PAUSE).status_code == 200
    house.converger.catch_up()
    told = client.get("/v1/clusters/orders").json()
    assert told["faults"] == ["pause of brokers-a-0.g1, asked by local: game day: over in 30 s"]
    assert not told["faults_alone"], "its first generation is not reached"
    house.record(facts.RecycleCompleted(1))
    assert client.get("/v1/clusters/orders").json()["faults_alone"]
    page = house.browser("bo", Binding("", Role.VIEWER, "*")).get("/clusters/orders").text
    assert "Injected fault</a>: pause of brokers-a-0.g1" in page


def test_a_cluster_that_is_not_healthy_is_not_harmed(house: House) -> None:
    answer = house.client.post("/v1/clusters/orders/chaos", json={**PAUSE, "force": False})
    assert (answer.status_code, answer.json()["code"]) == (409, "not-whole")
    assert "chaos.injected" not in _types(house)


def test_health_says_what_is_wrong(house: House) -> None:
    house.snapshots[house.view().uid] = replace(a_snapshot(a_partition(isr=(1000,))), at=START)
    told = house.client.get("/v1/clusters/orders/health").json()
    assert (told["healthy"], told["under_min_isr"]) == (False, 1)
    assert told["why"]


def test_health_names_a_server_beside_a_broker_and_sees_that_it_is_down() -> None:
    house = House()
    house.apply()
    beside = facts.PlannedMember(103, "zookeeper-103", 128)
    house.join(*[replace(b, member=beside if b.node == "brokers-b-0" else None) for b in three_brokers()])
    house.record(facts.RecycleCompleted(house.view().generation))
    house.snapshots[house.view().uid] = replace(a_snapshot(a_partition()), at=START)
    told = house.client.get("/v1/clusters/orders/health").json()
    assert (told["zookeepers"], told["healthy"]) == (["brokers-b-0.g1"], True), told
    seen = a_report(house.view().instances["brokers-b-0.g1"], received_at=house.now)
    server = seen.report.services[0].model_copy(update={"name": "zookeeper", "node_id": 103, "state": "starting"})
    report = seen.report.model_copy(update={"services": (*seen.report.services, server)})
    subject = Subject(AGENT_REPORT, house.view().uid, "brokers-b-0.g1")
    house.latest.put(LatestValue(subject, report.model_dump(mode="json"), source="agent", observed_at=house.now))
    told = house.client.get("/v1/clusters/orders/health").json()
    assert (told["healthy"], told["why"]) == (False, "zookeeper of brokers-b-0.g1 is starting")


def test_moves_are_told_with_whose_they_are(house: House) -> None:
    assert house.client.get("/v1/clusters/orders/moves").json()["code"] == "kafka-unknown"
    house.snapshots[house.view().uid] = replace(a_snapshot(MOVING), at=START - timedelta(seconds=3))
    (move,) = house.client.get("/v1/clusters/orders/moves").json()["moves"]
    assert (move["topic"], move["partition"], move["of_kedge"], move["hung"]) == ("orders", 0, False, "")


def test_a_foreign_move_is_settled_by_a_person(house: House) -> None:
    house.snapshots[house.view().uid] = replace(a_snapshot(MOVING), at=START)
    for verb in ("adopt", "take-back"):
        body = {"partitions": ["orders-0"], "reason": "a dead tool"}
        answer = house.client.post(f"/v1/clusters/orders/moves/{verb}", json=body)
        assert (answer.status_code, answer.json()["changed"]) == (200, True), answer.text
    assert {"moves.adopted", "moves.cancel_requested"} <= set(_types(house))
