"""Seeded trouble around a window that closes and opens again: what is voluntary begins inside only, it converges."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from controlplane.cluster.lifecycle import Phase
from events.envelope import NewEvent, Origin
from tests.builders import a_document
from tests.sim.evidence import Violation
from tests.sim.faults import Trouble
from tests.sim.sweep import sweep
from tests.sim.world import BEGAN, World

OPEN_S, EVERY_S = 900, 1800
EVERY_HALF_HOUR = (
    ", windows: [" + ", ".join(f"{{start: '{h:02}:{m:02}', duration: 15m}}" for h in range(5) for m in (0, 30)) + "]"
)


class WindowedWorld(World):
    """Judges each event of the server when it is recorded, by the truth about the VMs it names."""

    def _recorded(self, events: Sequence[NewEvent], origin: Origin) -> None:
        super()._recorded(events, origin)
        is_open = int((self.clock() - BEGAN) / timedelta(seconds=1)) % EVERY_S < OPEN_S
        if is_open or not self.view().roll.converged:
            return
        cured = any(e.type == "healing.requested" for e in events)
        for event in events:
            wrong = self._unwelcome(event, cured=cured)
            if wrong:
                raise Violation(f"windows: {wrong} at {self.seconds:.0f} s, outside")

    def _unwelcome(self, event: NewEvent, *, cured: bool) -> str:
        view, data = self.view(), event.data
        if event.type == "restart.requested" and not cured:
            return f"restart of {data['key']}"
        if event.type in ("finalisation.requested", "rebalance.batch_started", "voter.remove_requested"):
            return event.type
        if event.type == "drain.requested" and not data["successors"]:
            return f"drain of {data['keys']} that nobody succeeds"
        if event.type != "surge.requested":
            return ""
        for made in data["instances"]:
            # One that was stopped for a successor which never came serves nobody: its next successor is a repair.
            there = [i for i in view.of_node(made["node"]) if i.phase is Phase.JOINED]
            newest = there[-1] if there and there[-1] == view.of_node(made["node"])[-1] else None
            gone = newest is None or newest.lost or bool(view.is_broken(newest))
            unhealthy = any(c.node == made["node"] for c in view.vms.cures)
            down = newest is not None and newest.is_broker and not self.kafka.serves(newest.service_id)
            if made["replaces"] and not (gone or unhealthy or down):
                return f"replacement of {made['node']}, which serves"
        return ""


def troubled_windows(seed: int, *, steps: int = 300, chance: float = 0.1, **kinds: bool) -> WindowedWorld:
    """A version roll that begins two and a half minutes before its window closes, under seeded trouble."""
    world = WindowedWorld(seed=seed)
    world.declare(a_document(windows=EVERY_HALF_HOUR))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.seconds = OPEN_S - 150.0
    world.declare(a_document(windows=EVERY_HALF_HOUR, version="4.2.0"))
    trouble = Trouble(world, chance=chance, version="4.2.0", windows=EVERY_HALF_HOUR, **kinds)
    trouble.lasts(steps)
    # Once all that had begun is ended, the clock is put forward.
    world.run(until=lambda w: w.seconds >= EVERY_S - 5 or w.sentence().startswith("waits for its"), ticks=800)
    assert not world.is_converged(), "the window was to close on it"
    world.seconds = max(world.seconds, EVERY_S - 5.0)
    world.disturbed()
    world.converge(ticks=1500)
    return world


@pytest.mark.parametrize("seed", range(1800, 1804))
def test_it_converges_though_its_window_closes_in_the_middle_of_trouble(seed: int) -> None:
    world = troubled_windows(seed)
    assert any(r.data.get("type") == "WaitsForWindow" for r in world.history() if r.type == "condition.changed")


@pytest.mark.parametrize("seed", range(1810, 1812))
def test_it_converges_though_services_become_unhealthy_outside_the_window(seed: int) -> None:
    troubled_windows(seed, unhealthy=True)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_after_much_more_trouble_around_windows() -> None:
    def run(seed: int) -> object:
        return troubled_windows(seed, chance=0.15, unhealthy=seed % 2 == 0, rivals=seed % 3 == 0)

    sweep("troubled_windows, chance=0.15, seed", range(10_000, 10_200), run)
