"""Rolls as the events have them: told from whole simulated stories, so that the fold meets what really happens."""

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.api.rolls import rolls_of, rolls_out
from controlplane.api.schemas import nodes as node_api
from controlplane.commands.previews.plan import pending_rollout
from events import facts
from planner.rollout.steps import RolloutPlan
from tests.builders import a_document
from tests.sim.asking import ask_for_evacuation, ask_for_replacement, ask_for_restart
from tests.sim.world import World
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_orders

NOTHING = RolloutPlan((), ())


@pytest.fixture
def world() -> World:
    world = World()
    world.declare(a_document(brokers=6))
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    return world


def _rolls(world: World) -> list[node_api.RollOut]:
    view = world.view()
    pending = pending_rollout(view, world.kafka.snapshot())
    return rolls_out(rolls_of(world.history()), pending, now=world.clock(), limit=20)


def _steps(roll: node_api.RollOut) -> dict[str, tuple[str, str]]:
    return {s.node: (s.change, s.state) for s in roll.steps}


def test_every_roll_is_told_newest_first_with_who_asked(world: World) -> None:
    ask_for_restart(world)
    world.converge()
    ask_for_replacement(world, "brokers-b-0.g1", "slow disk")
    world.converge()
    ask_for_evacuation(world, "brokers-a-0.g1", "noises")
    world.converge()
    evacuated, replaced, restarted, born = _rolls(world)
    assert {r.state for r in (evacuated, replaced, restarted, born)} == {"done"}
    assert _steps(evacuated) == {"brokers-a-0": ("evacuate", "done")}
    assert _steps(replaced) == {"brokers-b-0": ("replace", "done")}
    assert set(_steps(restarted).values()) == {("restart", "done")}
    assert len(restarted.steps) == 9
    assert set(_steps(born).values()) == {("create", "done")}
    assert replaced.reason == "brokers-b-0: asked by anna: slow disk"
    assert all(r.began_at and r.ended_at and r.asked_by == "person:test" for r in (evacuated, replaced, restarted))


def test_the_one_in_hand_shows_what_is_done_what_runs_and_what_waits_for_how_long(world: World) -> None:
    ask_for_restart(world)
    done = 2
    world.run(
        until=lambda w: bool(w.view().settings.restarts) and len(w.view().requests.rolling_restart.left) == 9 - done,
        ticks=60,
    )  # type: ignore[union-attr]
    roll = _rolls(world)[0]
    states = [s.state for s in roll.steps]
    assert (roll.state, roll.done, roll.ended_at) == ("running", done, None)
    assert (states.count("done"), states.count("active"), states.count("waiting")) == (done, 1, 6)
    active = next(s for s in roll.steps if s.state == "active")
    assert active.since is not None
    assert [s.name for s in active.stages] == ["stop"]
    waiting = [s for s in roll.steps if s.state == "waiting"]
    assert all(s.left_s and s.phase.startswith("restart") and not s.parallel for s in waiting)
    assert {s.reason for s in waiting} == {"asked by anna: new certificates"}


def test_what_was_asked_and_has_not_begun_waits(world: World) -> None:
    world.person(facts.ClusterPaused("lunch", None))
    ask_for_replacement(world, "brokers-b-0.g1", "slow disk")
    for _ in range(3):
        world.tick()
    waiting = _rolls(world)[0]
    assert (waiting.state, waiting.began_at) == ("waiting", None)
    assert _steps(waiting) == {"brokers-b-0": ("replace", "waiting")}


def test_an_aborted_roll_and_one_that_another_took_the_place_of_say_so(world: World) -> None:
    ask_for_restart(world)
    world.run(until=lambda w: bool(w.view().settings.restarts), ticks=20)
    world.declare(a_document(brokers=6, version="4.2.0"))
    world.run(until=lambda w: w.view().roll.recycling == 2, ticks=60)
    world.person(facts.RecycleAborted("second thoughts"))
    world.tick()
    aborted, superseded, _ = rolls_out(rolls_of(world.history()), NOTHING, now=world.clock(), limit=20)
    assert (aborted.state, superseded.state) == ("aborted", "superseded")
    assert (aborted.generation, superseded.generation) == (2, 1)


def test_a_cluster_that_was_never_rolled_has_none() -> None:
    assert rolls_out(rolls_of([]), NOTHING, now=World().clock(), limit=5) == []


def test_a_roll_tells_how_many_vms_it_changed_and_what_it_moved(world: World) -> None:
    world.declare(a_document(brokers=6, version="4.2.0"))
    world.converge()
    done = _rolls(world)[0]
    assert done.state == "done"
    assert done.replaced == len(done.steps) > 0
    begun = [e for e in world.history() if e.type == "drain.batch_started"]
    assert done.moved_bytes == sum(e.data["bytes"] for e in begun) > 0
    assert _rolls(world)[-1].moved_bytes == 0, "the first one found nothing to move"


def test_each_row_of_the_timeline_says_about_how_long_is_left_and_one_that_is_done_says_nothing() -> None:
    house = house_with_orders()
    text = house.browser("ada", Binding("", Role.VIEWER, "*")).get("/clusters/orders/rollout").text
    rows = [part.split("</tr>")[0] for part in text.split("<tbody>")[1].split("<tr")[1:]]
    waiting = [row for row in rows if "controllers-" in row]
    assert waiting
    assert all(" s</td>" in row or " min" in row for row in waiting)
