"""What the API says of sources, and the hand-over of a cluster."""

from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from controlplane.background.git_sync.faults import SourceFault
from controlplane.portal.app import create_app
from tests.unit.controlplane.background.git_sync.git_house import AUTHOR, BROKEN, LARGER, GitHouse
from tests.unit.events.spec_texts import ORDERS


@pytest.fixture
def git() -> GitHouse:
    return GitHouse()


@pytest.fixture
def client(git: GitHouse) -> TestClient:
    git.house.app = create_app(
        replace(git.house.services, fleet=replace(git.house.services.fleet, sources=git.service))
    )
    return git.house.client_with({"Authorization": "Bearer the-token"})


def test_a_cluster_says_where_its_spec_comes_from(git: GitHouse, client: TestClient) -> None:
    commit = git.push({"kafka/orders.yaml": ORDERS})
    source = client.get("/v1/clusters/orders").json()["source"]
    assert source == client.get("/v1/clusters").json()[0]["source"]
    assert source == {
        "source": "git:teams",
        "repository": "https://git.example.org/specs.git",
        "branch": "main",
        "path": "kafka/orders.yaml",
        "commit": commit,
        "author": AUTHOR,
        "signed_by": "",
        "sync": "Synced",
        "reason": "Synced",
        "message": "",
        "since": source["since"],
    }


def test_a_refused_file_and_one_that_is_gone_are_told_with_reason_and_since(git: GitHouse, client: TestClient) -> None:
    git.push({"orders.yaml": ORDERS})
    git.house.pass_time(minutes=1)
    git.push({"orders.yaml": BROKEN})
    source = client.get("/v1/clusters/orders").json()["source"]
    assert (source["sync"], source["reason"]) == ("Refused", "SpecRefused")
    assert "orders.yaml:7:" in source["message"]
    assert source["since"] == "2026-01-01T12:01:00Z"
    git.push({})
    source = client.get("/v1/clusters/orders").json()["source"]
    assert (source["sync"], source["reason"]) == ("OutOfSync", "NotDeclared")


def test_while_the_repository_is_away_every_cluster_of_it_is_out_of_sync(git: GitHouse, client: TestClient) -> None:
    git.push({"orders.yaml": ORDERS})
    git.repository.fault = SourceFault("Unreachable", "git: connection refused")
    git.poll()
    source = client.get("/v1/clusters/orders").json()["source"]
    assert (source["sync"], source["reason"], source["message"]) == (
        "OutOfSync",
        "Unreachable",
        "git: connection refused",
    )
    assert client.get("/v1/clusters/orders").json()["conditions"] == []


def test_sources_are_listed_with_their_problems_at_file_and_line(git: GitHouse, client: TestClient) -> None:
    commit = git.push({"orders.yaml": BROKEN})
    source = client.get("/v1/sources").json()[0]
    assert (source["name"], source["sync"], source["commit"], source["tip"]) == ("teams", "Refused", commit, commit)
    problem = source["problems"][0]
    assert (problem["file"], problem["line"], problem["code"]) == ("orders.yaml", 7, "KEDGE-SPEC-040")
    assert problem["fix"]
    assert source["last_poll"] == "2026-01-01T12:00:00Z"


def test_a_server_that_does_not_lead_tells_what_was_recorded(git: GitHouse, client: TestClient) -> None:
    commit = git.push({"orders.yaml": ORDERS})
    git.house.lead.epoch = None
    source = client.get("/v1/sources").json()[0]
    assert (source["sync"], source["reason"], source["commit"]) == ("Unknown", "PolledByLeader", commit)
    assert client.post("/v1/sources/teams/poll").json()["asked"] is False


def test_a_webhook_only_wakes_the_poll(git: GitHouse, client: TestClient) -> None:
    answer = client.post("/v1/sources/teams/poll", json={"ref": "refs/heads/evil", "after": "0" * 40})
    assert (answer.status_code, answer.json()["asked"], git.rung) == (200, True, ["teams"])
    unknown = client.post("/v1/sources/nobody/poll")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "source-not-found")


def test_applying_over_a_git_cluster_is_refused_and_planning_is_not(git: GitHouse, client: TestClient) -> None:
    git.push({"kafka/orders.yaml": ORDERS})
    order = {"text": LARGER, "file": "orders.yaml"}
    refused = client.post("/v1/apply", json=order)
    assert (refused.status_code, refused.json()["code"]) == (409, "other-source")
    assert "kafka/orders.yaml" in refused.json()["detail"]
    assert "kedge take-over orders --to api" in refused.json()["next"]
    assert client.post("/v1/apply", json={**order, "dry_run": True}).status_code == 409
    assert client.post("/v1/plan", json=order).json()["ok"]


def test_a_hand_over_is_recorded_with_its_person_and_both_ways_are_open(git: GitHouse, client: TestClient) -> None:
    git.push({"orders.yaml": ORDERS})
    body = {"source": "api", "reason": "the repository is down"}
    answer = client.post("/v1/clusters/orders/source", json=body, headers={"X-Kedge-Actor": "ann"})
    assert (answer.status_code, answer.json()["changed"]) == (200, True)
    last = client.get("/v1/clusters/orders/events", params={"tail": 1}).json()["events"][0]
    assert (last["type"], last["actor"], last["data"]["reason"]) == (
        "cluster.source_changed",
        "person:ann",
        "the repository is down",
    )
    assert client.post("/v1/apply", json={"text": LARGER}).json()["ok"]
    assert client.get("/v1/clusters/orders").json()["source"]["source"] == "api"
    again = client.post("/v1/clusters/orders/source", json={"source": "git:teams"})
    assert (again.json()["changed"], git.rung) == (True, ["teams"])
    assert client.get("/v1/clusters/orders").json()["source"]["sync"] == "Unknown"


@pytest.mark.parametrize("source", ["git:nobody", "teams", "", "git:"])
def test_a_hand_over_to_nobody_is_refused(git: GitHouse, client: TestClient, source: str) -> None:
    git.push({"orders.yaml": ORDERS})
    answer = client.post("/v1/clusters/orders/source", json={"source": source})
    assert (answer.status_code, answer.json()["code"]) == (404, "source-not-found")


def test_a_rewritten_history_is_accepted_by_a_person(git: GitHouse, client: TestClient) -> None:
    git.push({"orders.yaml": ORDERS})
    found = git.force_push({"orders.yaml": LARGER})
    wrong = client.post("/v1/sources/teams/accept", json={"commit": "0" * 40})
    assert (wrong.status_code, wrong.json()["code"]) == (409, "not-asked")
    assert client.post("/v1/sources/teams/accept", json={"commit": found}).status_code == 200
    git.poll()
    assert client.get("/v1/clusters/orders").json()["source"]["sync"] == "Synced"


def test_a_server_without_git_sync_says_so(git: GitHouse) -> None:
    client = git.house.client
    assert client.get("/v1/sources").json() == []
    assert client.post("/v1/sources/teams/poll").status_code == 404
