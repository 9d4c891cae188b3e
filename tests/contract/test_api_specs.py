"""The HTTP API as its callers rely on it: validate, plan, apply and what follows, on every kind of store."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from controlplane.api.schemas import clusters as api, specs as spec_api
from controlplane.converger.tick.report import Said
from events import facts
from events.engine import build_engine
from events.sql_store import SqlEventStore
from tests.unit.controlplane.api.portal_house import TOKEN, House, broker, three_brokers
from tests.unit.events.spec_texts import ORDERS, edited

NEWER = edited({7: "    version: 4.2.0"})
LARGER = edited({19: "      size: 6"})
UNEVEN = edited({19: "      size: 4"})
PAIR = """\
apiVersion: kedge/v1alpha1
kind: KafkaFailover
metadata: {name: both}
spec:
  clusters: [orders, orders-us]
  bootstrap: {dns: both.example}
  mode: cold
  standby: {size: 3}
---
"""


@pytest.fixture(params=["memory", "sqlite"])
def house(request: pytest.FixtureRequest, wiped_database: Callable[[str], str]) -> Iterator[House]:
    if request.param == "memory":
        yield House()
        return
    engine = build_engine(wiped_database("sqlite"))
    yield House(store=SqlEventStore(engine))
    engine.dispose()


def post(house: House, path: str, body: dict[str, Any], **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response: httpx.Response = house.client.post(f"/v1{path}", json=body, headers=named)
    return response


def plan(house: House, text: str = ORDERS) -> spec_api.PlansOut:
    response = post(house, "/plan", {"text": text})
    assert response.status_code == 200, response.text
    return spec_api.PlansOut.model_validate(response.json())


def events(house: House, name: str = "orders", **query: Any) -> api.EventsOut:
    response = house.client.get(f"/v1/clusters/{name}/events", params=query)
    assert response.status_code == 200, response.text
    return api.EventsOut.model_validate(response.json())


# --- validate and apply -----------------------------------------------------------------------------------------


def test_a_spec_with_problems_is_answered_with_all_of_them_and_changes_nothing(house: House) -> None:
    bad = edited({7: "    version: 9.9.9", 13: "      size: 4"})
    for path in ("/validate", "/plan", "/apply"):
        answer = post(house, path, {"text": bad, "file": "bad.yaml"}).json()
        assert not answer["ok"]
        assert [(p["file"], p["line"]) for p in answer["problems"]] == [("bad.yaml", 7), ("bad.yaml", 13)]
        assert all(p["fix"] and p["severity"] == "error" for p in answer["problems"])
    assert house.store.head() == 0


def test_validating_knows_what_is_in_force(house: House) -> None:
    house.apply()
    answer = post(house, "/validate", {"text": edited({11: "    - name: voters"})}).json()
    assert [p["code"] for p in answer["problems"] if p["severity"] == "error"] == ["KEDGE-SPEC-071"]


def test_a_pair_is_declared_beside_its_clusters_listed_and_withdrawn(house: House) -> None:
    house.apply()
    pair = PAIR + ORDERS.replace("name: orders", "name: orders-us")
    answer = post(house, "/validate", {"text": pair}).json()
    assert (answer["ok"], answer["failovers"], answer["clusters"]) == (True, ["both"], ["orders-us"])
    alone = post(house, "/validate", {"text": PAIR}).json()
    assert [(p["code"], p["line"]) for p in alone["problems"] if p["severity"] == "error"] == [("KEDGE-SPEC-162", 5)]
    planned, before = plan(house, pair), house.store.head()
    assert planned.failovers == ["+ failover both: orders is the primary, orders-us its cold standby"]
    post(house, "/apply", {"text": pair, "dry_run": True})
    assert (house.client.get("/v1/failovers").json(), house.store.head()) == ({"items": []}, before)
    done = post(house, "/apply", {"text": pair, "plan_digest": planned.digest}).json()
    assert [(one["name"], one["changed"]) for one in done["failovers"]] == [("both", True)]
    (listed,) = house.client.get("/v1/failovers").json()["items"]
    assert listed == house.client.get("/v1/failovers/both").json()
    assert (listed["state"], listed["primary"], listed["standby"]) == ("Seeding", "orders", "orders-us")
    assert [(d["cluster"], d["role"], d["state"]) for d in listed["doors"]] == [
        ("orders", "primary", "open"),
        ("orders-us", "standby", "closing"),
    ]
    again = post(house, "/apply", {"text": pair}).json()["failovers"]
    assert [(one["changed"], one["sentence"]) for one in again] == [(False, "both is declared so already")]
    assert post(house, "/failovers/both/withdraw", {"confirm": "bot"}).status_code == 409
    assert post(house, "/failovers/both/withdraw", {"confirm": "both"}).json()["changed"]
    assert house.client.get("/v1/failovers/both").status_code == 404


def test_a_pair_whose_plan_moved_is_not_declared(house: House) -> None:
    house.apply()
    text = PAIR + ORDERS.replace("name: orders", "name: orders-us")
    post(house, "/apply", {"text": text})
    larger = PAIR.replace("size: 3", "size: 4")
    planned = plan(house, larger)
    assert planned.failovers == ["~ failover both: spec.standby.size 3 -> 4"]
    post(house, "/apply", {"text": PAIR.replace("size: 3", "size: 5")})
    refused = post(house, "/apply", {"text": larger, "plan_digest": planned.digest})
    assert (refused.status_code, refused.json()["code"]) == (409, "plan-moved")


def test_apply_declares_once_and_then_says_unchanged(house: House) -> None:
    first = house.apply()["applied"][0]
    again = house.apply()["applied"][0]
    assert (first["changed"], first["created"], first["generation"]) == (True, True, 1)
    assert (again["changed"], again["created"], again["generation"], again["uid"]) == (False, False, 1, first["uid"])
    assert house.woken == [first["uid"]]


def test_whoever_applied_sees_it_in_the_next_answer(house: House) -> None:
    house.apply()
    listed = house.client.get("/v1/clusters").json()
    assert [(c["name"], c["generation"], c["status"]) for c in listed] == [("orders", 1, "Working")]
    detail = api.ClusterDetailOut.model_validate(house.client.get("/v1/clusters/orders").json())
    assert (detail.desired_brokers, detail.desired_controllers, len(detail.pending)) == (3, 3, 6)


def test_the_same_idempotency_key_is_the_same_request(house: House) -> None:
    first = post(house, "/apply", {"text": ORDERS}, Idempotency_Key="k1").json()
    house.apply(NEWER)
    again = post(house, "/apply", {"text": ORDERS}, Idempotency_Key="k1").json()
    assert again["applied"] == first["applied"]
    assert house.view().generation == 2
    assert post(house, "/apply", {"text": ORDERS}, Idempotency_Key="k2").json()["applied"][0]["generation"] == 3


def test_a_dry_run_records_nothing_not_even_the_name(house: House) -> None:
    answer = house.apply(dry_run=True)
    assert (answer["ok"], answer["applied"], len(answer["plans"])) == (True, [], 1)
    assert house.store.head() == 0


def test_the_history_names_the_file_the_message_and_the_person(house: House) -> None:
    post(house, "/apply", {"text": ORDERS, "file": "a.yaml", "message": "first"}, X_Kedge_Actor="ann")
    [event] = events(house).events
    assert (event.data["source"], event.actor) == ("a.yaml: first", "person:ann")


def test_an_actor_that_is_no_name_is_not_believed(house: House) -> None:
    post(house, "/apply", {"text": ORDERS}, X_Kedge_Actor="converger\tfake")
    assert events(house).events[0].actor == "person:local"


def test_documents_of_one_file_come_into_force_together_or_not_at_all(house: House) -> None:
    other = ORDERS.replace("name: orders", "name: payments")
    house.apply(other)
    refused = other.replace("name: controllers", "name: voters", 1)
    answer = house.apply(f"{ORDERS}---\n{refused}")
    assert (answer["ok"], answer["applied"]) == (False, [])
    assert [v.name for v in house.converger.views()] == ["payments"]
    answer = house.apply(f"{ORDERS}---\n{other}")
    assert [(a["cluster"], a["changed"]) for a in answer["applied"]] == [("orders", True), ("payments", False)]


def test_many_first_applies_of_one_name_make_one_cluster(house: House) -> None:
    gate = threading.Barrier(6)

    def run(number: int) -> dict[str, Any]:
        gate.wait(10)
        applied: list[dict[str, Any]] = house.apply(LARGER if number % 2 else ORDERS)["applied"]
        return applied[0]

    with ThreadPoolExecutor(6) as pool:
        applied = list(pool.map(run, range(6)))
    assert len({a["uid"] for a in applied}) == 1
    assert sum(a["created"] for a in applied) == 1
    assert len(house.client.get("/v1/clusters").json()) == 1


# --- plans ------------------------------------------------------------------------------------------------------


def test_a_plan_that_has_not_moved_is_applied(house: House) -> None:
    answer = house.apply(plan_digest=plan(house).digest)
    assert answer["applied"][0]["changed"]


def test_a_plan_says_again_what_it_said(house: House) -> None:
    assert plan(house) == plan(house)


@pytest.mark.parametrize(
    ("between", "text", "says"),
    [
        ("another document in the file", NEWER, ["the document", "the steps"]),
        ("another generation in force", ORDERS, ["what is in force on the cluster"]),
        ("a VM was lost", ORDERS, ["the steps"]),
    ],
)
def test_a_plan_that_moved_is_refused_with_what_moved(house: House, between: str, text: str, says: list[str]) -> None:
    house.apply(LARGER)
    house.join(*three_brokers())
    digest = plan(house).digest
    if between == "another generation in force":
        house.apply(edited({19: "      size: 6", 4: "  name: orders\n  owner: ann"}))
    if between == "a VM was lost":
        house.record(facts.InstanceLost("brokers-a-0.g1", "test"))
    before = house.store.head()
    response = post(house, "/apply", {"text": text, "plan_digest": digest})
    assert (response.status_code, response.json()["code"]) == (409, "plan-moved")
    moved = response.json()["detail"]
    everything = {"the document", "what is in force on the cluster", "the steps"}
    assert {part for part in everything if part in moved} == set(says)
    assert house.store.head() == before


def test_a_digest_that_is_none_is_refused(house: House) -> None:
    response = post(house, "/apply", {"text": ORDERS, "plan_digest": "yes"})
    assert (response.status_code, response.json()["code"]) == (409, "plan-moved")


def test_one_digest_pins_all_plans_of_a_file(house: House) -> None:
    both = ORDERS + "---\n" + ORDERS.replace("name: orders", "name: payments")
    digest = plan(house, both).digest
    single = plan(house).digest
    assert post(house, "/apply", {"text": both, "plan_digest": single}).status_code == 409
    assert post(house, "/apply", {"text": both, "plan_digest": digest}).json()["ok"]


def test_a_warning_of_the_spec_is_on_the_plan(house: House) -> None:
    answer = plan(house, UNEVEN)
    assert answer.ok
    assert [p.severity for p in answer.problems] == ["warning"]
    assert [w.split(":")[0] for w in answer.plans[0].warnings] == [answer.problems[0].code]


# --- commands ---------------------------------------------------------------------------------------------------


def test_pause_resume_and_delete_answer_in_a_sentence(house: House) -> None:
    house.apply()
    for verb, body, status in (
        ("pause", {"reason": "lunch", "until": "2026-01-02T10:00:00+02:00"}, "Paused"),
        ("resume", {}, "Working"),
        ("delete", {"confirm": "orders"}, "Deleting"),
    ):
        answer = post(house, f"/clusters/orders/{verb}", body).json()
        assert (answer["cluster"], answer["changed"]) == ("orders", True)
        assert answer["sentence"]
        assert house.client.get("/v1/clusters/orders").json()["status"] == status


def test_a_moment_without_a_zone_is_utc(house: House) -> None:
    house.apply()
    post(house, "/clusters/orders/pause", {"reason": "x", "until": "2026-01-02T10:00:00"})
    until = house.view().requests.paused_until
    assert until is not None
    assert until.isoformat() == "2026-01-02T10:00:00+00:00"


def test_a_deletion_without_the_name_is_refused_with_the_command(house: House) -> None:
    house.apply()
    response = post(house, "/clusters/orders/delete", {"confirm": "yes"})
    assert (response.status_code, response.json()["code"]) == (409, "name-mismatch")
    assert "kedge delete orders" in response.json()["next"]


def test_a_deleted_cluster_is_gone_but_its_history_is_not(house: House) -> None:
    house.apply()
    post(house, "/clusters/orders/delete", {"confirm": "orders"})
    house.record(facts.ClusterDeleted(retained=True))
    assert house.client.get("/v1/clusters").json() == []
    assert house.client.get("/v1/clusters/orders").status_code == 404
    assert [e.type for e in events(house).events][-1] == "cluster.deleted"
    house.apply()
    assert [e.type for e in events(house).events] == ["cluster.declared"]


# --- events -----------------------------------------------------------------------------------------------------


def test_events_are_read_page_by_page_by_position(house: House) -> None:
    house.apply()
    house.apply(ORDERS.replace("name: orders", "name: payments"))
    house.record(*(facts.ConditionChanged("X", bool(n % 2), f"R{n}", "") for n in range(5)))
    seen: list[int] = []
    while page := events(house, after=seen[-1] if seen else 0, limit=2).events:
        seen += [e.position for e in page]
    everything = events(house, limit=1000)
    assert seen == [e.position for e in everything.events]
    assert [e.version for e in everything.events] == [1, 2, 3, 4, 5, 6]
    assert everything.head == house.store.head()


def test_the_newest_events_can_be_asked_for(house: House) -> None:
    house.apply()
    house.record(*(facts.ConditionChanged("X", True, f"R{n}", "") for n in range(5)))
    assert [e.data["reason"] for e in events(house, tail=2).events] == ["R3", "R4"]


def test_whoever_waits_for_events_hears_of_the_next_one(house: House) -> None:
    house.apply()
    head = events(house).head
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(events, house, after=head, wait_s=20)
        house.record(facts.ClusterPaused("lunch", None))
        assert [e.type for e in waiting.result(timeout=15).events] == ["cluster.paused"]


def test_whoever_waits_in_vain_gets_an_empty_answer(house: House) -> None:
    house.apply()
    answer = events(house, after=events(house).head, wait_s=0.3)
    assert (answer.events, answer.head) == ([], house.store.head())


# --- what is known of a cluster ---------------------------------------------------------------------------------


def test_endpoints_list_the_brokers_that_stay(house: House) -> None:
    house.apply()
    house.join(*three_brokers())
    house.launch(broker("brokers-a-0", 1003, generation=2, replaces=1), intent="intent-2")
    answer = house.client.get("/v1/clusters/orders/endpoints").json()
    assert answer["bootstrap"] == ["127.64.0.10:9092", "127.64.0.11:9092", "127.64.0.12:9092"]
    house.record(facts.InstanceLost("brokers-b-0.g1", "test"))
    answer = house.client.get("/v1/clusters/orders/endpoints").json()
    assert answer["bootstrap"] == ["127.64.0.10:9092", "127.64.0.12:9092"]


def test_a_dns_name_is_published_first(house: House) -> None:
    house.apply(ORDERS + "  bootstrap:\n    dns: kafka.example.org\n")
    house.join(broker())
    answer = house.client.get("/v1/clusters/orders/endpoints").json()
    assert answer["bootstrap"] == ["kafka.example.org:9092", "127.64.0.10:9092"]


def test_the_detail_shows_every_vm_with_what_it_replaces(house: House) -> None:
    house.apply()
    house.join(broker())
    house.launch(broker("brokers-a-0", 1003, generation=2, replaces=1), intent="intent-2")
    detail = api.ClusterDetailOut.model_validate(house.client.get("/v1/clusters/orders").json())
    assert [(i.key, i.phase, i.replaces) for i in detail.instances] == [
        ("brokers-a-0.g1", "joined", ""),
        ("brokers-a-0.g2", "launched", "brokers-a-0.g1"),
    ]
    assert (detail.brokers, detail.under_min_isr, detail.metadata_age_s) == (1, None, None)


def test_a_backup_goes_to_a_new_file_only(house: House, tmp_path: Path) -> None:
    house.apply()
    answer = post(house, "/backup", {"path": str(tmp_path / "b")}).json()
    assert (answer["path"], answer["events"]) == (str(tmp_path / "b"), house.store.head())
    assert post(house, "/backup", {"path": str(tmp_path / "b")}).json()["code"] == "file-exists"
    assert post(house, "/backup", {"path": str(tmp_path / "no" / "b")}).json()["code"] == "not-writable"


def test_the_api_describes_itself_and_shows_no_secret(house: House) -> None:
    schema = house.client.get("/openapi.json")
    assert "/v1/apply" in schema.json()["paths"]
    assert TOKEN not in schema.text
    assert "server key" not in repr(house.services)


def test_the_sentence_ends_in_what_terraform_is_at(house: House) -> None:
    house.apply()
    house.converger._said[house.view().uid] = Said(house.now, "Terraform: surge of a (running)")
    house.progress = "done create instance/a"
    told = "Terraform: surge of a (running): done create instance/a"
    assert house.client.get("/v1/clusters").json()[0]["sentence"] == told
    assert house.client.get("/v1/clusters/orders").json()["sentence"] == told
