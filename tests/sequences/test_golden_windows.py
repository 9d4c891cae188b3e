"""The stories of windows and freezes: what waits for its window, what is ended outside, and what never waits."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from controlplane.converger.conditions.windows import WAITS
from controlplane.storage.streams import FREEZES
from events import facts
from events.codec import encode
from events.envelope import Origin
from planner.rollout.windows import Freeze
from tests.builders import a_document
from tests.fakes.event_store import MemoryEventStore
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.world import World

# Worlds begin on Thursday, 2026-01-01 at midnight UTC: two hours before the window of that day opens in Zurich.
AT_THREE = ", windows: [{days: [thu], start: '03:00', duration: 2h, zone: Europe/Zurich}]"
OPENS_S, CLOSES_S = 2 * 3600.0, 4 * 3600.0
NEXT_WEEK_S = OPENS_S + 7 * 86_400


def _born(world: World, **spec: object) -> None:
    world.declare(a_document(**{"windows": AT_THREE, **spec}))
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)


def _watch(world: World, seconds: float) -> None:
    until = world.seconds + seconds
    while world.seconds < until:
        world.tick()


def _sleep_until(world: World, seconds: float) -> None:
    """Nothing happens until shortly before that time: the clock is put forward."""
    assert world.seconds < seconds
    world.seconds = seconds
    world.kafka.advance(0.0)
    world.calm.since_tick = world.ticks


def _recorded(world: World, kind: str) -> list[float]:
    began = datetime(2026, 1, 1, tzinfo=UTC)
    return [(r.recorded_at - began).total_seconds() for r in world.history() if r.type == kind]


def roll_waits_for_its_window(world: World) -> None:
    """A new cluster is made at any time; its first roll begins when the window opens, and not before."""
    _born(world)
    world.declare(a_document(windows=AT_THREE, version="4.2.0"))
    _watch(world, 60)
    assert world.view().roll.recycling == 0
    told = world.view().conditions[WAITS]
    assert (told.status, told.reason) == (True, "Window")
    assert "opens at 2026-01-01 02:00 UTC" in told.message
    assert not world.view().conditions.get("Blocked") or not world.view().conditions["Blocked"].status
    _sleep_until(world, OPENS_S - 5)
    world.converge()
    assert min(_recorded(world, "recycle.started")[1:]) >= OPENS_S
    assert not world.view().conditions[WAITS].status


def window_closes_mid_roll(world: World) -> None:
    """The broker in hand is finished outside the window: made, drained, retired. The next one waits a week."""
    _born(world)
    world.declare(a_document(windows=AT_THREE, version="4.2.0"))
    _watch(world, 10)
    _sleep_until(world, CLOSES_S - 30)
    _watch(world, 400)
    assert "brokers-a-0.g1" not in {i.key for i in world.view().alive()}
    assert "brokers-a-0.g2" in {i.key for i in world.view().in_phase("joined")}  # type: ignore[arg-type]
    assert "brokers-b-0.g1" in {i.key for i in world.view().alive()}
    assert len(_recorded(world, "surge.requested")) == 2
    assert world.view().conditions[WAITS].message.endswith("opens at 2026-01-08 02:00 UTC")
    _sleep_until(world, NEXT_WEEK_S - 5)
    world.converge(ticks=900)


def repair_goes_on_in_a_closed_window(world: World) -> None:
    """A roll waits; a VM that is lost meanwhile gets its successor at once, and nothing else begins."""
    _born(world)
    world.declare(a_document(windows=AT_THREE, machine="medium"))
    _watch(world, 10)
    world.machines.power_cut("brokers-b-0.g1")
    _watch(world, 900)
    alive = {i.key for i in world.view().alive()}
    assert "brokers-b-0.g2" in alive
    assert "brokers-b-0.g1" not in alive
    assert {"brokers-a-0.g1", "brokers-c-0.g1"} <= alive
    assert world.view().conditions[WAITS].status


def illness_is_cured_in_a_closed_window(world: World) -> None:
    """A failed disk gets its new VM though a roll waits for its window."""
    _born(world)
    world.declare(a_document(windows=AT_THREE, machine="medium"))
    _watch(world, 10)
    world.machines.become_unhealthy("brokers-a-0.g1", "log_dir_failed")
    _watch(world, 600)
    alive = {i.key for i in world.view().alive()}
    assert "brokers-a-0.g2" in alive
    assert "brokers-b-0.g1" in alive


def freeze_holds_what_a_window_would_let_go(world: World) -> None:
    """The window opens and closes under the freeze; the next one comes after it."""
    sale = Freeze(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 5, tzinfo=UTC), "winter sale")
    world.freezes = (sale,)
    world.start_server()
    _born(world)
    world.declare(a_document(windows=AT_THREE, version="4.2.0"))
    _watch(world, 10)
    _sleep_until(world, OPENS_S + 60)
    _watch(world, 60)
    told = world.view().conditions[WAITS]
    assert (told.status, told.reason) == (True, "Freeze")
    assert told.message == "frozen until 2026-01-05 00:00 UTC: winter sale, goes on at 2026-01-08 02:00 UTC"
    _sleep_until(world, NEXT_WEEK_S + 5)
    world.converge()


def roll_waits_until_people_thaw_it(world: World) -> None:
    """A freeze that people declare holds the roll, not the repair; a thaw lets it begin, its own end lets the next."""
    _born(world, windows="")
    _freeze(world, "freeze-1", until_s=6 * 3600.0)
    world.declare(a_document(version="4.2.0"))
    _watch(world, 30)
    told = world.view().conditions[WAITS]
    assert (told.status, told.reason) == (True, "Freeze")
    assert told.message == (
        "frozen until 2026-01-01 06:00 UTC by anna: winter sale (to end it: kedge thaw freeze-1), "
        "goes on at 2026-01-01 06:00 UTC"
    )
    world.machines.become_unhealthy("brokers-a-0.g1", "log_dir_failed")
    _watch(world, 600)
    assert {"brokers-a-0.g2", "brokers-b-0.g1"} <= {i.key for i in world.view().alive()}

    world.start_server()  # nothing of it is remembered but what is recorded
    _watch(world, 30)
    assert {"brokers-b-0.g1", "brokers-c-0.g1"} <= {i.key for i in world.view().alive()}
    _say(world, facts.FreezeThawed("freeze-1", "the sale is over"))
    world.converge()
    assert world.view().roll.converged == 2

    _freeze(world, "freeze-3", until_s=6 * 3600.0)
    world.declare(a_document(version="4.2.0", machine="medium"))
    _watch(world, 10)
    _sleep_until(world, 6 * 3600.0 - 5)
    _watch(world, 4)
    assert world.view().roll.recycling == 0
    world.converge()
    assert min(r for r in _recorded(world, "recycle.started") if r > 3600) >= 6 * 3600.0
    assert not world.view().conditions[WAITS].status


def _freeze(world: World, name: str, *, until_s: float) -> None:
    until = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=until_s)
    _say(world, facts.FreezeDeclared(name, until, "winter sale", ("orders",), (), {}))


def _say(world: World, fact: object) -> None:
    """As the service of freezes records it. People do not crash the server."""
    version = len(world.store.read_stream(FREEZES))
    event = encode(fact, f"freezes-{version}")
    MemoryEventStore.append(world.store, FREEZES, [event], expected_version=version, origin=Origin("person:anna"))
    world.disturbed()


def person_lets_a_roll_begin_now(world: World) -> None:
    """The permission is for this generation: the next one waits again."""
    _born(world)
    world.declare(a_document(windows=AT_THREE, version="4.2.0"))
    _watch(world, 10)
    world.person(facts.WindowWaived(world.view().generation, "asked by anna: a fix"))
    world.converge()
    world.declare(a_document(windows=AT_THREE, version="4.2.0", machine="medium"))
    _watch(world, 60)
    assert world.view().roll.recycling == 0
    assert world.view().conditions[WAITS].status


def settings_restart_waits_and_its_canary_is_watched(world: World) -> None:
    """The window closes right after the canary's restart: its soak is sat out, no other service is restarted."""
    _born(world)
    config = ", config: {num.partitions: 6}"
    world.declare(a_document(windows=AT_THREE, config=config))
    _watch(world, 30)
    assert _recorded(world, "restart.requested") == []
    _sleep_until(world, CLOSES_S - 6)
    _watch(world, 120)
    assert len(_recorded(world, "restart.requested")) == 1
    assert world.view().conditions[WAITS].status
    _sleep_until(world, NEXT_WEEK_S - 5)
    world.converge(ticks=900)


def brokers_are_added_at_once_and_get_their_share_in_the_window(world: World) -> None:
    """New brokers take nothing from anybody; moving replicas to them waits."""
    _born(world)
    world.declare(a_document(windows=AT_THREE, brokers=6))
    _watch(world, 120)
    assert len(world.view().brokers()) == 6
    assert world.view().moves.rebalance is not None
    assert _recorded(world, "rebalance.batch_started") == []
    assert world.view().conditions[WAITS].status
    _sleep_until(world, OPENS_S + 5)
    world.converge()
    assert _recorded(world, "rebalance.batch_started")


def evacuation_waits_for_its_window(world: World) -> None:
    """A broker that a person wants empty serves on until then."""
    _born(world, brokers=6)
    world.person(facts.EvacuationRequested(("brokers-a-0.g1",), "asked by anna: a look at its disk"))
    _watch(world, 30)
    assert world.view().moves.drain is None
    assert world.view().conditions[WAITS].status
    _sleep_until(world, OPENS_S + 5)
    world.converge()


STORIES = (
    roll_waits_for_its_window,
    window_closes_mid_roll,
    repair_goes_on_in_a_closed_window,
    illness_is_cured_in_a_closed_window,
    freeze_holds_what_a_window_would_let_go,
    roll_waits_until_people_thaw_it,
    person_lets_a_roll_begin_now,
    settings_restart_waits_and_its_canary_is_watched,
    brokers_are_added_at_once_and_get_their_share_in_the_window,
    evacuation_waits_for_its_window,
)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_the_story_of_a_window_is_as_it_was(story: Callable[[World], None]) -> None:
    assert_told_as_recorded(story)
