"""The stories of changed settings, told and compared as those of rolls are (`test_golden_rolls`)."""

from collections.abc import Callable

import pytest

from controlplane.converger.situation.situation import LOSS_GRACE_S
from events import facts
from planner.rollout.live_step import LiveStep
from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sequences.settingstories import born, running, told, with_settings
from tests.sim.world import World


def _keys(world: World) -> list[str]:
    return sorted(i.key for i in world.view().alive())


def _is_adopted(world: World) -> bool:
    told = world.view().conditions.get("SettingsAdopted")
    return told is not None and told.status


def setting_changed_live(world: World) -> None:
    """One value and one that halves in steps: on one broker first, watched, then rack by rack; nothing starts anew."""
    born(world, "num.io.threads: 8, message.max.bytes: 1000000")
    before = _keys(world), world.machines.starts
    world.declare(with_settings("num.io.threads: 2, message.max.bytes: 2000000"))
    world.converge(ticks=40)
    assert (_keys(world), world.machines.starts) == before
    assert running(world, "num.io.threads") == ["2", "2", "2"]
    assert told(world, "message.max.bytes") == {"2000000"}
    first = ["1000:message.max.bytes=2000000", "1000:num.io.threads=4", "1000:num.io.threads=2"]
    second = ["1001:message.max.bytes=2000000", "1001:num.io.threads=4", "1001:num.io.threads=2"]
    last = ["message.max.bytes=2000000", "num.io.threads=4", "num.io.threads=2"]
    left = [f"{broker}:{name}=None" for name in ("message.max.bytes", "num.io.threads") for broker in (1000, 1001)]
    assert world.kafka.settings.changes == [*first, *second, *last, *left]
    assert not any(world.kafka.settings.own.values())


def setting_leaves_the_spec(world: World) -> None:
    """Deleting the live value would bring back the one of the file: Kafka's default is set instead."""
    born(world, "message.max.bytes: 2000000")
    world.declare(a_document())
    world.converge(ticks=40)
    assert running(world, "message.max.bytes") == ["1048588"] * 3
    assert told(world, "message.max.bytes") == {None}


def setting_refused(world: World) -> None:
    """One broker says no: nothing is applied, and a person is asked. Another value goes."""
    born(world, "message.max.bytes: 1000000")
    world.kafka.settings.refuses[(1001, "message.max.bytes", "3000000")] = "broker 1001 has its reasons"
    world.declare(with_settings("message.max.bytes: 3000000"))
    for _ in range(20):
        world.tick()
    assert world.is_held()
    assert world.kafka.settings.changes == []
    assert told(world, "message.max.bytes") == {"1000000"}
    world.declare(with_settings("message.max.bytes: 2000000"))
    world.converge(ticks=40)
    assert running(world, "message.max.bytes") == ["2000000"] * 3


def setting_refused_until_resumed(world: World) -> None:
    born(world, "message.max.bytes: 1000000")
    world.kafka.settings.refuses[(1001, "message.max.bytes", "3000000")] = "broker 1001 has its reasons"
    world.declare(with_settings("message.max.bytes: 3000000"))
    for _ in range(5):
        world.tick()
    world.kafka.settings.refuses.clear()
    world.person(facts.ClusterResumed("they are gone"))
    world.converge(ticks=40)
    assert running(world, "message.max.bytes") == ["3000000"] * 3


def setting_changed_by_hand(world: World) -> None:
    """What the spec names is put right; what it does not name, and what a roll sets, is somebody else's."""
    born(world, "num.io.threads: 8")
    settings = world.kafka.settings
    settings.by_hand(1001, "num.io.threads", "3")
    settings.by_hand(1001, "background.threads", "5")
    world.disturbed()
    world.run(until=lambda w: w.view().settings.change is not None, ticks=100)
    world.converge(ticks=30)
    assert running(world, "num.io.threads") == ["8", "8", "8"]
    assert settings.own[1001] == {"background.threads": "5"}


def setting_changed_by_hand_everywhere(world: World) -> None:
    """It may have been somebody's cure: brokers lose it rack by rack, the last with the cluster's default."""
    born(world, "num.io.threads: 8")
    settings = world.kafka.settings
    world.kafka.alter_cluster_config({"num.io.threads": "6"})
    settings.by_hand(1000, "num.io.threads", "5")
    world.disturbed()
    world.run(until=lambda w: w.view().settings.change is not None, ticks=100)
    world.converge(ticks=30)
    assert running(world, "num.io.threads") == ["8", "8", "8"]
    assert settings.changes[:3] == ["1000:num.io.threads=8", "1001:num.io.threads=8", "num.io.threads=8"]
    assert not any(settings.own.values())


def setting_changed_by_hand_is_adopted(world: World) -> None:
    """It is told and left while the spec says so, a new value of the spec is set over it, and without the word it is
    put right."""
    born(world, "num.io.threads: 8")
    adopting = "{{num.io.threads: {}}}, adopt: [num.io.threads]".format
    world.declare(a_document(config=f", config: {adopting(8)}"))
    world.converge(ticks=40)
    world.kafka.settings.by_hand(1001, "num.io.threads", "5")
    world.disturbed()
    world.run(until=_is_adopted, ticks=100)
    world.converge(ticks=30)
    assert running(world, "num.io.threads") == ["8", "5", "8"]
    world.declare(a_document(config=f", config: {adopting(6)}"))
    world.converge(ticks=60)
    assert running(world, "num.io.threads") == ["6", "6", "6"]
    world.kafka.settings.by_hand(1001, "num.io.threads", "4")
    world.disturbed()
    world.run(until=_is_adopted, ticks=100)
    world.declare(with_settings("num.io.threads: 6"))
    world.run(until=lambda w: running(w, "num.io.threads") == ["6", "6", "6"], ticks=100)
    world.converge(ticks=30)
    assert not _is_adopted(world)


def setting_changed_mid_roll(world: World) -> None:
    """It is set between two replacements; who comes later is started with it."""
    born(world, "message.max.bytes: 1000000")
    world.declare(with_settings("message.max.bytes: 1000000", version="4.2.0"))
    world.run(until=lambda w: w.view().moves.drain is not None, ticks=100)
    world.declare(with_settings("message.max.bytes: 2000000", version="4.2.0"))
    world.run(until=lambda w: bool(w.kafka.settings.changes), ticks=200)
    assert {i.planned.kafka_version for i in world.view().brokers()} == {"4.1.1", "4.2.0"}
    world.converge(ticks=900)
    assert told(world, "message.max.bytes") == {"2000000"}


def min_isr_changed_with_a_version(world: World) -> None:
    """It stands still while the roll runs, on new VMs too, and changes once that is over."""
    born(world, "min.insync.replicas: 2")
    world.kafka.create_topic("lean", partitions=3, rf=3, bytes_per_partition=1_000_000)
    world.declare(with_settings("min.insync.replicas: 1", version="4.2.0"))
    world.run(until=lambda w: bool(w.kafka.settings.changes), ticks=900)
    assert {i.planned.kafka_version for i in world.view().alive()} == {"4.2.0"}
    assert {i.planned.settings["min.insync.replicas"] for i in world.view().alive()} == {"2"}
    world.converge(ticks=100)
    assert told(world, "min.insync.replicas") == {"1"}
    assert world.kafka.settings.changes == ["min.insync.replicas=1"]


def min_isr_rises_once_replicas_are_in_sync(world: World) -> None:
    """By the spec and against what was lowered by hand: a broker that catches up is waited for; all else goes on."""
    born(world, "min.insync.replicas: 2")
    world.declare(with_settings("min.insync.replicas: 1"))
    world.converge(ticks=40)
    world.kafka.create_topic("lean", partitions=3, rf=2, bytes_per_partition=1_000_000)
    world.kafka.fall_behind(1001)
    world.declare(with_settings("min.insync.replicas: 2, message.max.bytes: 2000000"))
    for _ in range(30):
        world.tick()
    assert running(world, "message.max.bytes") == ["2000000"] * 3
    assert running(world, "min.insync.replicas") == ["1"] * 3
    world.kafka.catch_up()
    world.converge(ticks=40)
    assert running(world, "min.insync.replicas") == ["2"] * 3
    world.kafka.fall_behind(1001)
    world.kafka.alter_cluster_config({"min.insync.replicas": "1"})
    world.disturbed()
    for _ in range(70):
        world.tick()
    assert running(world, "min.insync.replicas") == ["1"] * 3
    world.kafka.catch_up()
    world.disturbed()
    world.converge(ticks=40)
    assert running(world, "min.insync.replicas") == ["2"] * 3


def setting_changed_while_a_broker_is_down(world: World) -> None:
    """Each broker is asked first: one that does not answer is waited for."""
    born(world, "message.max.bytes: 1000000")
    world.machines.vms["brokers-b-0.g1"].deaf = True
    world.machines.stop_process("brokers-b-0.g1")
    for _ in range(12):
        world.tick()
    world.declare(with_settings("message.max.bytes: 2000000"))
    for _ in range(40):
        world.tick()
    assert world.kafka.settings.changes == []
    world.machines.vms["brokers-b-0.g1"].deaf = False
    world.converge(ticks=60)


def spec_changes_its_mind_half_way(world: World) -> None:
    """A change that a broker stopped in the middle is taken back by the next spec, though that no longer names it."""
    born(world, "message.max.bytes: 1000000")
    world.kafka.settings.refuses[(1002, "num.io.threads", "32")] = "not that many"
    world.declare(with_settings("message.max.bytes: 1000000, num.io.threads: 32"))
    world.run(until=lambda w: w.view().settings.refusal is not None, ticks=20)
    assert running(world, "num.io.threads") == ["32", "32", "16"]
    world.declare(with_settings("message.max.bytes: 1000000"))
    world.converge(ticks=30)
    assert running(world, "num.io.threads") == ["8", "8", "8"]
    assert not any(world.kafka.settings.own.values())


def setting_that_needs_a_restart(world: World) -> None:
    """The first broker is watched, then the others rack by rack, then controllers, the active one last."""
    born(world, "num.partitions: 3")
    before = _keys(world)
    world.declare(with_settings("num.partitions: 6"))
    world.converge(ticks=200)
    assert _keys(world) == before
    assert {i.start.count for i in world.view().alive()} == {2}
    assert told(world, "num.partitions") == {"6"}
    assert [f for s in world.kafka.settings.files.values() for f in [s["num.partitions"]]] == ["6"] * 3


def setting_live_and_by_restart(world: World) -> None:
    """What can be set live is, first; the restart brings the rest."""
    born(world, "num.partitions: 3, message.max.bytes: 1000000")
    world.declare(with_settings("num.partitions: 6, message.max.bytes: 2000000"))
    world.converge(ticks=200)
    first, *others = world.kafka.settings.changes
    assert first == "1000:message.max.bytes=2000000"
    second, last, *left = others
    assert (second, last) == ("1001:message.max.bytes=2000000", "message.max.bytes=2000000")
    assert left == ["1000:message.max.bytes=None", "1001:message.max.bytes=None"]
    assert told(world, "num.partitions") == {"6"}


def bad_canary_is_reverted(world: World) -> None:
    """It does not come back with a setting: it gets its old ones, and nobody else is touched until the next spec."""
    born(world, "num.partitions: 3")
    world.machines.fatal["num.partitions"] = "7"
    world.declare(with_settings("num.partitions: 7"))
    world.run(until=lambda w: w.is_held(), ticks=300)
    for _ in range(30):
        world.tick()
    assert all(world.kafka.serves(b) for b in (1000, 1001, 1002))
    assert told(world, "num.partitions") == {"3"}
    assert sorted(i.start.count for i in world.view().alive()) == [1, 1, 1, 1, 1, 3]
    world.declare(with_settings("num.partitions: 6"))
    world.converge(ticks=200)


def canary_falls_while_it_is_watched(world: World) -> None:
    born(world, "num.partitions: 3")
    world.declare(with_settings("num.partitions: 7", soak="60s"))
    world.run(until=lambda w: bool(w.view().settings.canaries), ticks=60)
    world.machines.fatal["num.partitions"] = "7"
    world.machines.stop_process("brokers-a-0.g1")
    world.run(until=lambda w: w.is_held(), ticks=200)
    assert told(world, "num.partitions") == {"3"}
    world.machines.fatal.clear()
    world.person(facts.ClusterResumed("the disk was full"))
    world.converge(ticks=400)
    assert told(world, "num.partitions") == {"7"}


def later_broker_does_not_come_back(world: World) -> None:
    """Who stood it keeps its settings, who did not gets the old ones back, and the rest waits."""
    born(world, "num.partitions: 3")
    world.declare(with_settings("num.partitions: 7"))
    world.run(until=lambda w: "brokers-b-0.g1" in w.view().settings.restarts, ticks=100)
    world.machines.fatal["num.partitions"] = "7"
    world.run(until=lambda w: w.is_held(), ticks=300)
    for _ in range(10):
        world.tick()
    assert {i.key: i.settings["num.partitions"] for i in world.view().brokers()} == {
        "brokers-a-0.g1": "7",
        "brokers-b-0.g1": "3",
        "brokers-c-0.g1": "3",
    }
    assert all(world.kafka.serves(b) for b in (1000, 1001, 1002))


def restart_waits_for_a_broker_that_is_down(world: World) -> None:
    born(world, "num.partitions: 3")
    world.machines.vms["brokers-c-0.g1"].deaf = True
    world.machines.stop_process("brokers-c-0.g1")
    for _ in range(12):
        world.tick()
    world.declare(with_settings("num.partitions: 6"))
    for _ in range(40):
        world.tick()
    assert {i.start.count for i in world.view().alive()} == {1}
    world.machines.vms["brokers-c-0.g1"].deaf = False
    world.converge(ticks=200)


def restart_waits_for_a_broker_that_shares_nothing(world: World) -> None:
    """No partition is in the way: the broker of another rack that is away is as many as may be."""
    six = {"brokers": 6}
    world.declare(with_settings("num.partitions: 3", **six))
    world.converge()
    world.machines.vms["brokers-c-1.g1"].deaf = True
    world.machines.stop_process("brokers-c-1.g1")
    for _ in range(12):
        world.tick()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    assert not world.kafka_hosts(1005)
    world.declare(with_settings("num.partitions: 6", **six))
    for _ in range(40):
        world.tick()
    blocked = world.view().conditions["Blocked"]
    assert (blocked.status, blocked.reason) == (True, "MaxUnavailable")
    assert "broker 1005 (brokers-c-1.g1, rack c) is away since 2026-01-01 00:00:" in blocked.message
    assert {i.start.count for i in world.view().alive()} == {1}
    world.machines.vms["brokers-c-1.g1"].deaf = False
    world.converge(ticks=300)
    assert {i.start.count for i in world.view().alive()} == {2}


def restarted_vm_is_lost(world: World) -> None:
    """Its successor is started with the new settings; the restarts of the others go on."""
    born(world, "num.partitions: 3")
    world.declare(with_settings("num.partitions: 6"))
    world.run(until=lambda w: bool(w.view().settings.restarts), ticks=20)
    world.machines.power_cut("brokers-a-0.g1")
    world.disturbed()
    for _ in range(int(LOSS_GRACE_S)):
        world.tick()
    world.converge(ticks=600)
    assert told(world, "num.partitions") == {"6"}


def abort_during_restarts(world: World) -> None:
    """The one in hand is seen through, no other begins; a resume goes on where it was."""
    born(world, "num.partitions: 3")
    world.declare(with_settings("num.partitions: 6"))
    world.run(until=lambda w: bool(w.view().settings.restarts), ticks=20)
    world.person(facts.RecycleAborted("second thoughts"))
    world.hold()
    assert sorted(i.start.count for i in world.view().alive()) == [1, 1, 1, 1, 1, 2]
    world.person(facts.ClusterResumed("go on"))
    world.converge(ticks=200)


def restart_setting_changed_mid_roll(world: World) -> None:
    """VMs of the roll that are still to come bring it along; those that came before are restarted after it."""
    born(world, "num.partitions: 3")
    world.declare(with_settings("num.partitions: 3", version="4.2.0"))
    world.run(until=lambda w: bool(w.view().of_node("brokers-b-0")[1:]), ticks=200)
    world.declare(with_settings("num.partitions: 6", version="4.2.0"))
    world.converge(ticks=900)
    starts = {i.key: i.start.count for i in world.view().brokers()}
    assert starts == {"brokers-a-0.g2": 2, "brokers-b-0.g2": 2, "brokers-c-0.g2": 1}
    assert told(world, "num.partitions") == {"6"}


SCENARIOS: tuple[Callable[[World], None], ...] = (
    setting_changed_live,
    setting_leaves_the_spec,
    setting_refused,
    setting_refused_until_resumed,
    setting_changed_by_hand,
    setting_changed_by_hand_everywhere,
    setting_changed_by_hand_is_adopted,
    setting_changed_mid_roll,
    min_isr_changed_with_a_version,
    min_isr_rises_once_replicas_are_in_sync,
    setting_changed_while_a_broker_is_down,
    spec_changes_its_mind_half_way,
    setting_that_needs_a_restart,
    setting_live_and_by_restart,
    bad_canary_is_reverted,
    canary_falls_while_it_is_watched,
    later_broker_does_not_come_back,
    restart_waits_for_a_broker_that_is_down,
    restart_waits_for_a_broker_that_shares_nothing,
    restarted_vm_is_lost,
    abort_during_restarts,
    restart_setting_changed_mid_roll,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_the_story_is_the_one_on_record(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)


def bad_canary(world: World) -> None:
    """As far as the old settings are back, and rest there."""
    born(world, "num.partitions: 3")
    world.machines.fatal["num.partitions"] = "7"
    world.declare(with_settings("num.partitions: 7", join_deadline="20s"))
    world.run(until=lambda w: w.is_held(), ticks=100)
    assert told(world, "num.partitions") == {"3"}
    assert all(world.kafka.serves(b) for b in (1000, 1001, 1002))


def _names_of(story: Callable[[World], None]) -> list[str]:
    world = World()
    story(world)
    return world.points.names


def _crash_points() -> list[tuple[Callable[[World], None], int, str]]:
    """Before and after every append and effect from the change on, of the stories that tell most."""
    chosen: list[tuple[Callable[[World], None], int, str]] = []
    for story in (
        setting_changed_live,
        setting_changed_by_hand,
        setting_refused,
        setting_live_and_by_restart,
        bad_canary,
    ):
        names = _names_of(story)
        first = next(n for n, name in enumerate(names, start=1) if "settings." in name or "restart." in name)
        chosen += [(story, n, names[n - 1]) for n in range(first, len(names) + 1)]
    return chosen


CRASHES = _crash_points()


@pytest.mark.parametrize(("story", "point", "name"), CRASHES, ids=lambda v: getattr(v, "__name__", str(v)))
def test_it_survives_a_crash_at(story: Callable[[World], None], point: int, name: str) -> None:
    world = World(seed=point, crash_at=point)
    story(world)
    assert world.crashes == [name]


def test_the_crashes_are_at_everything_a_change_records_and_does() -> None:
    kinds = {name.removeprefix("before ").removeprefix("after ") for _, _, name in CRASHES}
    settings = {"settings.change_requested", "settings.changed", "settings.refused", "change_settings"}
    settings |= {"settings.tried", "settings.canary_stood"}
    restarts = {"restart.requested", "restart.completed", "restart.revert_requested", "restart.reverted"}
    assert settings | restarts <= kinds


def test_a_value_is_offered_to_each_broker_before_it_is_set() -> None:
    world = World()
    born(world, "message.max.bytes: 1000000")
    order: list[str] = []
    ask, change = world.kafka.setting_refusals, world.kafka.change_settings

    def asking(step: LiveStep) -> object:
        order.append("asked")
        return ask(step)

    def changing(step: LiveStep) -> None:
        order.append("set")
        change(step)

    world.kafka.setting_refusals, world.kafka.change_settings = asking, changing  # type: ignore[method-assign,assignment]
    world.declare(with_settings("message.max.bytes: 2000000"))
    world.converge(ticks=40)
    assert order.count("set") == 4, "on the first one, on that of the next rack, on all, and what is their own away"
    assert all(order[n - 1] == "asked" for n, what in enumerate(order) if what == "set")
