"""The stories of labels that become cost tags, told and compared as those of rolls are (`test_golden_rolls`)."""

from collections.abc import Callable

import pytest

from controlplane.cluster.folds.tagging import tags_on
from events.spec.model import KafkaClusterDocument
from providers.errors import AuthFailed
from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.world import World


def _labelled(*, version: str = "4.1.1", **labels: str) -> KafkaClusterDocument:
    """On a cloud that has labels: which one it is makes no difference to this world otherwise."""
    document = a_document(version=version)
    pools = tuple(
        p.model_copy(update={"place": p.place.model_copy(update={"cloud": "hetzner"})}) for p in document.spec.pools
    )
    return document.model_copy(
        update={
            "metadata": document.metadata.model_copy(update={"labels": labels}),
            "spec": document.spec.model_copy(update={"pools": pools}),
        }
    )


def _restarted(world: World, *listed: str) -> None:
    """The server starts anew with another list in its settings."""
    world.cost_tags = listed
    world.start_server()
    world.disturbed()
    world.calm.quiet_ticks = 0


def _tagged(world: World, **tags: str) -> None:
    """Lets it work until all carry exactly these, and sees it at rest after."""
    world.run(until=lambda w: not w.view().intents and _tags(w) == [tags] * 6, ticks=200)
    world.settle()


def _tags(world: World) -> list[dict[str, str]]:
    return [dict(tags_on(world.view(), i).tags) for i in world.view().alive()]


def _vms(world: World) -> set[str]:
    return {i.key for i in world.view().alive()}


def labels_become_cost_tags_one_node_after_the_other(world: World) -> None:
    """A cluster from before the list, then the list, then another value: nothing rolls, nobody is started anew."""
    world.declare(_labelled(team="payments", note="for people"))
    world.converge()
    assert _tags(world) == [{}] * 6
    before, starts = _vms(world), {i.key: i.start.count for i in world.view().alive()}
    _restarted(world, "team")
    _tagged(world, team="payments")
    world.declare(_labelled(team="billing"))
    world.converge(ticks=120)
    assert _tags(world) == [{"team": "billing"}] * 6
    assert (_vms(world), {i.key: i.start.count for i in world.view().alive()}) == (before, starts)
    assert not [r for r in world.history() if r.type in ("drain.requested", "restart.requested")]


def new_vms_have_their_cost_tags_from_birth_and_old_ones_go_first(world: World) -> None:
    """A version and a label at once: brokers are made anew with it, controllers take theirs over and get it after."""
    _restarted(world, "team")
    world.declare(_labelled(team="payments"))
    world.converge()
    assert _tags(world) == [{"team": "payments"}] * 6
    assert not [r for r in world.history() if r.type.startswith("tagging")]
    world.declare(_labelled(version="4.2.0", team="billing"))
    world.converge(ticks=900)
    assert _tags(world) == [{"team": "billing"}] * 6


@pytest.mark.parametrize(
    "scenario",
    [labels_become_cost_tags_one_node_after_the_other, new_vms_have_their_cost_tags_from_birth_and_old_ones_go_first],
)
def test_the_story_is_the_one_on_record(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)


def test_a_run_that_may_not_tag_keeps_nothing_else_of_the_cluster_waiting() -> None:
    """No permission to tag: a lost VM is replaced all the same, and what is missing is said."""
    world = World()
    world.declare(_labelled(team="payments"))
    world.converge()
    _restarted(world, "team")
    world.refuse_runs = AuthFailed("hetzner/default/local-1: the token may only read")
    world.run(until=lambda w: "CostTagsMissing" in {c.reason for c in w.view().conditions.values()}, ticks=300)
    assert "the token may only read" in world.sentence()
    world.refuse_runs = None
    lost = min(i.key for i in world.view().brokers())
    world.machines.power_cut(lost)
    world.run(until=lambda w: lost not in _vms(w), ticks=900)
    assert world.view().instances[lost].lost or lost not in _vms(world)


def test_a_run_that_dies_half_way_is_done_again() -> None:
    world = World()
    world.declare(_labelled(team="payments"))
    world.converge()
    _restarted(world, "team")
    world.interrupt_runs = 1
    _tagged(world, team="payments")
