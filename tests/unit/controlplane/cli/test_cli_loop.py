"""`kedge loop`: what the page Loop shows, in a terminal and for machines."""

from datetime import timedelta
from typing import Any

import pytest

from controlplane.api.schemas import loop as api, metric_pipeline as metric_api
from controlplane.cli import exits
from tests.unit.controlplane.cli.cli_world import START, World, problem, snapshot

OWNER = "host-1:4711:ab"


@pytest.fixture
def world(tmp_path: Any) -> World:
    return World(tmp_path)


def beat(ago_s: int, **changes: Any) -> api.BeatOut:
    fields: dict[str, Any] = {"at": START - timedelta(seconds=ago_s), "seconds": 0.0123, "rung": None, "led": True}
    counts = {"clusters": 4, "events": 0, "effects": 0, "failures": 0}
    return api.BeatOut(**fields | counts | changes)


def job(kind: str, state: str, **changes: Any) -> api.JobOut:
    fields: dict[str, Any] = {
        "id": f"i-{kind}",
        "kind": kind,
        "cluster": "orders",
        "state": state,
        "owner": OWNER,
        "epoch": 3,
        "created_at": START - timedelta(minutes=4),
        "started_at": START - timedelta(minutes=3),
        "ended_at": None,
        "heartbeat_at": START - timedelta(seconds=2),
    }
    return api.JobOut(**fields | changes)


def told(**changes: Any) -> api.LoopOut:
    fields: dict[str, Any] = {
        "server": OWNER,
        "leader": True,
        "epoch": 3,
        "interval_s": 5.0,
        "late": False,
        "head": 120,
        "position": 118,
        "lag": 2,
        "beats_ever": 900,
        "beats": [
            beat(2, rung=1, events=3, effects=2),
            beat(4, led=False, problem="the database went away"),
            *(beat(5 * n) for n in range(1, 12)),
        ],
        "timers": [
            api.TimerOut(
                of="git source",
                name="teams",
                every_s=30.0,
                last_at=START - timedelta(seconds=12),
                seconds=0.25,
                problem="no such branch",
                next_at=START + timedelta(seconds=18),
            ),
            api.TimerOut(of="audit", name="drift", every_s=21600, last_at=None, seconds=0, problem="", next_at=None),
            api.TimerOut(
                of="audit",
                name="audit topic",
                every_s=5.0,
                last_at=START - timedelta(seconds=1),
                seconds=0.004,
                problem="",
                note="the relay has written entry 3 of 3",
                next_at=None,
            ),
        ],
        "jobs": [
            job("terraform-surge", "running", progress="creating brokers-a-0.g2"),
            job("drain-plan", "queued", started_at=None),
            job("terraform-retire", "failed", ended_at=START - timedelta(minutes=1), error="RunRefused: a replace"),
        ],
        "poisoned": [
            api.PoisonOut(
                cluster="orders",
                uid="u1",
                error="broker 1001 answers nobody",
                failures=4,
                since=START - timedelta(minutes=2),
                next_at=START + timedelta(seconds=8),
            ),
            api.PoisonOut(
                cluster="ads",
                uid="u2",
                error="its history cannot be read: event 7",
                failures=0,
                since=None,
                next_at=None,
            ),
        ],
    }
    return api.LoopOut(**fields | changes)


@pytest.mark.parametrize("shape", ["text", "json", "yaml"])
def test_the_loop_as_people_and_as_machines_read_it(world: World, shape: str) -> None:
    world.server.on("GET", "/loop", told())
    ran = world.run("loop", "-o", shape)
    assert ran.exit_code == exits.OK
    assert ran.stderr == ""
    snapshot("loop.txt" if shape == "text" else f"loop.{shape}", ran.stdout)


def test_what_reads_metrics_is_told_with_its_problem(world: World) -> None:
    stream = metric_api.MetricStreamOut(
        name="orders",
        topic="__kedge_metrics",
        state="failed",
        batches=3,
        records=9,
        behind=7,
        batch_s=1.0,
        batch_at=START - timedelta(minutes=9),
        failures=2,
        error="Call timed out",
        error_at=START,
        retry_at=START,
    )
    pipeline = metric_api.MetricPipelineOut(
        state="running",
        since=START - timedelta(hours=2),
        reason="",
        problem="__kedge_metrics of orders cannot be read: Call timed out",
        pid=12,
        restarts=1,
        error="",
        error_at=None,
        memory_bytes=None,
        lake="/lake",
        housekeeping_at=None,
        streams=[stream],
    )
    world.server.on("GET", "/loop", told(metrics=pipeline))
    shown = world.run("loop").stdout
    assert "metrics        running since 2 h ago, 1 restart" in shown
    assert "__kedge_metrics of orders cannot be read: Call timed out" in shown
    assert "orders: failed, last batch 9 min ago, 7 behind" in shown


def test_what_has_ended_and_old_beats_are_shown_when_asked_for(world: World) -> None:
    world.server.on("GET", "/loop", told())
    short, whole = world.run("loop").stdout, world.run("loop", "--all").stdout
    assert "1 job that ended: --all" in short
    assert "RunRefused: a replace" not in short
    assert "55 s ago" not in short
    assert "--all" not in whole
    assert "RunRefused: a replace" in whole
    assert "55 s ago" in whole


def test_vms_of_clusters_the_server_does_not_have_are_listed(world: World) -> None:
    ids = [f"i-{n}" for n in range(5)]
    lost = api.UnclaimedOut(place="aws/default/eu-west-1", uid="u9", name="payments", vms=7, ids=ids, at=START)
    world.server.on("GET", "/loop", told(unclaimed=[lost]))
    shown = world.run("loop").stdout
    assert "VMS OF CLUSTERS THIS SERVER DOES NOT HAVE" in shown
    assert "payments (u9)" in shown
    assert "and 2 more" in shown


def test_a_server_at_rest_says_so_in_words(world: World) -> None:
    rest = {"poisoned": [], "jobs": [], "timers": [], "beats": [], "beats_ever": 0, "lag": 0, "position": 120}
    world.server.on("GET", "/loop", told(**rest))
    shown = world.run("loop").stdout
    assert "120 of 120, not behind the log" in shown
    assert "last beat      never" in shown
    assert "no cluster's ticks fail" in shown
    assert "no job is kept" in shown


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"leader": False, "epoch": 0}, "another server, or none"),
        ({"leader": False}, "epoch 3: it waits for the previous leader to expire"),
        ({"late": True}, "every 5 s: it is late"),
    ],
)
def test_who_leads_and_whether_it_is_late_is_told(world: World, changes: dict[str, Any], words: str) -> None:
    world.server.on("GET", "/loop", told(**changes))
    assert words in world.run("loop").stdout


def test_who_is_no_administrator_is_told_why_and_sees_nothing(world: World) -> None:
    world.server.on("GET", "/loop", problem(403, "forbidden", "not allowed", detail="you may not administer the loop"))
    ran = world.run("loop")
    assert ran.exit_code != exits.OK
    assert ran.stdout == ""
    assert "you may not administer the loop" in ran.stderr
