"""A process of a broker, a controller or a ZooKeeper server, or an agent, is killed at each moment of a plan, whichever
step that is in: the next one takes over and the plan ends well, every property held after each tick.

The victims take turns, so that each VM dies somewhere. What the same does to Kedge's own server is in test_crashes.py.
"""

import os
from collections.abc import Callable, Mapping
from functools import partial

import pytest

from events.spec.model import KafkaClusterDocument
from tests.builders import a_cohosted_document, a_document, a_zookeeper_document
from tests.sim.evidence import Violation
from tests.sim.imagefleet import ImageFleet, a_follower
from tests.sim.moments import failure_of
from tests.sim.sweep import chosen, sweep
from tests.sim.world import World

AGENT_AWAY_TICKS = 20
REATTACH = {"strategy": "reattach", "max_unavailable": 1}
SETTINGS = {"config": ", config: {num.partitions: 6, message.max.bytes: 2000000}"}
TWO_COPIES = {"config": ", config: {default.replication.factor: 2, min.insync.replicas: 1}"}
IN_TWO_ZONES = {**TWO_COPIES, "brokers": 4, "zones": "a, b"}
Plan = tuple[KafkaClusterDocument, KafkaClusterDocument, int]
PLANS: Mapping[str, Plan] = {
    "version": (a_document(), a_document(version="4.2.0"), 190),
    "version, reattached": (a_document(**REATTACH), a_document(**REATTACH, version="4.2.0"), 120),
    "settings": (a_document(), a_document(**SETTINGS), 70),
    "fewer brokers": (a_document(brokers=6), a_document(brokers=3), 60),
    "more controllers": (a_document(), a_document(controllers=5), 30),
    "fewer controllers": (a_document(controllers=5), a_document(), 24),
    "larger disks": (a_document(), a_document(broker_gib=200), 26),
    "smaller disks": (a_document(), a_document(broker_gib=50), 110),
    "one zone more": (a_document(**IN_TWO_ZONES), a_document(**TWO_COPIES, brokers=6), 32),
    "one zone less": (a_document(**TWO_COPIES, brokers=6), a_document(**IN_TWO_ZONES), 34),
    "ZooKeeper: version": (a_zookeeper_document(), a_zookeeper_document(version="3.9.1"), 195),
    "ZooKeeper: version, reattached": (
        a_zookeeper_document(**REATTACH),
        a_zookeeper_document(**REATTACH, version="3.9.1"),
        165,
    ),
    "ZooKeeper: settings": (a_zookeeper_document(), a_zookeeper_document(**SETTINGS), 48),
    "ZooKeeper: more servers": (a_zookeeper_document(), a_zookeeper_document(controllers=5), 28),
    "ZooKeeper: fewer servers": (a_zookeeper_document(controllers=5), a_zookeeper_document(), 22),
    "ZooKeeper: version, servers beside brokers": (a_cohosted_document(), a_cohosted_document(version="3.9.1"), 142),
    "ZooKeeper: migration": (a_zookeeper_document(version="3.9.1"), a_document(version="3.9.1"), 84),
}
"""Spec before, spec after, and a little more ticks than it takes when nobody dies."""


def process_dies(world: World, tick: int) -> None:
    running = _running(world)
    world.machines.stop_process(running[tick * 5 % len(running)])
    world.disturbed()


def member_dies(world: World, tick: int) -> None:
    """The ZooKeeper server beside a broker; of VMs that have none another process."""
    there = sorted(k for k, vm in world.machines.vms.items() if vm.alive and vm.member and vm.member.up)
    if not there:
        process_dies(world, tick)
        return
    world.machines.stop_process(there[tick * 5 % len(there)], beside=True)
    world.disturbed()


def agent_dies(world: World, tick: int) -> None:
    running = _running(world)
    key = running[tick * 5 % len(running)]
    world.machines.vms[key].deaf = True
    world.disturbed()
    for _ in range(AGENT_AWAY_TICKS):
        world.tick()
    if key in world.machines.vms:
        world.machines.vms[key].deaf = False
    world.disturbed()


DEATHS: Mapping[str, Callable[[World, int], None]] = {"process": process_dies, "agent": agent_dies}
BESIDE = "ZooKeeper: version, servers beside brokers"
STRIDE = 29
"""Ticks between two deaths in `make test`; `make soak` has one at each."""


def dies_in(plan: str, who: str, tick: int, seed: int = 0) -> None:
    """One end alone: what a failure of `dies_at_each_moment` tells is run again by this."""
    world = _about_to(plan, seed)
    for _ in range(tick):
        world.tick()
    _ends(world, who, tick)


def dies_at_each_moment(plan: str, *, stride: int = 1, first: int = 1, seed: int = 0) -> int:
    """From its `first` tick on, at every so many of it, each kind of victim once. How many ends it had.

    The moments are cases of a sweep: soak may have some of them only.
    """
    world, ends, failed = _about_to(plan, seed), 0, []
    victims = (*DEATHS, *(("server",) if plan == BESIDE else ()))
    cases = set(chosen((tick, who) for tick in range(first, PLANS[plan][2], stride) for who in victims))
    for tick in range(1, PLANS[plan][2]):
        world.tick()
        for who in victims:
            if (tick, who) not in cases:
                continue
            ends += 1
            if why := failure_of(partial(_ends, world, who, tick)):
                failed.append(f"dies_in({plan!r}, {who!r}, {tick}, {seed}): {why}")
    assert not failed, f"{len(failed)} of {ends} failed:\n" + "\n".join(failed)
    return ends


def _about_to(plan: str, seed: int) -> World:
    """The world in which the spec has just been changed."""
    before, after, _ = PLANS[plan]
    world = World(seed=seed, version=before.spec.kafka.version)
    world.declare(before)
    world.converge(ticks=300)
    copies = min(3, len({i.planned.rack for i in world.view().brokers()}))
    world.kafka.create_topic("orders", partitions=12, rf=copies, min_isr=copies - 1, bytes_per_partition=50_000_000)
    world.declare(after)
    return world


def _ends(world: World, who: str, tick: int) -> None:
    {**DEATHS, "server": member_dies}[who](world, tick)
    world.converge(ticks=900)


def dies_in_a_roll_to_an_image(who: str, tick: int) -> None:
    """A tick of a world with images is five seconds long."""
    fleet = ImageFleet(orders=a_follower("orders", "", controllers=3))
    world = fleet.worlds["orders"]
    image = fleet.publish(security="critical", reason="CVE-2026-1")
    fleet.watch(tick)
    DEATHS[who](world, tick)
    fleet.run(until=lambda f: f.are_on(image, "orders"), ticks=400)
    world.converge(ticks=200)


def _running(world: World) -> list[str]:
    return sorted(k for k, vm in world.machines.vms.items() if vm.alive and vm.process and vm.process.up)


@pytest.mark.parametrize("plan", PLANS)
def test_a_plan_ends_well_though_one_dies_in_it(plan: str) -> None:
    assert dies_at_each_moment(plan, stride=STRIDE, first=1 + len(plan) % 17)  # no plan is shorter


@pytest.mark.parametrize(("who", "tick"), [("process", 9), ("agent", 21)])
def test_a_roll_to_an_image_ends_well_though_one_dies_in_it(who: str, tick: int) -> None:
    dies_in_a_roll_to_an_image(who, tick)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_roll_to_an_image_ends_well_whenever_one_dies_in_it() -> None:
    cases = [(who, tick) for who in DEATHS for tick in range(1, 60)]
    sweep("dies_in_a_roll_to_an_image(who, tick)", cases, lambda case: dies_in_a_roll_to_an_image(*case))


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("plan", PLANS)
def test_a_plan_ends_well_whenever_one_dies_in_it(plan: str, seed: int) -> None:
    print(f"\n{plan}, seed {seed}: {dies_at_each_moment(plan, seed=seed)} ends")


def test_an_end_that_breaks_a_property_is_told_by_what_plays_it_again() -> None:
    """A fork that failed unheard would pass for an end that was well."""

    def breaks() -> None:
        raise Violation("two controllers of one id")

    assert failure_of(breaks) == "Violation: two controllers of one id"
    assert failure_of(partial(os._exit, 3)) == "its process ended with 768"
    assert failure_of(lambda: None) == ""
