"""Progress of a roll: what is in flight, what is news, and the tree of what is left."""

import io

import pytest

from controlplane.api.schemas import instances as instance_api
from controlplane.cli.progress import RollProgress, batch_words, in_flight, news, track
from controlplane.cli.status_tree import stage_in_hand
from controlplane.cli.terminal import console
from tests.unit.controlplane.cli.cli_world import FakeTime, detail, instance, rolling, step

CONTROLLER = ["surge", "stop old", "hand over volume and address", "catch up", "retire old"]
REMOVE = ["drain", "linger", "fence", "retire"]


def plain() -> tuple[RollProgress, io.StringIO, FakeTime]:
    stream, time = io.StringIO(), FakeTime()
    on = console(stream, {}, colour=False, is_terminal=False)
    return RollProgress(on, animated=False, monotonic=time.monotonic), stream, time


def test_in_flight_is_what_is_not_at_rest() -> None:
    phases = ["joined", "draining", "retired", "launched", "failed"]
    seen = [instance(f"brokers-a-{index}.g1", phase) for index, phase in enumerate(phases)]
    lost = instance("brokers-b-0.g1", lost=True)
    assert [i.phase for i in in_flight([*seen, lost])] == ["draining", "launched", "failed", "joined"]


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (instance("brokers-a-0.g1", "launched"), "requested > [launched] > joined"),
        (instance("brokers-a-0.g1", "lingering"), "draining > [lingering] > fencing > fenced > retiring"),
        (instance("controllers-a-0.g1", "released"), "fencing > fenced > [released] > retiring"),
        (instance("brokers-a-0.g1", "failed"), "failed"),
    ],
)
def test_the_phase_an_instance_is_in_is_marked_without_colour(seen: instance_api.InstanceOut, words: str) -> None:
    assert track(seen).plain == words


def test_the_first_look_tells_what_is_in_flight_and_the_next_only_what_changed() -> None:
    first = list(news(None, rolling()))
    assert "brokers-a-0.g1 (broker 1000): draining" in first
    assert not [line for line in first if "brokers-b-0" in line]
    assert list(news(rolling(), rolling())) == []


def test_a_new_instance_names_what_it_replaces_and_one_that_left_is_retired() -> None:
    before = detail()
    now = rolling(instances=[instance("brokers-a-0.g2", "requested", replaces="brokers-a-0.g1")], drain=None)
    told = list(news(before, now))
    assert "brokers-a-0.g2 (broker 1001): requested, replaces brokers-a-0.g1" in told
    assert "brokers-b-0.g1: retired" in told


def test_a_lost_vm_is_told_once() -> None:
    lost = detail(instances=[instance("brokers-a-0.g1", lost=True)])
    whole = detail(instances=[instance("brokers-a-0.g1")])
    assert [line for line in news(whole, lost) if "VM is gone" in line]
    assert not list(news(lost, lost))


def test_a_batch_that_begins_is_told() -> None:
    drain = rolling().drain
    assert drain is not None
    later = rolling(drain=drain.model_copy(update={"batch": 2}))
    assert list(news(rolling(), later)) == [
        "drain of broker 1000 (brokers-a-0.g1): batch 3 of 5, 36 moves, 12.0 MiB, planned by spark"
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"engine": ""}, "being planned, round 1"),
        ({"batch": -1}, "5 batches, 36 moves, 12.0 MiB, planned by spark"),
        ({"round": 3}, "batch 2 of 5, 36 moves, 12.0 MiB, planned by spark, round 3"),
    ],
)
def test_a_drain_in_words(changes: dict[str, object], words: str) -> None:
    drain = rolling().drain
    assert drain is not None
    assert batch_words(drain.model_copy(update=changes)) == words


def test_plain_lines_carry_the_time_since_the_beginning() -> None:
    progress, stream, time = plain()
    with progress:
        progress.say("declared")
        time.sleep(65)
        progress.say("done")
    assert stream.getvalue() == "[        0 s] declared\n[  1 min 5 s] done\n"


def test_the_live_picture_shows_sentence_steps_drain_and_each_instance_in_flight() -> None:
    stream, time = io.StringIO(), FakeTime()
    on = console(stream, {"COLUMNS": "120"}, colour=False, is_terminal=True)
    with RollProgress(on, animated=True, monotonic=time.monotonic) as progress:
        progress.show(rolling())
        progress.show(rolling(pending=[step("brokers-b-0")]))
    told = stream.getvalue()
    assert "drain of brokers-a-0.g1: batch 2 of 5, 12 moves left" in told
    assert "1 of 2 steps done" in told
    assert "brokers-a-0.g1  broker 1000  [draining] > lingering" in told


def test_after_a_finished_roll_the_next_one_counts_anew() -> None:
    stream = io.StringIO()
    on = console(stream, {"COLUMNS": "120"}, colour=False, is_terminal=True)
    with RollProgress(on, animated=True, monotonic=FakeTime().monotonic) as progress:
        for pending in ([step(f"brokers-a-{n}") for n in range(6)], [], [step("brokers-a-0")]):
            progress.show(rolling(pending=pending))
    assert "0 of 1 step done" in stream.getvalue()


@pytest.mark.parametrize(
    ("change", "how", "phases", "stage"),
    [
        ("create", ["create", "join"], [], -1),
        ("create", ["create", "join"], ["requested"], 0),
        ("create", ["create", "join"], ["launched"], 1),
        ("replace", step("brokers-a-0").how, ["joined"], -1),
        ("replace", step("brokers-a-0").how, ["joined", "requested"], 0),
        ("replace", step("brokers-a-0").how, ["joined", "launched"], 1),
        ("replace", step("brokers-a-0").how, ["joined", "joined"], 2),
        ("replace", step("brokers-a-0").how, ["draining", "joined"], 2),
        ("replace", step("brokers-a-0").how, ["lingering", "joined"], 3),
        ("replace", step("brokers-a-0").how, ["fencing", "joined"], 4),
        ("replace", step("brokers-a-0").how, ["retiring", "joined"], 5),
        ("replace", CONTROLLER, ["joined", "requested"], 0),
        ("replace", CONTROLLER, ["fencing", "launched"], 1),
        ("replace", CONTROLLER, ["fenced", "launched"], 2),
        ("replace", CONTROLLER, ["released", "launched"], 2),
        ("replace", CONTROLLER, ["retiring", "joined"], 4),
        ("remove", REMOVE, ["joined"], -1),
        ("remove", REMOVE, ["draining"], 0),
        ("remove", REMOVE, ["fenced"], 3),
        ("keep", ["soak", "raise feature levels"], [], -1),
        ("replace", ["something new"], ["draining"], -1),
    ],
)
def test_the_stage_a_node_is_at(change: str, how: list[str], phases: list[str], stage: int) -> None:
    mine = [instance(f"brokers-a-0.g{n}", phase) for n, phase in enumerate(phases, 1)]
    assert stage_in_hand(step("brokers-a-0", change, how=how), mine) == stage
