"""The stories of listeners and authorization that change on a living cluster whose nodes speak TLS: restarts in place,
no new VM; told and compared as those of rolls are (`test_golden_rolls`)."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from controlplane.cluster.fold import fold
from controlplane.cluster.view import empty_view
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from events.spec.model import KafkaClusterDocument
from events.spec.security import Authentication, Authorization, Listener, Security
from planner.rollout.diff import Change
from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.crashes import Crashes
from tests.sim.world import UID, World

TLS = Listener(name="TLS", port=9094, security="tls")
SCRAM = Listener(name="SCRAM", port=9095, security="tls", authentication=Authentication(type="scram-sha-512"))
FULL, REFUSE = Authorization(anonymous="full"), Authorization(anonymous="refuse")


def secured(*listeners: Listener, authorization: Authorization | None = None, **spec: object) -> KafkaClusterDocument:
    document = a_document(**spec)
    update = {"security": Security(internal="tls"), "listeners": listeners, "authorization": authorization}
    return document.model_copy(update={"spec": document.spec.model_copy(update=update)})


def _born(world: World, *listeners: Listener, authorization: Authorization | None = None, **spec: object) -> None:
    world.declare(secured(*listeners, authorization=authorization, **spec))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)


def _runs(world: World, pool: str) -> set[tuple[tuple[str, ...], bool]]:
    """What runs: the listeners each process of a pool was started with, and whether ANONYMOUS is a super user."""
    vms = (vm for key, vm in sorted(world.machines.vms.items()) if key.startswith(pool))
    told = [vm.process.document.tls for vm in vms if vm.process]
    return {(tuple(one.name for one in t.listeners), "User:ANONYMOUS" in t.super_users) for t in told if t}


def _restarted(world: World) -> list[str]:
    """Pools of the services that were told to start anew, in their order."""
    keys = [r.data["key"] for r in world.history() if r.type == "restart.requested"]
    return [key.partition("-")[0] for key in keys]


def listener_added(world: World) -> None:
    """Brokers take it on in place, the first one watched. Controllers know no clients' listeners."""
    _born(world, TLS)
    world.declare(secured(TLS, SCRAM, authorization=FULL))
    world.converge(ticks=300)
    assert _runs(world, "brokers") == {(("TLS", "SCRAM"), True)}
    assert _restarted(world) == ["brokers"] * 3
    assert {i.planned.generation for i in world.view().alive()} == {1}


def last_open_listener_closed(world: World) -> None:
    """Rights are taken of brokers first, then of controllers, who check what brokers pass on to them."""
    _born(world, TLS, SCRAM, authorization=FULL)
    world.declare(secured(SCRAM, authorization=REFUSE))
    world.converge(ticks=300)
    assert _runs(world, "brokers") == {(("SCRAM",), False)}
    assert _runs(world, "controllers") == {((), False)}
    assert _restarted(world) == ["brokers"] * 3 + ["controllers"] * 3
    assert {i.planned.generation for i in world.view().alive()} == {1}


def open_listener_given_back(world: World) -> None:
    """Rights are given to controllers first: nothing a broker lets in is refused behind it."""
    _born(world, SCRAM, authorization=REFUSE)
    world.declare(secured(SCRAM, TLS, authorization=FULL))
    world.converge(ticks=300)
    assert _runs(world, "brokers") == {(("SCRAM", "TLS"), True)}
    assert _restarted(world) == ["controllers"] * 3 + ["brokers"] * 3


def listener_and_version_changed(world: World) -> None:
    """New VMs come with it; nothing is started anew after the roll."""
    _born(world, TLS)
    world.declare(secured(TLS, SCRAM, authorization=FULL, version="4.2.0"))
    world.converge(ticks=900)
    assert _runs(world, "brokers") == {(("TLS", "SCRAM"), True)}
    assert _restarted(world) == []


SCENARIOS: tuple[Callable[[World], None], ...] = (
    listener_added,
    last_open_listener_closed,
    open_listener_given_back,
    listener_and_version_changed,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_the_story_is_the_one_on_record(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)


def _one_has_it(world: World) -> None:
    """As far as the first broker is watched with the new listener."""
    _born(world, TLS)
    world.declare(secured(TLS, SCRAM, authorization=FULL))
    world.run(until=lambda w: any(r.type == "restart.completed" for r in w.history()), ticks=300)
    assert _runs(world, "brokers") == {(("TLS",), True), (("TLS", "SCRAM"), True)}


CRASHES = Crashes(_one_has_it)
FIRST = next(n for n, name in enumerate(CRASHES.points, start=1) if "restart." in name)


@pytest.mark.parametrize("point", range(FIRST, len(CRASHES.points) + 1), ids=CRASHES.id_of)
def test_a_listener_is_added_though_the_server_dies_at(point: int) -> None:
    CRASHES.at(point)


def test_a_broker_that_falls_meanwhile_comes_back_where_its_clients_know_it() -> None:
    world = World()
    _born(world, TLS)
    world.declare(secured(TLS, SCRAM, authorization=FULL))
    world.run(until=lambda w: any(r.type == "restart.completed" for r in w.history()), ticks=300)
    (last,) = sorted(i.key for i in world.view().brokers() if i.start.count == 1)[-1:]
    world.machines.stop_process(last)
    world.disturbed()
    world.run(until=lambda w: w.machines.vms[last].process is not None, ticks=100)
    told = world.machines.vms[last].process
    assert told is not None
    assert told.document.tls is not None
    assert [one.name for one in told.document.tls.listeners] == ["TLS"]
    world.converge(ticks=300)
    assert _runs(world, "brokers") == {(("TLS", "SCRAM"), True)}


def test_a_history_of_before_such_changes_restarts_nobody() -> None:
    """What an earlier release recorded says nothing of it: brokers have the listeners that were in force at their
    birth."""
    world = World()
    _born(world, TLS)
    stripped = [replace(e, data={k: v for k, v in e.data.items() if k != "security"}) for e in world.history()]
    view = fold(empty_view(UID), stripped)
    assert not view.history.unreadable
    assert {c.change for c in pending_changes(view)} == {Change.KEEP}
    assert view == world.view()
