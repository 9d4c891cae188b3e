"""Configurations that Kafka refuses, at a founding and in a roll, told as the other stories are (`test_golden_rolls`).

Case 3 of issue 27. A rule between two settings is Kafka's own: it says it when it is formatted, or started.
"""

from collections.abc import Callable

import pytest

from events import facts
from events.spec.model import KafkaClusterDocument
from tests.builders import a_zookeeper_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sequences.settingstories import born, told, with_settings
from tests.sim.world import World

_NAME, _BAD, _GOOD = "replica.fetch.wait.max.ms", "replica.fetch.wait.max.ms: 40000", "replica.fetch.wait.max.ms: 400"
_PAST_THE_DEADLINE = 300
"""Ticks of a second: the deadline of these specs is 120 s."""


def _kafka_refuses(world: World, *keys: str) -> None:
    world.machines.refused, world.machines.refused_on = {_NAME: "40000"}, set(keys)


def _generations(world: World) -> set[int]:
    return {vm.generation for vm in (*world.machines.vms.values(), *world.machines.buried.values())}


def _is_refused(world: World) -> bool:
    blocked = world.view().conditions.get("Blocked")
    return blocked is not None and blocked.status and blocked.reason == "ConfigurationRefused"


def _stays_refused(world: World, ticks: int = _PAST_THE_DEADLINE) -> None:
    """Kafka's words, with the setting, and what next; for as long as nobody does anything."""
    world.run(until=_is_refused, ticks=60)
    for _ in range(ticks):
        world.tick()
    blocked, converged = (world.view().conditions[name] for name in ("Blocked", "Converged"))
    assert blocked.reason == "ConfigurationRefused"
    assert blocked.message.count(f"requirement failed: {_NAME}") == 1
    assert "Next: kedge apply" in blocked.message
    assert not converged.status


def _refused_and_mended(world: World, document: Callable[[str], KafkaClusterDocument]) -> None:
    _kafka_refuses(world)
    world.declare(document(_BAD))
    _stays_refused(world)
    disks = sorted(world.machines.volumes)
    world.declare(document(_GOOD))
    world.run(until=lambda w: not _is_refused(w), ticks=10)
    world.converge(ticks=200)
    assert _generations(world) == {1}, "the very VMs"
    assert sorted(world.machines.volumes) == disks
    assert told(world, _NAME) == {"400"}


def a_founding_with_one_controller_is_refused_and_mended(world: World) -> None:
    _refused_and_mended(world, lambda config: with_settings(config, controllers=1, brokers=1))
    assert [r.type for r in world.history()].count("quorum.founded") == 1


def a_founding_with_three_controllers_is_refused_and_mended(world: World) -> None:
    _refused_and_mended(world, with_settings)
    assert [r.type for r in world.history()].count("quorum.founded") == 1


def brokers_of_an_ensemble_are_refused_and_mended(world: World) -> None:
    """ZooKeeper's servers are told no settings of Kafka: only the brokers are refused."""

    def document(config: str) -> KafkaClusterDocument:
        return a_zookeeper_document(config=f", config: {{{config}}}")

    _kafka_refuses(world)
    world.declare(document(_BAD))
    _stays_refused(world)
    world.declare(document(_GOOD))
    world.converge(ticks=200)
    assert _generations(world) == {1}
    assert {i.settings.get(_NAME) for i in world.view().brokers()} == {"400"}


def one_broker_of_a_new_cluster_is_refused(world: World) -> None:
    """The others are in, and none of the controllers is in its way."""
    _kafka_refuses(world, "brokers-b-0.g1")
    world.declare(with_settings(_BAD))
    _stays_refused(world)
    assert {i.key for i in world.view().alive() if i.phase == "launched"} == {"brokers-b-0.g1"}
    world.declare(with_settings(_GOOD))
    world.converge(ticks=300)
    assert _generations(world) == {1}


def one_founder_is_formatted_and_two_are_refused(world: World) -> None:
    _kafka_refuses(world, "controllers-b-0.g1", "controllers-c-0.g1")
    world.declare(with_settings(_BAD))
    _stays_refused(world)
    world.declare(with_settings(_GOOD))
    world.converge(ticks=300)
    assert _generations(world) == {1}
    assert "volume.lost" not in {r.type for r in world.history()}


def two_founders_lead_and_the_third_is_refused(world: World) -> None:
    _kafka_refuses(world, "controllers-c-0.g1")
    world.declare(with_settings(_BAD))
    _stays_refused(world)
    world.declare(with_settings(_GOOD))
    world.converge(ticks=300)
    assert _generations(world) == {1}
    assert "volume.lost" not in {r.type for r in world.history()}


def a_founding_is_mended_by_another_machine(world: World) -> None:
    """What the spec asks for beside needs another VM: the next ones take over disks that nobody ever wrote to."""
    _kafka_refuses(world)
    world.declare(with_settings(_BAD, controllers=1, brokers=1))
    _stays_refused(world, ticks=10)
    world.declare(with_settings(_GOOD, version="4.2.0", controllers=1, brokers=1))
    world.converge(ticks=400)
    assert world.view().roll.join_failures == 0
    assert sorted(k for k in world.machines.volumes if k.startswith("controllers")) == ["controllers-a-0.data.v1"]
    assert _generations(world) == {1, 2}


def three_refused_founders_are_mended_by_another_version(world: World) -> None:
    _kafka_refuses(world)
    world.declare(with_settings(_BAD))
    _stays_refused(world, ticks=10)
    world.declare(with_settings(_GOOD, version="4.2.0"))
    world.converge(ticks=600)
    assert world.view().roll.join_failures == 0
    assert "volume.lost" not in {r.type for r in world.history()}


def a_second_rule_is_told_once_the_first_is_kept(world: World) -> None:
    """Kafka names one setting at a time."""
    world.machines.refused = {_NAME: "40000", "num.io.threads": "0"}
    world.declare(with_settings(f"{_BAD}, num.io.threads: 8", controllers=1, brokers=1))
    _stays_refused(world, ticks=5)
    world.machines.refused = {"num.io.threads": "9"}
    world.declare(with_settings(f"{_GOOD}, num.io.threads: 9", controllers=1, brokers=1))
    world.run(until=lambda w: "num.io.threads" in w.view().conditions["Blocked"].message, ticks=30)
    world.declare(with_settings(f"{_GOOD}, num.io.threads: 8", controllers=1, brokers=1))
    world.converge(ticks=200)
    assert _generations(world) == {1}


def a_roll_to_a_refused_configuration_stops_at_its_first_vm(world: World) -> None:
    born(world, _GOOD)
    _kafka_refuses(world)
    world.declare(with_settings(_BAD, machine="medium"))
    world.run(until=_is_refused, ticks=200)
    made = set(world.machines.vms)
    _stays_refused(world)
    assert set(world.machines.vms) == made
    assert sorted(k for k in made if k.endswith(".g2")) == ["brokers-a-0.g2"]
    assert all(world.kafka.serves(b) for b in (1000, 1001, 1002))
    world.declare(with_settings("replica.fetch.wait.max.ms: 600", machine="medium"))
    world.converge(ticks=900)
    assert _generations(world) == {1, 2}, "controllers stay, and each broker was replaced once"


def a_broker_is_lost_while_a_roll_is_refused(world: World) -> None:
    """It gets a VM with the settings that are in force: that nothing else begins keeps nobody from being mended."""
    born(world, _GOOD)
    _kafka_refuses(world)
    world.declare(with_settings(_BAD, machine="medium"))
    world.run(until=_is_refused, ticks=200)
    world.machines.power_cut("brokers-c-0.g1")
    world.run(until=lambda w: _phase(w, "brokers-c-0.g2") == "joined", ticks=900)
    assert world.view().instances["brokers-c-0.g2"].settings[_NAME] == "400"
    world.run(until=_is_refused, ticks=300)
    world.declare(with_settings("replica.fetch.wait.max.ms: 600", machine="medium"))
    world.converge(ticks=900)


def a_refused_roll_is_aborted(world: World) -> None:
    born(world, _GOOD)
    _kafka_refuses(world)
    world.declare(with_settings(_BAD, machine="medium"))
    world.run(until=_is_refused, ticks=200)
    world.person(facts.RecycleAborted("the wrong file"))
    world.hold(ticks=300)
    assert {i.planned.generation for i in world.view().brokers()} == {1}
    assert world.view().roll.join_failures == 0


def _phase(world: World, key: str) -> str:
    instance = world.view().instances.get(key)
    return instance.phase if instance is not None else ""


@pytest.mark.parametrize(
    "scenario",
    [
        a_founding_with_one_controller_is_refused_and_mended,
        a_founding_with_three_controllers_is_refused_and_mended,
        brokers_of_an_ensemble_are_refused_and_mended,
        one_broker_of_a_new_cluster_is_refused,
        one_founder_is_formatted_and_two_are_refused,
        two_founders_lead_and_the_third_is_refused,
        a_founding_is_mended_by_another_machine,
        three_refused_founders_are_mended_by_another_version,
        a_second_rule_is_told_once_the_first_is_kept,
        a_roll_to_a_refused_configuration_stops_at_its_first_vm,
        a_broker_is_lost_while_a_roll_is_refused,
        a_refused_roll_is_aborted,
    ],
    ids=lambda s: s.__name__,
)
def test_the_story_of_a_refusal_is_told_as_recorded(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)
