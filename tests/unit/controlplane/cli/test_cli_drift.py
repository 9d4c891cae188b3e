"""`kedge drift`: what was changed by hand in the cloud, and asking for an audit."""

import json
from datetime import timedelta
from typing import Any

import pytest

from controlplane.api.schemas import drift as api
from tests.unit.controlplane.cli.cli_world import START, World

SIZE = api.DriftedOut(
    target="volume/b-0.data.v1",
    address="hcloud_volume.volume",
    attribute="size",
    recorded="10",
    found="50",
    sentence="volume/b-0.data.v1: size was recorded as 10, there is 50",
)


@pytest.fixture
def world(tmp_path: Any) -> World:
    return World(tmp_path)


def found(*drifts: api.DriftedOut, audited: bool = True, error: str = "") -> api.DriftOut:
    at = START - timedelta(hours=2) if audited else None
    audit = api.AuditOut(
        place="hetzner/prod/eu-central", at=at, tried_at=START, resources=7, error=error, drifts=list(drifts)
    )
    return api.DriftOut(cluster="orders", asked_at=None, audits=[audit])


def test_it_tells_what_was_recorded_and_what_is_there_and_what_to_do(world: World) -> None:
    world.server.on("GET", "/clusters/orders/drift", found(SIZE))
    told = world.run("drift", "orders").stdout
    for words in (
        "1 value changed by hand, of 7 things",
        "volume/b-0.data.v1",
        "size",
        "10",
        "50",
        "kedge replace orders",
    ):
        assert words in told


def test_a_clean_cluster_and_one_never_audited_are_told_apart(world: World) -> None:
    world.server.on("GET", "/clusters/orders/drift", found())
    assert "nothing was changed by hand, of 7 things" in world.run("drift", "orders").stdout
    world.server.on("GET", "/clusters/orders/drift", found(audited=False, error="no answer"))
    told = world.run("drift", "orders").stdout
    assert "not audited yet" in told
    assert "told nothing: no answer" in told


def test_now_asks_for_an_audit_and_machines_get_a_document(world: World) -> None:
    world.server.on("GET", "/clusters/orders/drift", found(SIZE))
    asked = api.AuditAskedOut(asked_at=START, sentence="orders is audited within a minute")
    world.server.on("POST", "/clusters/orders/drift/audit", asked)
    result = world.run("drift", "orders", "--now", "-o", "json")
    assert json.loads(result.stdout)["audits"][0]["drifts"][0]["found"] == "50"
    assert "orders is audited within a minute" in result.stderr
