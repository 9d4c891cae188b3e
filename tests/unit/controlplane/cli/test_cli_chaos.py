"""moves, chaos and game days: what is sent, what is shown, and how a game is told."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from controlplane.cli import exits
from controlplane.cli.chaos_game import Game, GameReport, quantile
from controlplane.cli.verbs.chaos import report_lines
from controlplane.portal import chaosschemas as chaos_api
from controlplane.portal import schemas as api
from tests.unit.controlplane.cli.cli_world import World, detail

AT = datetime(2026, 1, 1, tzinfo=UTC)
A, B = "brokers-a-0.g1", "brokers-b-0.g1"


def injected(fault: str = "pause", for_s: float = 30.0) -> chaos_api.ChaosOut:
    return chaos_api.ChaosOut(chaos="c1", fault=fault, vms=[A], since=AT, for_s=for_s, sentence=f"{fault} of {A}")


@pytest.fixture
def world(world: World) -> World:
    world.server.cluster(detail())
    world.server.on("POST", "/clusters/orders/chaos", injected())
    for verb in ("take-back", "adopt"):
        done = api.CommandOut(cluster="orders", changed=True, sentence=f"orders-0: {verb}")
        world.server.on("POST", f"/clusters/orders/moves/{verb}", done)
    move = chaos_api.MoveOut(
        topic="orders",
        partition=0,
        replicas=[1, 2, 3],
        target=[1, 2],
        isr=[2, 3],
        of_kedge=False,
        age_s=700,
        still_s=None,
        hung="orders-0: nothing has come for 600 s",
    )
    world.server.on(
        "GET", "/clusters/orders/moves", chaos_api.MovesOut(cluster="orders", metadata_age_s=2, moves=[move])
    )
    return world


def test_a_fault_is_sent_with_its_vm_and_its_time(world: World) -> None:
    ran = world.run("chaos", "orders", "pause", "--vm", A, "--for", "30s", "--reason", "game day")
    assert (ran.exit_code, ran.stdout) == (exits.OK, f"pause of {A}\n")
    (body,) = world.server.bodies("POST", "/clusters/orders/chaos")
    assert (body["fault"], body["vms"], body["for_s"], body["force"]) == ("pause", [A], 30.0, False)


def test_a_fault_without_a_vm_is_a_usage_error(world: World) -> None:
    assert world.run("chaos", "orders", "pause").exit_code == exits.USAGE
    assert world.server.bodies("POST", "/clusters/orders/chaos") == []


def test_a_split_is_sent_with_whom_from_and_which_way(world: World) -> None:
    ran = world.run("chaos", "orders", "split", "--rack", "a", "--from", "brokers", "--way", "out")
    assert ran.exit_code == exits.OK
    (body,) = world.server.bodies("POST", "/clusters/orders/chaos")
    assert (body["rack"], body["vms"], body["cut_from"], body["way"]) == ("a", [], "brokers", "out")


def test_a_game_is_not_played_with_a_fault_it_does_not_know(world: World) -> None:
    ran = world.run("chaos", "orders", "game", "--faults", "split, kill-rack")
    assert ran.exit_code == exits.USAGE
    assert "'kill-rack' is no fault of a game" in ran.stderr
    assert world.server.bodies("POST", "/clusters/orders/chaos") == []


def test_moves_are_shown_with_whose_they_are_and_why_they_hang(world: World) -> None:
    ran = world.run("moves", "orders")
    assert ran.exit_code == exits.OK
    assert "nobody's plan" in ran.stdout
    assert "hangs: orders-0: nothing has come for 600 s" in ran.stdout


@pytest.mark.parametrize(("option", "verb"), [("--cancel", "take-back"), ("--adopt", "adopt")])
def test_a_move_of_others_is_settled_by_its_name(world: World, option: str, verb: str) -> None:
    ran = world.run("moves", "orders", option, "orders-0", "--reason", "a dead tool")
    assert (ran.exit_code, ran.stdout) == (exits.OK, f"orders-0: {verb}\n")
    sent = world.server.bodies("POST", f"/clusters/orders/moves/{verb}")
    assert sent == [{"partitions": ["orders-0"], "reason": "a dead tool"}]


def test_a_move_is_not_cancelled_and_adopted_at_once(world: World) -> None:
    assert world.run("moves", "orders", "--cancel", "orders-0", "--adopt", "orders-0").exit_code == exits.USAGE


@dataclass
class FakeCluster:
    """Ill from 2 s after a fault until `heals_s` after it; the fault itself lasts 5 s. Time passes by sleeping."""

    heals_s: float = 20.0
    seconds: float = 0.0
    injected: list[chaos_api.ChaosIn] = field(default_factory=list)
    at: float = -1000.0
    asleep_faults: Sequence[str] = ("kill-agent",)
    zookeepers: Sequence[str] = ()

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds

    def inject_chaos(self, name: str, order: chaos_api.ChaosIn) -> chaos_api.ChaosOut:
        self.injected.append(order)
        self.at = self.seconds
        return injected(order.fault, order.for_s)

    def health(self, name: str) -> chaos_api.HealthOut:
        since = self.seconds - self.at
        unnoticed = bool(self.injected) and self.injected[-1].fault in self.asleep_faults
        ill = bool(self.injected) and 2.0 <= since < self.heals_s and not unnoticed
        return chaos_api.HealthOut(
            cluster=name,
            healthy=not ill,
            why="a broker is down" if ill else "",
            metadata_age_s=1.0,
            under_min_isr=int(ill and since < 6.0),
            under_replicated=int(ill),
            open=[injected()] if since < 5.0 else [],
            findings=["Blocked/BrokerDown"] if ill else [],
            brokers=[A, B],
            controllers=["controllers-a-0.g1"],
            zookeepers=list(self.zookeepers),
            racks=["a", "b"],
            head=1,
        )


def played(
    cluster: FakeCluster, *, seed: int = 1, within_s: float = 600.0, faults: Sequence[str] = ("pause",)
) -> GameReport:
    game = Game(cluster, "orders", seed, cluster.sleep, lambda: cluster.seconds, lambda _: None, faults=faults)
    return game.play(3, within_s)


def test_a_game_measures_when_a_fault_was_noticed_and_when_it_had_healed() -> None:
    cluster = FakeCluster()
    report = played(cluster)
    assert [(e.detected_s, e.healed_s) for e in report.events] == [(2.0, 20.0)] * 3
    assert [e.under_min_isr_s for e in report.events] == [4.0] * 3
    assert (report.detected_p50_s, report.healed_p95_s, report.stopped) == (2.0, 20.0, "")
    assert report.events[0].findings == ["Blocked/BrokerDown"]


def test_a_fault_that_nobody_notices_was_never_unhealthy() -> None:
    report = played(FakeCluster(), faults=("kill-agent",))
    assert [(e.detected_s, e.healed_s) for e in report.events] == [(None, 0.0)] * 3
    assert report.detected_p50_s is None


def test_the_same_seed_draws_the_same_faults() -> None:
    first, second, other = FakeCluster(), FakeCluster(), FakeCluster()
    faults = ("pause", "kill-broker", "kill-vm")
    for cluster, seed in ((first, 5), (second, 5), (other, 6)):
        played(cluster, seed=seed, faults=faults)
    drawn = [[(o.fault, o.vms) for o in c.injected] for c in (first, second, other)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_zookeeper_is_killed_where_one_runs_beside_a_broker_too() -> None:
    cluster = FakeCluster(zookeepers=(B,))
    assert played(cluster, faults=("kill-zookeeper",)).stopped == ""
    assert {vm for o in cluster.injected for vm in o.vms} == {B}


def test_a_fault_that_suits_no_vm_ends_the_game() -> None:
    report = played(FakeCluster(), faults=("kill-zookeeper",))
    assert (report.events, report.stopped) == ([], "kill-zookeeper suits no VM of orders")


def test_no_fault_begins_when_the_time_is_over() -> None:
    cluster = FakeCluster()
    report = played(cluster, within_s=30.0)
    assert len(report.events) == 2
    assert "30 s are over" in report.stopped


def test_a_fault_that_does_not_heal_ends_the_game() -> None:
    cluster = FakeCluster(heals_s=10_000.0)
    report = played(cluster)
    assert [e.healed_s for e in report.events] == [None]
    assert report.stopped == "not in full health after 300 s: a broker is down"
    lines = list(report_lines(report))
    assert "noticed p50 2 s" in str(lines[1])


def test_a_quantile_is_one_of_the_values() -> None:
    assert (quantile([], 0.5), quantile([3.0], 0.95), quantile([1.0, 2.0, 3.0, 4.0], 0.5)) == (None, 3.0, 2.0)
