"""Stories of settings that are no whole numbers: words, booleans, fractions, lists. Told and compared as the others
(`test_golden_settings`)."""

from collections.abc import Callable

import pytest

from events import facts
from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sequences.settingstories import born, running, with_settings
from tests.sim.world import World

LIVE = {
    "compression.type": "lz4",
    "log.cleaner.io.max.bytes.per.second": "1000000",
    "log.cleaner.min.cleanable.ratio": "0.250",
    "log.cleanup.policy": "compact, delete",
    "log.preallocate": "true",
    "unclean.leader.election.enable": "true",
}
"""What a person writes; before, each has Kafka's default."""

PRINTED = LIVE | {
    "log.cleaner.io.max.bytes.per.second": "1000000.0",
    "log.cleaner.min.cleanable.ratio": "0.25",
    "log.cleanup.policy": "compact,delete",
}
"""What brokers print of that."""


def _written(values: dict[str, str]) -> str:
    return ", ".join(f'{name}: "{value}"' for name, value in values.items())


def settings_of_every_type_changed_live(world: World) -> None:
    """On one broker first, watched, then rack by rack; then they leave the spec again. Nothing starts anew."""
    world.declare(a_document())
    world.converge()
    starts = world.machines.starts
    world.declare(with_settings(_written(LIVE)))
    world.converge(ticks=40)
    assert {name: running(world, name) for name in LIVE} == {name: [v] * 3 for name, v in PRINTED.items()}
    world.declare(a_document())
    world.converge(ticks=40)
    assert running(world, "compression.type") == ["producer"] * 3
    assert running(world, "log.cleaner.io.max.bytes.per.second") == ["1.7976931348623157E308"] * 3
    assert world.machines.starts == starts
    assert not any(world.kafka.settings.own.values())


def word_changed_by_hand(world: World) -> None:
    """Of one broker, and of the cluster: put right. The same value in another form is left."""
    born(world, 'compression.type: lz4, log.cleaner.min.cleanable.ratio: "0.50"')
    settings = world.kafka.settings
    settings.by_hand(1001, "compression.type", "zstd")
    world.kafka.alter_cluster_config({"log.cleaner.min.cleanable.ratio": "0.9"})
    world.disturbed()
    world.run(until=lambda w: w.view().settings.change is not None, ticks=100)
    world.converge(ticks=30)
    assert running(world, "compression.type") == ["lz4"] * 3
    assert running(world, "log.cleaner.min.cleanable.ratio") == ["0.5"] * 3
    world.kafka.alter_cluster_config({"log.cleaner.min.cleanable.ratio": "5e-1"})
    world.disturbed()
    for _ in range(70):
        world.tick()
    assert settings.defaults["log.cleaner.min.cleanable.ratio"] == "5e-1"


def word_refused_by_the_second_broker(world: World) -> None:
    """What it refuses is told, the first one has it; another word takes it back everywhere."""
    born(world, "compression.type: lz4")
    world.kafka.settings.refuses[(1001, "compression.type", "zstd")] = "no library for it"
    world.declare(with_settings("compression.type: zstd"))
    for _ in range(20):
        world.tick()
    assert world.is_held()
    assert "no library for it" in world.view().conditions["Blocked"].message
    world.declare(with_settings("compression.type: gzip"))
    world.converge(ticks=40)
    assert running(world, "compression.type") == ["gzip"] * 3


def canary_lags_with_a_word(world: World) -> None:
    """The first one falls behind with it: nobody else is touched until it is back in sync."""
    born(world, "compression.type: lz4")
    world.declare(with_settings("compression.type: zstd", soak="60s"))
    world.run(until=lambda w: running(w, "compression.type") == ["zstd", "lz4", "lz4"], ticks=30)
    world.kafka.fall_behind(1000)
    for _ in range(120):
        world.tick()
    assert running(world, "compression.type") == ["zstd", "lz4", "lz4"]
    world.kafka.catch_up()
    world.person(facts.ClusterResumed("its disk was slow"))
    world.converge(ticks=200)


def pool_of_threads_without_a_thread(world: World) -> None:
    """Kafka starts the first thread of a pool only with the process: brokers are restarted for it."""
    born(world, "log.cleaner.threads: 0")
    world.declare(with_settings("log.cleaner.threads: 2"))
    world.converge(ticks=200)
    assert running(world, "log.cleaner.threads") == ["2"] * 3
    assert {i.start.count for i in world.view().brokers()} == {2}


SCENARIOS: tuple[Callable[[World], None], ...] = (
    settings_of_every_type_changed_live,
    word_changed_by_hand,
    word_refused_by_the_second_broker,
    canary_lags_with_a_word,
    pool_of_threads_without_a_thread,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_the_story_of_a_value_of_another_type_is_the_one_on_record(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)
