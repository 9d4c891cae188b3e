"""Topics over the HTTP API: declared by a file, looked at, adopted, deleted with their name."""

from typing import Any

import httpx
import pytest

from tests.builders import a_partition, a_snapshot
from tests.sim.topics import topic_text
from tests.unit.controlplane.api.portal_house import House
from tests.unit.events.spec_texts import ORDERS

FILE = f"{ORDERS}---\n{topic_text('payments', partitions=2)}"


@pytest.fixture
def house() -> House:
    return House()


def _post(house: House, path: str, body: dict[str, Any]) -> httpx.Response:
    response: httpx.Response = house.client.post(f"/v1{path}", json=body)
    return response


def _get(house: House, path: str) -> Any:
    response = house.client.get(f"/v1/clusters/orders/{path}")
    assert response.status_code == 200, response.text
    return response.json()


def _seen(house: House) -> None:
    parts = [a_partition(f"payments-{n}") for n in range(2)]
    snapshot = a_snapshot(*parts, a_partition("byhand-0"), a_partition("__consumer_offsets-0"))
    house.snapshots[house.view().uid] = snapshot


def test_a_file_is_planned_and_applied_with_its_topics(house: House) -> None:
    planned = _post(house, "/plan", {"text": FILE}).json()
    assert planned["topics"] == ["+ topic orders/payments: 2 partitions, 3 replicas"]
    answer = house.apply(FILE)
    assert answer["topics"] == [
        {"cluster": "orders", "changed": True, "sentence": "1 topic of orders declared: payments"}
    ]
    again = house.apply(FILE)
    assert not again["topics"][0]["changed"]
    larger = topic_text("payments", partitions=4, config="{retention.ms: 5}")
    planned = _post(house, "/plan", {"text": larger}).json()
    assert planned["topics"] == ["~ topic orders/payments: partitions 2 -> 4; retention.ms unset -> 5"]
    assert house.apply(larger)["applied"] == []
    assert house.view().topics.by_name["payments"].declared.partitions == 4


def test_a_dry_run_declares_no_topic(house: House) -> None:
    house.apply(ORDERS)
    assert house.apply(topic_text("payments"), dry_run=True)["topics"] == []
    assert not house.view().topics.by_name


def test_a_plan_of_topics_alone_is_pinned_and_refused_once_it_moved(house: House) -> None:
    house.apply(FILE)
    text = topic_text("payments", partitions=4)
    digest = _post(house, "/plan", {"text": text}).json()["digest"]
    assert _post(house, "/plan", {"text": text}).json()["digest"] == digest
    other = _post(house, "/apply", {"text": topic_text("payments", partitions=5), "plan_digest": digest})
    assert (other.status_code, other.json()["code"]) == (409, "plan-moved")
    assert "the documents of its topics changed" in other.json()["detail"]
    house.apply(topic_text("payments", partitions=3))
    before = house.store.head()
    moved = _post(house, "/apply", {"text": text, "plan_digest": digest})
    assert (moved.status_code, moved.json()["code"]) == (409, "plan-moved")
    assert "what is in force of these topics changed" in moved.json()["detail"]
    assert _post(house, "/apply", {"text": text, "plan_digest": digest, "dry_run": True}).status_code == 409
    assert house.store.head() == before
    fresh = _post(house, "/plan", {"text": text}).json()["digest"]
    assert _post(house, "/apply", {"text": text, "plan_digest": fresh}).json()["topics"][0]["changed"]


def test_a_digest_pins_the_settings_of_a_new_topic_that_its_line_does_not_tell(house: House) -> None:
    house.apply(ORDERS)
    texts = [topic_text("payments", config=f"{{retention.ms: {ms}}}") for ms in (5, 6)]
    plans = [_post(house, "/plan", {"text": text}).json() for text in texts]
    assert plans[0]["topics"] == plans[1]["topics"]
    assert plans[0]["digest"] != plans[1]["digest"]


def test_topics_that_moved_keep_the_cluster_of_their_file_from_being_declared(house: House) -> None:
    house.apply(FILE)
    larger = FILE.replace("sizeGib: 100", "sizeGib: 200")
    digest = _post(house, "/plan", {"text": larger}).json()["digest"]
    assert len(digest.split("+")) == 2
    house.apply(topic_text("payments", partitions=6))
    before = house.store.head()
    moved = _post(house, "/apply", {"text": larger, "plan_digest": digest})
    assert (moved.status_code, house.store.head()) == (409, before)


def test_an_apply_of_a_pinned_plan_is_answered_again_to_the_same_key(house: House) -> None:
    """The lost answer: topics are in force by then, which is no other plan."""
    order = {"text": FILE, "plan_digest": _post(house, "/plan", {"text": FILE}).json()["digest"]}
    answers = [
        house.client.post("/v1/apply", json=order, headers={"Idempotency-Key": "a key of ours"}) for _ in range(2)
    ]
    assert [a.status_code for a in answers] == [200, 200]
    assert [a.json()["topics"][0]["changed"] for a in answers] == [True, True]
    assert len([e for e in house.store.read_all(0, 100) if e.type == "topics.declared"]) == 1


def test_a_digest_that_is_none_of_topics_is_refused(house: House) -> None:
    house.apply(ORDERS)
    refused = _post(house, "/apply", {"text": topic_text("payments"), "plan_digest": "yes"})
    assert (refused.status_code, refused.json()["code"]) == (409, "plan-moved")


def test_problems_of_topics_are_an_answer(house: House) -> None:
    answer = house.apply(topic_text("payments"))
    assert [p["code"] for p in answer["problems"]] == ["KEDGE-SPEC-096"]
    house.apply(FILE)
    _seen(house)
    answer = house.apply(topic_text("payments", partitions=1))
    assert [(p["code"], p["line"]) for p in answer["problems"]] == [("KEDGE-SPEC-092", 6)]
    assert not answer["ok"]


def test_topics_are_listed_as_declared_and_as_observed(house: House) -> None:
    house.apply(FILE)
    assert _get(house, "topics")["metadata_age_s"] is None
    _seen(house)
    found = {t["name"]: t for t in _get(house, "topics")["topics"]}
    assert {n: (t["state"], t["internal"]) for n, t in found.items()} == {
        "payments": ("Declared", False),
        "byhand": ("Observed", False),
        "__consumer_offsets": ("Observed", True),
    }
    one = _get(house, "topics/payments")
    assert (one["declared"]["partitions"], one["observed"]["partitions"]) == (2, 2)
    assert (one["declared"]["source"], one["declared"]["path"]) == ("api", "orders.yaml")
    missing = house.client.get("/v1/clusters/orders/topics/nowhere")
    assert (missing.status_code, missing.json()["code"]) == (404, "topic-not-found")


def test_a_topic_is_adopted_and_deleted_only_with_its_name(house: House) -> None:
    house.apply(ORDERS)
    _seen(house)
    adopted = _post(house, "/clusters/orders/topics/byhand/adopt", {"reason": "ours"})
    assert adopted.status_code == 200, adopted.text
    assert house.view().topics.by_name["byhand"].owned
    refused = _post(house, "/clusters/orders/topics/byhand/delete", {"confirm": "other"})
    assert (refused.status_code, refused.json()["code"]) == (409, "name-mismatch")
    done = _post(house, "/clusters/orders/topics/byhand/delete", {"confirm": "byhand", "reason": "gone"})
    assert done.json()["sentence"].startswith("byhand is deleted: it stays in Kafka")
    assert _get(house, "topics/byhand")["state"] == "Deleting"


def test_topics_and_clusters_come_in_pages_by_name(house: House) -> None:
    house.apply(ORDERS)
    house.apply("---\n".join(topic_text(name) for name in ("a", "b", "bb", "c")))
    first = _get(house, "topics?limit=2")
    assert ([t["name"] for t in first["topics"]], first["total"]) == (["a", "b"], 4)
    assert [t["name"] for t in _get(house, "topics?limit=2&after=b")["topics"]] == ["bb", "c"]
    found = _get(house, "topics?q=b&limit=1")
    assert ([t["name"] for t in found["topics"]], found["total"]) == (["b"], 2)
    owned = ORDERS.replace("  name: orders\n", "  name: ads\n  owner: ann\n")
    house.apply(owned)

    def clusters(asked: str) -> list[str]:
        return [c["name"] for c in house.client.get(f"/v1/clusters{asked}").json()]

    assert clusters("") == ["ads", "orders"]
    assert (clusters("?limit=1"), clusters("?after=ads"), clusters("?after=orders")) == (["ads"], ["orders"], [])
    assert (clusters("?q=rder"), clusters("?team=ann"), clusters("?team=an")) == (["orders"], ["ads"], [])
    assert house.client.get("/v1/clusters?limit=0").status_code == 422


def test_the_openapi_document_has_the_routes_of_topics(house: House) -> None:
    paths = house.client.get("/openapi.json").json()["paths"]
    assert "/v1/clusters/{name}/topics/{topic}/adopt" in paths
    assert "/v1/clusters/{name}/topics/{topic}/delete" in paths
