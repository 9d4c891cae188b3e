"""`kedge users ...`, and what plan and apply say of users."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from controlplane.api.schemas import commands as command_api, kafka_users as user_api, specs as spec_api
from tests.unit.controlplane.cli.cli_world import START, World

ACL = user_api.UserAclOut(type="topic", name="pay-", pattern="prefix", operation="Read", host="*")
SECRET = "not-to-be-seen-anywhere-else-xxxx"


def a_user(name: str = "alice", **changes: Any) -> user_api.KafkaUserOut:
    fields: dict[str, Any] = {
        "cluster": "orders",
        "name": name,
        "principal": f"User:{name}",
        "state": "InSync",
        "reason": "",
        "message": "",
        "authentication": "scram-sha-512",
        "password": "collectable",
        "certificate": None,
        "acls": [ACL],
        "quotas": {"producer_byte_rate": 5},
        "owner": "payments",
        "labels": {},
        "source": "api",
        "path": "users.yaml",
        "commit": "",
        "declared_at": START,
        "undeclared": False,
    }
    return user_api.KafkaUserOut(**{**fields, **changes})


@pytest.fixture
def world(tmp_path: Any) -> World:
    world = World(tmp_path)
    found = user_api.KafkaUsersOut(cluster="orders", users=[a_user()], total=1)
    world.server.on("GET", "/clusters/orders/users", found)
    world.server.on("GET", "/clusters/orders/users/alice", a_user())
    return world


def test_users_are_told_a_line_each(world: World) -> None:
    lines = world.run("users", "list", "orders").stdout.splitlines()
    assert lines[0].split()[:2] == ["USER", "STATE"]
    assert lines[1].split() == [
        *("alice", "InSync", "-", "scram-sha-512", "collectable", "1", "producer_byte_rate", "payments", "api")
    ]
    assert json.loads(world.run("users", "list", "orders", "-o", "json").stdout)["users"][0]["name"] == "alice"


def test_one_user_is_told_with_its_rights_and_what_to_do_about_its_password(world: World) -> None:
    told = world.run("users", "get", "orders", "alice").stdout
    assert "kedge users password orders alice --out FILE" in told
    assert "pay-*" in told
    assert "User:alice" in told


def test_a_password_goes_into_a_new_private_file_and_nowhere_else(world: World, tmp_path: Path) -> None:
    path, file = "/clusters/orders/users/alice/password/collect", tmp_path / "alice.password"
    given = user_api.KafkaPasswordOut(cluster="orders", user="alice", mechanism="SCRAM-SHA-512", password=SECRET)
    world.server.on("POST", path, given)
    done = world.run("users", "password", "orders", "alice", "--out", str(file))
    assert done.exit_code == 0
    assert file.read_text() == f"{SECRET}\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert SECRET not in done.stdout + done.stderr
    assert SECRET not in repr(given)
    again = world.run("users", "password", "orders", "alice", "--out", str(file))
    assert again.exit_code == 1
    assert len(world.server.bodies("POST", path)) == 1, "nothing is asked for that could not be kept"


def test_a_password_that_is_refused_leaves_no_file(world: World, tmp_path: Path) -> None:
    file = tmp_path / "alice.password"
    assert world.run("users", "password", "orders", "alice", "--out", str(file)).exit_code != 0
    assert not file.exists()


def test_a_password_is_rotated(world: World) -> None:
    answer = command_api.CommandOut(cluster="orders", changed=True, sentence="alice gets another password")
    path = "/clusters/orders/users/alice/password/rotate"
    world.server.on("POST", path, answer)
    assert world.run("users", "rotate", "orders", "alice", "--reason", "leaked").stdout.strip() == answer.sentence
    assert world.server.bodies("POST", path) == [{"reason": "leaked"}]


def test_a_certificate_is_signed_from_a_file_into_a_file(world: World, tmp_path: Path) -> None:
    request, out = tmp_path / "bob.csr", tmp_path / "bob.pem"
    request.write_text("-----BEGIN CERTIFICATE REQUEST-----\n")
    path = "/clusters/orders/users/bob/certificate"
    signed = user_api.CertificateOut(
        cluster="orders",
        user="bob",
        certificate="-----BEGIN CERTIFICATE-----\n",
        cluster_ca="-----BEGIN CERTIFICATE-----\n",
        serial="1f",
        since=START,
        until=START + timedelta(days=90),
    )
    world.server.on("POST", path, signed)
    done = world.run("users", "certificate", "orders", "bob", "--csr", str(request), "--out", str(out), "--days", "90")
    assert done.exit_code == 0, done.stderr
    assert out.read_text() == signed.certificate
    assert world.server.bodies("POST", path) == [{"request": request.read_text(), "days": 90}]


def test_a_user_is_deleted_with_its_name_typed_out(world: World) -> None:
    answer = command_api.CommandOut(cluster="orders", changed=True, sentence="alice is deleted")
    path = "/clusters/orders/users/alice/delete"
    world.server.on("POST", path, answer)
    assert world.run("users", "delete", "orders", "alice").exit_code == 1
    assert world.run("users", "delete", "orders", "alice", "--confirm", "bob").exit_code == 1
    assert world.server.bodies("POST", path) == []
    assert world.run("users", "delete", "orders", "alice", "--confirm", "alice").stdout.strip() == answer.sentence
    assert world.server.bodies("POST", path) == [{"confirm": "alice", "retain": False, "reason": ""}]


def test_a_file_of_users_alone_is_planned_agreed_to_and_applied(world: World, tmp_path: Path) -> None:
    file = tmp_path / "users.yaml"
    file.write_text("kind: KafkaUser\n")
    line = "+ user orders/alice: scram-sha-512"
    world.server.plans(spec_api.PlansOut(ok=True, problems=[], plans=[], users=[line]))
    planned = world.run("plan", "-f", str(file), "--detailed-exitcode")
    assert (planned.exit_code, planned.stdout.strip()) == (2, line)
    said = spec_api.TopicsAppliedOut(cluster="orders", changed=True, sentence="1 user of orders declared: alice")
    world.server.on("POST", "/apply", spec_api.ApplyOut(ok=True, problems=[], applied=[], plans=[], users=[said]))
    assert world.run("apply", "-f", str(file)).exit_code == 1
    applied = world.run("apply", "-f", str(file), "-y")
    assert (applied.exit_code, applied.stdout.strip()) == (0, said.sentence)
