"""The stories of the quorum's voters, told and compared as those of rolls are (`test_golden_rolls`)."""

from collections.abc import Callable

import pytest

from controlplane.converger.situation.situation import LOSS_GRACE_S
from events import facts
from providers.handover import Handover
from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.asking import ask_for_replacement
from tests.sim.world import World


def _born(world: World, controllers: int = 3) -> None:
    world.declare(a_document(controllers=controllers))
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)


def _become(world: World, controllers: int, *, ticks: int = 400) -> None:
    world.declare(a_document(controllers=controllers))
    world.converge(ticks=ticks)
    assert len(world.kafka.voters()) == controllers


def _wait(world: World, seconds: float) -> None:
    until = world.seconds + seconds
    while world.seconds < until:
        world.tick()


def _types(world: World) -> list[str]:
    return [r.type for r in world.history() if r.type.startswith("voter.")]


def one_controller_becomes_three(world: World) -> None:
    """Both newcomers are ready before the first vote; then brokers learn of them, since one of three is too few."""
    _born(world, 1)
    _become(world, 3)
    assert _types(world) == ["voter.add_requested", "voter.added"] * 2
    assert {i.start.count for i in world.view().brokers()} == {2}


def three_controllers_become_five(world: World) -> None:
    """Brokers know of three of the five, which is enough: nobody is started anew."""
    _born(world)
    _become(world, 5)
    assert {i.start.count for i in world.view().alive()} == {1}


def five_controllers_become_three(world: World) -> None:
    """The newest leave, the leader last; both votes go before anybody stops."""
    _born(world, 5)
    _become(world, 3)
    assert {i.node for i in world.view().controllers()} == {"controllers-a-0", "controllers-b-0", "controllers-c-0"}
    assert {i.start.count for i in world.view().alive()} == {1}


def three_controllers_become_one(world: World) -> None:
    _born(world)
    _become(world, 1)


def controllers_come_back_under_their_ids(world: World) -> None:
    """A node that left and is wanted again gets its old id, and a new disk."""
    _born(world, 5)
    before = world.kafka.voters()
    _become(world, 3)
    _become(world, 5)
    after = world.kafka.voters()
    assert after.keys() == before.keys()
    assert sum(after[c] != before[c] for c in after) == 2


def controller_loses_its_disk(world: World) -> None:
    _born(world)
    before = world.kafka.voters()
    world.machines.lose_volume("controllers-b-0.g1")
    _wait(world, 10)
    world.converge()
    after = world.kafka.voters()
    assert [c for c in after if after[c] != before.get(c)] == [world.view().quorum.controller_ids["controllers-b-0"]]


def quorum_leader_loses_its_disk(world: World) -> None:
    _born(world)
    leader = world.kafka.snapshot().quorum.leader
    node = next(n for n, i in world.view().quorum.controller_ids.items() if i == leader)
    world.machines.lose_volume(f"{node}.g1")
    _wait(world, 10)
    world.converge()
    assert len(world.kafka.voters()) == 3


def disk_is_lost_where_the_old_vm_goes_first(world: World) -> None:
    world.machines.handover = Handover.DELETE_FIRST
    _born(world)
    world.machines.lose_volume("controllers-b-0.g1")
    _wait(world, 10)
    world.converge()
    assert len(world.kafka.voters()) == 3


def new_disk_is_lost_before_its_vote(world: World) -> None:
    """The successor dies before it is counted: what it had holds nothing, the next one begins with its own."""
    _born(world)
    world.machines.lose_volume("controllers-b-0.g1")
    world.run(until=lambda w: any(i.key == "controllers-b-0.g2" and i.bound for i in w.view().alive()), ticks=200)
    world.machines.power_cut("controllers-b-0.g2")
    _wait(world, LOSS_GRACE_S + 20)
    world.converge(ticks=900)
    assert [i.key for i in world.view().of_node("controllers-b-0")] == ["controllers-b-0.g3"]


def controller_gets_an_empty_disk_on_request(world: World) -> None:
    """It serves until its successor is there; then its directory leaves the quorum, and the new one gets the vote."""
    _born(world)
    before = world.kafka.voters()
    ask_for_replacement(world, "controllers-b-0.g1", "bad blocks", new_disk=True)
    world.converge()
    after = world.kafka.voters()
    assert sum(after[c] != before[c] for c in after) == 1


def only_controller_loses_its_disk(world: World) -> None:
    """It may have been the only copy: nothing is formatted, a person is asked."""
    _born(world, 1)
    world.machines.lose_volume("controllers-a-0.g1")
    _wait(world, 60)
    blocked = world.view().conditions["Blocked"]
    assert (blocked.status, blocked.reason) == (True, "MetadataLost")
    assert [i.key for i in world.view().controllers()] == ["controllers-a-0.g1"]


def controller_dies_while_others_get_votes(world: World) -> None:
    """No vote is given while one of three is gone; it gets its next VM first, though newcomers wait."""
    _born(world)
    world.declare(a_document(controllers=5))
    world.run(until=lambda w: any(i.phase == "launched" for i in w.view().controllers()), ticks=100)
    world.machines.power_cut("controllers-b-0.g1")
    _wait(world, LOSS_GRACE_S + 60)
    world.converge(ticks=600)
    assert len(world.kafka.voters()) == 5


def newcomer_dies_before_its_vote(world: World) -> None:
    _born(world)
    world.declare(a_document(controllers=5))
    world.run(until=lambda w: any(i.phase == "launched" for i in w.view().controllers()), ticks=100)
    world.machines.power_cut("controllers-b-1.g1")
    world.converge(ticks=900)
    assert len(world.kafka.voters()) == 5


def controller_dies_while_others_leave(world: World) -> None:
    """Whoever is gone leaves first where its node leaves; here it stays, and is mended before the next vote goes."""
    _born(world, 5)
    world.declare(a_document(controllers=3))
    world.run(until=lambda w: "voter.removed" in _types(w), ticks=100)
    world.machines.power_cut("controllers-b-0.g1")
    _wait(world, LOSS_GRACE_S + 60)
    world.converge(ticks=600)
    assert len(world.kafka.voters()) == 3


def surplus_controller_is_gone_already(world: World) -> None:
    _born(world, 5)
    world.machines.power_cut("controllers-b-1.g1")
    _wait(world, 5)
    world.declare(a_document(controllers=3))
    _wait(world, LOSS_GRACE_S + 20)
    world.converge(ticks=600)
    assert len(world.kafka.voters()) == 3


def spec_changes_its_mind_about_controllers(world: World) -> None:
    """Those on their way in get their votes first, and leave in order."""
    _born(world)
    world.declare(a_document(controllers=5))
    world.run(until=lambda w: any(i.phase == "launched" for i in w.view().controllers()), ticks=100)
    _become(world, 3)


def controllers_grow_with_a_version(world: World) -> None:
    _born(world)
    world.declare(a_document(controllers=5, version="4.2.0"))
    world.converge(ticks=1200)
    assert world.kafka.finalised["metadata.version"] == 29
    assert len(world.kafka.voters()) == 5


def controllers_that_left_stand_in_the_way_of_a_version(world: World) -> None:
    """They stay registered with 4.1.1, and Kafka asks them too: back for the upgrade, they come with 4.2.0."""
    _born(world, 5)
    _become(world, 3)
    world.declare(a_document(version="4.2.0"))
    world.run(until=lambda w: _blocked(w) == "ControllersRemembered", ticks=900)
    assert world.kafka.finalised["metadata.version"] == 27
    world.declare(a_document(version="4.2.0", controllers=5))
    world.converge(ticks=400)
    assert world.kafka.finalised["metadata.version"] == 29
    world.declare(a_document(version="4.2.0", controllers=3))
    world.converge(ticks=400)


def votes_are_paused(world: World) -> None:
    """What has begun to arrive arrives; nobody leaves before the resume."""
    _born(world, 5)
    world.person(facts.ClusterPaused("lunch", None))
    world.declare(a_document(controllers=3))
    _wait(world, 30)
    assert len(world.kafka.voters()) == 5
    world.person(facts.ClusterResumed("back"))
    world.converge()
    assert len(world.kafka.voters()) == 3


def somebody_adds_a_voter_by_hand(world: World) -> None:
    """A voter that is none of ours: nothing is changed before it is gone."""
    _born(world, 5)
    directory = world.kafka.add_controller(150, voter=False)
    _wait(world, 5)
    world.kafka.add_voter(150, directory, host="elsewhere", port=9093)
    world.declare(a_document(controllers=3))
    world.run(until=lambda w: _blocked(w) == "UnknownVoter", ticks=100)
    world.kafka.remove_voter(150, directory)
    world.converge()
    assert len(world.kafka.voters()) == 3


def only_controller_dies_in_a_drain(world: World) -> None:
    """The drain waits for metadata that nobody has before the controller is back: it must not keep it waiting."""
    _born(world, 1)
    world.declare(a_document(controllers=1, version="4.2.0"))
    world.run(until=lambda w: (d := w.view().moves.drain) is not None and d.progress.moving_at is not None, ticks=100)
    world.machines.power_cut("controllers-a-0.g1")
    world.converge(ticks=1500)
    assert world.kafka.voters_up()


def most_controllers_die_in_a_drain(world: World) -> None:
    """One after the other is made anew; the drain goes on as soon as they are a majority."""
    _born(world)
    world.declare(a_document(version="4.2.0"))
    world.run(until=lambda w: w.view().moves.drain is not None, ticks=100)
    for node in "ab":
        world.machines.power_cut(f"controllers-{node}-0.g1")
    world.converge(ticks=2000)
    assert len(world.kafka.voters_up()) == 3


def only_controller_dies_while_a_newcomer_fails(world: World) -> None:
    """Nobody can say that the newcomer holds nothing before the controller is back: it is kept, and waits."""
    _born(world, 1)
    world.machines.stillborn.add("brokers-a-0")
    world.declare(a_document(controllers=1, version="4.2.0"))
    world.run(until=lambda w: "brokers-a-0.g2" in w.view().instances, ticks=100)
    world.machines.power_cut("controllers-a-0.g1")
    world.converge(ticks=1500)
    assert world.kafka.voters_up()


def _blocked(world: World) -> str:
    condition = world.view().conditions.get("Blocked")
    return condition.reason if condition is not None and condition.status else ""


SCENARIOS = (
    one_controller_becomes_three,
    three_controllers_become_five,
    five_controllers_become_three,
    three_controllers_become_one,
    controllers_come_back_under_their_ids,
    controller_loses_its_disk,
    quorum_leader_loses_its_disk,
    disk_is_lost_where_the_old_vm_goes_first,
    new_disk_is_lost_before_its_vote,
    controller_gets_an_empty_disk_on_request,
    only_controller_loses_its_disk,
    controller_dies_while_others_get_votes,
    newcomer_dies_before_its_vote,
    controller_dies_while_others_leave,
    surplus_controller_is_gone_already,
    spec_changes_its_mind_about_controllers,
    controllers_grow_with_a_version,
    controllers_that_left_stand_in_the_way_of_a_version,
    votes_are_paused,
    somebody_adds_a_voter_by_hand,
    only_controller_dies_in_a_drain,
    most_controllers_die_in_a_drain,
    only_controller_dies_while_a_newcomer_fails,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_the_story_of_the_voters_is_the_one_on_record(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)
