"""`kedge anomalies`, `kedge healing` and `kedge notifiers`."""

import json
from datetime import timedelta
from typing import Any

import pytest

from controlplane.api.schemas import anomalies as anomaly_api, commands as command_api
from controlplane.cli import exits
from tests.unit.controlplane.cli.cli_world import START, World

SLOW = anomaly_api.AnomalyOut(
    id="orders-1",
    cluster="orders",
    kind="slow-broker",
    subject="brokers-a-0",
    state="healing",
    reason="broker 1000 was slow",
    words="its leadership is taken off it",
    found_at=START - timedelta(minutes=20),
    changed_at=START - timedelta(minutes=5),
    told=True,
)
OFF = anomaly_api.HealingOut(kind="disk-failure", heals=False, why_not="healing of disk-failure is off", grace_s=0)
FOUND = anomaly_api.AnomaliesOut(cluster="orders", anomalies=[SLOW], total=1, open=1, found=4, healing=[OFF])
ONCALL = anomaly_api.NotifierOut(
    name="oncall",
    kind="webhook",
    where="hooks.example.com",
    kinds=[],
    clusters=[],
    waiting=3,
    delivered=9,
    dropped=0,
    error="hooks.example.com answered 500",
    failing_since=START - timedelta(minutes=2),
    told_at=None,
)


@pytest.fixture
def world(tmp_path: Any) -> World:
    world = World(tmp_path)
    world.server.on("GET", "/clusters/orders/anomalies", FOUND)
    world.server.on("GET", "/notifiers", [ONCALL])
    return world


def test_an_anomaly_is_told_with_what_was_found_and_why_it_stands_so(world: World) -> None:
    ran = world.run("anomalies", "orders")
    assert ran.exit_code == exits.OK
    told = ran.stdout.splitlines()
    assert told[0].strip() == "slow-broker of brokers-a-0: healing"
    assert "broker 1000 was slow" in told[1]
    assert told[2].strip() == "its leadership is taken off it"
    assert "disk-failure is not healed" in told[3]
    assert json.loads(world.run("anomalies", "orders", "-o", "json").stdout)["anomalies"][0]["kind"] == "slow-broker"


def test_nothing_wrong_is_said_to_be_so_and_where_the_history_is(world: World) -> None:
    calm = FOUND.model_copy(update={"anomalies": [], "total": 0, "open": 0})
    world.server.on("GET", "/clusters/orders/anomalies", calm)
    told = world.run("anomalies", "orders").stderr
    assert "nothing is wrong with orders, as far as is known; 4 in total: --all" in told


def test_without_a_cluster_the_open_ones_of_all_are_told(world: World) -> None:
    world.server.on("GET", "/anomalies", [SLOW])
    assert "brokers-a-0" in world.run("anomalies").stdout
    assert world.run("anomalies", "--all").exit_code == exits.FAILED


def test_healing_is_shown_and_switched_for_a_time(world: World) -> None:
    assert "disk-failure" in world.run("healing", "show", "orders").stdout
    done = command_api.CommandOut(cluster="orders", changed=True, sentence="healing of slow-broker of orders is off")
    world.server.on("POST", "/clusters/orders/healing", done)
    ran = world.run("healing", "off", "orders", "--kind", "slow-broker", "--for", "2h", "--reason", "load test")
    assert ran.stdout.strip() == "healing of slow-broker of orders is off"
    sent = json.loads(world.server.requests[-1].content)
    assert (sent["on"], sent["kind"], sent["reason"]) == (False, "slow-broker", "load test")
    assert sent["until"].startswith((START + timedelta(hours=2)).isoformat()[:16])


def test_notifiers_are_told_with_what_stands_in_their_way_and_tried(world: World) -> None:
    assert "hooks.example.com answered 500" in world.run("notifiers", "list").stdout
    failed = anomaly_api.NotifierTestedOut(name="oncall", told=False, sentence="it answered 500")
    world.server.on("POST", "/notifiers/oncall/test", failed)
    ran = world.run("notifiers", "test", "oncall")
    assert ran.exit_code == exits.FAILED
    assert "it answered 500" in ran.stderr
    world.server.on("POST", "/notifiers/oncall/test", failed.model_copy(update={"told": True, "sentence": "taken"}))
    assert world.run("notifiers", "test", "oncall").stdout.strip() == "taken"
