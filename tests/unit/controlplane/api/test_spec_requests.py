"""POST /v1/pull-requests: a spec file as a pull request, by the rules of the forms."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from controlplane.api.audit.store import AuditFilter
from tests.unit.controlplane.api.test_new_requests import OURS
from tests.unit.controlplane.api.test_rollback import Scene
from tests.unit.controlplane.api.test_search_routes import ours
from tests.unit.controlplane.background.git_sync.git_house import LARGER as GIT_LARGER, GitHouse, binding

CLICKS = OURS.replace("name: orders", "name: clicks")
TOPIC = """apiVersion: kedge/v1alpha1
kind: KafkaTopic
metadata: {name: views}
spec: {cluster: orders, partitions: 3}
"""
LARGER = GIT_LARGER.replace("name: orders", "name: orders\n  owner: payments")


@pytest.fixture
def scene() -> Scene:
    scene = Scene(GitHouse(binding=binding(path="kafka", team="payments")))
    scene.push({"kafka/orders.yaml": f"# whose\n{OURS}"})
    return scene


def asked(scene: Scene, text: str, *, client: TestClient | None = None, key: str = "k1", **more: Any) -> Any:
    body = {"text": text, "file": "it.yaml", **more}
    return (client or scene.client).post("/v1/pull-requests", json=body, headers={"Idempotency-Key": key})


def test_a_new_cluster_becomes_a_file_and_nothing_is_declared(scene: Scene) -> None:
    head = scene.git.house.store.head()
    told = asked(scene, CLICKS).json()
    assert told["request"]["url"] == "https://forge.example.org/platform/specs/pull/1"
    assert told["sentence"] == f"a pull request is open: {told['request']['url']}"
    assert (told["source"], told["path"]) == ("teams", "")
    assert scene.requested()["kafka/clicks.yaml"] == CLICKS
    assert scene.git.house.store.head() == head


def test_a_dry_run_tells_the_plan_and_opens_nothing(scene: Scene) -> None:
    told = asked(scene, CLICKS, dry_run=True).json()
    assert (told["ok"], told["request"], told["source"]) == (True, None, "teams")
    assert told["plans"][0]["cluster"] == "clicks"
    assert scene.forge.world.requests == []
    assert asked(scene, CLICKS, key="k2", plan_digest=told["digest"]).json()["request"]
    moved = asked(scene, CLICKS, key="k3", plan_digest="another")
    assert (moved.status_code, moved.json()["code"]) == (409, "plan-moved")


def test_a_change_goes_into_the_file_it_is_declared_in(scene: Scene) -> None:
    told = asked(scene, LARGER).json()
    assert told["path"] == "kafka/orders.yaml"
    files = scene.requested()
    assert sorted(files) == ["kafka/orders.yaml"]
    assert "size: 6" in files["kafka/orders.yaml"]
    scene.push(files)
    assert scene.git.view().generation == 2


def test_a_topic_is_added_and_then_changed_where_it_is(scene: Scene) -> None:
    asked(scene, TOPIC)
    files = scene.requested()
    assert "kafka/orders-views.yaml" in files
    scene.push(files)
    scene.forge.world.requests.clear()
    told = asked(scene, TOPIC.replace("partitions: 3", "partitions: 6"), key="k2").json()
    assert told["path"] == "kafka/orders-views.yaml"


def test_asked_twice_with_one_key_it_is_one_request(scene: Scene) -> None:
    first, second = asked(scene, CLICKS).json(), asked(scene, CLICKS).json()
    assert first["request"] == second["request"]
    assert len(scene.forge.world.requests) == 1


def test_problems_of_the_file_are_an_answer(scene: Scene) -> None:
    told = asked(scene, CLICKS.replace("version: 4.1.1", "version: 1.0.0")).json()
    assert (told["ok"], told["request"]) == (False, None)
    assert told["problems"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (OURS, "in-force"),
        (f"{LARGER}---\n{CLICKS}", "one-change"),
        (CLICKS.replace("owner: payments", "owner: search"), "no-forge"),
    ],
)
def test_what_is_no_way_is_refused_with_what_next(scene: Scene, text: str, code: str) -> None:
    answer = asked(scene, text)
    assert (answer.status_code, answer.json()["code"]) == (409, code)
    assert answer.json()["next"]
    assert scene.forge.world.requests == []


def test_a_source_that_does_not_fit_is_refused(scene: Scene) -> None:
    assert asked(scene, CLICKS, source="other").json()["code"] == "no-forge"
    assert asked(scene, LARGER, source="other").json()["code"] == "other-source"


def test_without_a_forge_there_is_no_way() -> None:
    scene = Scene(GitHouse(binding=binding(path="kafka", team="payments")), has_forge=False)
    scene.push({"kafka/orders.yaml": OURS})
    assert asked(scene, CLICKS).json()["code"] == "no-forge"
    assert asked(scene, LARGER).json()["code"] == "no-forge"


def test_who_may_not_declare_opens_nothing(scene: Scene) -> None:
    house = scene.git.house
    assert asked(scene, CLICKS, client=ours(house)).status_code == 403
    assert asked(scene, LARGER, client=ours(house)).status_code == 403
    assert asked(scene, CLICKS, client=ours(house, "owner", "team:search")).status_code == 403
    assert scene.forge.world.requests == []
    assert asked(scene, CLICKS, client=ours(house, "owner")).status_code == 200


def test_the_audit_names_the_request_and_the_commit_its_author(scene: Scene) -> None:
    asked(scene, CLICKS, client=ours(scene.git.house, "owner"))
    world = scene.forge.world
    commit = world.commits[world.branches[world.requests[0]["head"]]]
    assert commit.author == ("ada", "ada@example.org")
    (entry,) = scene.git.house.audit.page(AuditFilter("pull request"), 1)
    assert entry.entry.note.endswith("/pull/1")
