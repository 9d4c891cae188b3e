"""The `http` backend's protocol on the real app: statuses, lock info and credentials as Terraform takes them."""

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from fastapi.testclient import TestClient

from controlplane.api.gate import MAX_STATE_BYTES
from controlplane.api.portal_access import Door, at_door
from controlplane.portal.app import create_app
from controlplane.storage.terraform_states.run_credentials import RunPass
from controlplane.storage.terraform_states.storage import PATHS, ServedStates
from events.engine import build_engine
from tests.databases import sqlite_template
from tests.fakes.asking import Asker
from tests.fakes.states import KEY, OTHER_KEY, Served, body, claim
from tests.unit.controlplane.api.portal_house import PORT, TOKEN, House

STATE = f"{PATHS}/{KEY.cluster_uid}/{KEY.place}"
LOCK = {"ID": "lock-1", "Operation": "OperationTypePlan", "Info": "", "Who": "kedge@host", "Version": "1.11.4"}
OTHER_LOCK = {**LOCK, "ID": "lock-2"}


class Scene:
    """One server with one run under way, and its requests."""

    def __init__(self, states: ServedStates) -> None:
        self.states = states
        states.locks.take(KEY, claim("one"))
        self.run: RunPass = states.passes.issue(KEY, "one")
        house = House()
        self.app = create_app(replace(house.services, operations=replace(house.services.operations, states=states)))
        self.client = self.at(Door.STATES, states.url)

    def at(self, door: Door, url: str) -> TestClient:
        return Asker(at_door(self.app, door), base_url=url, raise_server_exceptions=False)

    def ask(
        self,
        method: str,
        path: str = STATE,
        *,
        user: str = "",
        password: str = "",
        content: bytes = b"",
        **headers: str,
    ) -> httpx.Response:
        shown = (user or self.run.user, password or self.run.password.get_secret_value())
        told = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.request(method, path, auth=shown, content=content, headers=told)

    def lock(self, info: dict[str, str] = LOCK, method: str = "LOCK") -> httpx.Response:
        return self.ask(method, content=json.dumps(info).encode())


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    engine = build_engine(f"sqlite:///{sqlite_template(tmp_path)}")
    yield Scene(Served(engine, tmp_path).server())
    engine.dispose()


def md5(content: bytes) -> str:
    return base64.b64encode(hashlib.md5(content, usedforsecurity=False).digest()).decode()


def test_a_state_is_read_locked_written_and_unlocked(scene: Scene) -> None:
    assert scene.ask("GET").status_code == 404
    assert scene.lock().status_code == 200
    assert scene.ask("POST", f"{STATE}?ID=lock-1", content=body(1), content_md5=md5(body(1))).status_code == 200
    assert scene.lock(method="UNLOCK").status_code == 200
    found = scene.ask("GET")
    assert (found.status_code, found.content) == (200, body(1))
    assert found.headers["content-md5"] == md5(body(1)), "Terraform checks it"
    assert found.headers["cache-control"] == "no-store"


def test_a_lock_of_another_command_is_answered_with_whose_it_is(scene: Scene) -> None:
    scene.lock()
    again = scene.lock()
    assert again.status_code == 200, "the same lock: its first answer was lost on the way"
    refused = scene.lock(OTHER_LOCK)
    assert (refused.status_code, refused.json()) == (423, LOCK)
    refused = scene.lock(OTHER_LOCK, "UNLOCK")
    assert (refused.status_code, refused.json()) == (409, LOCK)
    refused = scene.ask("POST", f"{STATE}?ID=lock-2", content=body(1))
    assert (refused.status_code, refused.json()) == (423, LOCK)
    assert scene.ask("GET").status_code == 404, "nothing was written"


def test_without_a_lock_nothing_is_written(scene: Scene) -> None:
    assert scene.ask("POST", content=body(1)).status_code == 423
    assert scene.ask("POST", f"{STATE}?ID=lock-1", content=body(1)).status_code == 423
    assert scene.lock(method="UNLOCK").status_code == 200, "what is not locked is unlocked"


def test_a_state_that_goes_back_is_refused(scene: Scene) -> None:
    scene.lock()
    scene.ask("POST", f"{STATE}?ID=lock-1", content=body(5))
    refused = scene.ask("POST", f"{STATE}?ID=lock-1", content=body(4))
    assert (refused.status_code, refused.json()["code"]) == (409, "state-refused")
    assert "serial 5" in refused.json()["detail"]
    assert scene.ask("POST", f"{STATE}?ID=lock-1", content=b"not a state").status_code == 409


def test_a_body_that_was_damaged_on_its_way_is_refused(scene: Scene) -> None:
    scene.lock()
    refused = scene.ask("POST", f"{STATE}?ID=lock-1", content=body(1), content_md5=md5(body(2)))
    assert (refused.status_code, refused.json()["code"]) == (400, "damaged")


def test_a_run_whose_hold_was_broken_gets_no_further(scene: Scene) -> None:
    scene.lock()
    scene.states.locks.take(KEY, claim("two", epoch=2), proved_dead="one")
    for response in (
        scene.ask("POST", f"{STATE}?ID=lock-1", content=body(1)),
        scene.lock(OTHER_LOCK),
        scene.lock(method="UNLOCK"),
    ):
        assert (response.status_code, response.json()["code"]) == (403, "state-not-held")
    assert scene.states.versions.read(KEY) is None


@pytest.mark.parametrize("method", ["GET", "POST", "LOCK", "UNLOCK"])
def test_states_are_served_at_their_own_door_and_at_no_other(scene: Scene, method: str) -> None:
    for door in set(Door) - {Door.STATES}:
        refused = scene.at(door, f"http://127.0.0.1:{PORT}").request(
            method, STATE, auth=(scene.run.user, scene.run.password.get_secret_value())
        )
        assert refused.status_code == 403, door
    elsewhere = {"Host": f"127.0.0.1:{PORT + 1}"}
    assert scene.client.request(method, STATE, headers=elsewhere).status_code == 421, "another name that points here"


@pytest.mark.parametrize("path", ["/", "/login", "/v1/whoami", "/healthz", "/agent/v1/document", "/hooks/git/x"])
def test_nothing_but_states_is_served_at_their_door(scene: Scene, path: str) -> None:
    refused = scene.client.get(path, headers={"Authorization": f"Bearer {TOKEN}"})
    assert (refused.status_code, refused.json()["code"]) == (403, "states-apart")


@pytest.mark.parametrize("method", ["GET", "POST", "LOCK", "UNLOCK"])
def test_a_pass_opens_its_own_state_for_its_own_run_only(scene: Scene, method: str) -> None:
    other = f"{PATHS}/{OTHER_KEY.cluster_uid}/{OTHER_KEY.place}"
    lock = json.dumps(LOCK).encode()
    refused = [
        scene.ask(method, other, content=lock),
        scene.ask(method, password="wrong", content=lock),
        scene.ask(method, user="run-0", content=lock),
        scene.client.request(method, STATE, content=lock),
        scene.client.request(method, STATE, content=lock, headers={"Authorization": f"Bearer {TOKEN}"}),
        scene.client.request(method, STATE, content=lock, headers={"Authorization": "Basic \xff".encode("latin-1")}),
    ]
    scene.states.passes.revoke(scene.run)
    refused.append(scene.ask(method, content=lock))
    assert {response.status_code for response in refused} == {401}
    assert {response.headers["www-authenticate"] for response in refused} == {'Basic realm="kedge"'}


def test_a_pass_is_no_token_of_a_person(scene: Scene) -> None:
    people = scene.at(Door.LOOPBACK, f"http://127.0.0.1:{PORT}")
    assert people.get("/v1/version", auth=(scene.run.user, scene.run.password.get_secret_value())).status_code == 401


def test_a_state_may_be_larger_than_other_requests_but_not_endless(scene: Scene) -> None:
    scene.lock()
    large = body(1, instances=tuple(f"b-{n}.g1" for n in range(100_000)))
    assert len(large) > 1024 * 1024
    assert scene.ask("POST", f"{STATE}?ID=lock-1", content=large).status_code == 200
    assert scene.ask("GET").content == large
    endless = {"Content-Length": str(MAX_STATE_BYTES + 1)}
    assert scene.client.request("POST", STATE, headers=endless).status_code == 413


@pytest.mark.parametrize("info", [b"", b"[]", b'{"Who": "x"}', b'{"ID": ""}', b'{"ID": 7}', b"\xff"])
def test_what_is_no_lock_info_is_refused(scene: Scene, info: bytes) -> None:
    assert scene.ask("LOCK", content=info).status_code == 400
    assert scene.ask("UNLOCK", content=info).status_code == 400


def test_a_state_is_not_deleted_by_a_request(scene: Scene) -> None:
    scene.lock()
    scene.ask("POST", f"{STATE}?ID=lock-1", content=body(1))
    assert scene.ask("DELETE").status_code == 405
    assert scene.ask("GET").content == body(1)


def test_a_pass_shows_no_password(scene: Scene) -> None:
    assert scene.run.password.get_secret_value() not in repr(scene.run)
