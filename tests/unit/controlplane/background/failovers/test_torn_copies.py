"""Behind an unplanned failover of a warm pair: how much was copied, what the old primary alone has, and where the copy
back to it goes on."""

from dataclasses import replace

import pytest

from controlplane.kafka.pair_copies.log_edge import LogRecord
from events import failover_facts as facts
from events.failover_facts import TopicEnds
from tests.unit.controlplane.background.failovers.cold_pair import EU, US
from tests.unit.controlplane.background.failovers.test_copies import COPIED, FIRST, SECOND, Watched, as_stored

FENCED = (
    facts.StandbySeeded("lag 0.1 s"),
    facts.FailoverRequested("f1", False, "its region is gone"),
    facts.StandbyReady("f1", ""),
    facts.NamesFlipRequested("f1", US),
    facts.NamesFlipped("f1", US),
    facts.DoorCloseRequested("f1", EU, 2),
    facts.DoorClosed(EU, 2, "certified", ""),
)
PROMOTED = (facts.PromotionRequested("f1", US, 3), facts.DoorOpened(US, 3), facts.PairPromoted("f1"))


def lost(*, copied: int = 10, records: int = 10, committed: int = 10) -> Watched:
    """EU had so many records and is gone; so many of them are on US, which is the primary now, and has five more."""
    world = Watched(*COPIED)
    world.write(world.eu, records)
    world.write(world.us, copied)
    world.commits(committed)
    world.eu.is_silent = True
    world.tell(*FENCED)
    assert world.looks(0.5).ends is None, "it is copied still"
    world.tell(facts.ReplicatorStopRequested("f1"))
    assert world.looks(0.5).ends is None, "nobody says that it has ended"
    world.ended()
    row = world.looks(0.5)
    assert (row.ends, row.problem) == ({"orders": TopicEnds(world.us.ids["orders"], (committed, 0), (copied, 0))}, "")
    stopped = facts.ReplicatorStopped("f1", "", row.ends or {})
    assert as_stored(stopped) == stopped
    world.tell(stopped, *PROMOTED)
    world.write(world.us, 5, at_ms=10)
    world.ended()
    return world


def test_nothing_is_known_while_the_old_primary_is_away() -> None:
    world = lost()
    row = world.looks()
    assert (row.only_there, row.seeds) == (None, None)
    assert "no broker answered" in row.problem


@pytest.mark.parametrize("committed", [10, 7])
def test_an_old_primary_whose_records_were_all_copied_is_copied_to_from_where_they_end(committed: int) -> None:
    """Whether MirrorMaker had come to write that down or not."""
    world = lost(committed=committed)
    world.eu.is_silent = False
    assert world.looks().only_there == {}
    world.tell(facts.DivergenceJudged("f1", {}))
    assert world.looks().seeds == {"orders-0": 10}


def test_records_that_the_old_primary_alone_has_are_counted_and_nothing_is_copied_to_it() -> None:
    world = lost(copied=7, committed=6)
    world.eu.is_silent = False
    assert world.looks().only_there == {"orders-0": 4}, "at most: one more was copied than is written down"
    world.tell(facts.DivergenceJudged("f1", {"orders-0": 4}))
    assert world.looks().seeds is None


def test_a_record_that_its_producer_sent_again_to_the_new_primary_proves_nothing() -> None:
    """Its last one, which nobody had answered, is on both, and the two before it are not."""
    world = lost(copied=7, committed=7)
    last = world.eu.logs[FIRST].records[9]
    world.us.logs[FIRST].append(last)
    world.eu.is_silent = False
    assert world.looks().only_there == {"orders-0": 3}


def test_an_old_primary_that_lost_its_own_last_records_has_nothing_that_the_new_one_has_not() -> None:
    world = lost()
    log = world.eu.logs[FIRST]
    log.end, log.records = 8, {o: r for o, r in log.records.items() if o < 8}
    world.eu.is_silent = False
    assert world.looks().only_there == {}
    world.tell(facts.DivergenceJudged("f1", {}))
    assert world.looks().seeds == {"orders-0": 8}


def test_an_old_primary_that_comes_back_with_empty_disks_is_copied_to_from_the_beginning() -> None:
    world = lost()
    world.eu.delete_topic("orders")
    world.eu.create_topic("orders", 2)
    world.eu.is_silent = False
    assert world.looks().only_there == {}
    world.tell(facts.DivergenceJudged("f1", {}))
    assert world.looks().seeds == {}


def test_what_retention_took_of_the_old_primary_is_nobodys_to_miss() -> None:
    world = lost(copied=7, committed=7)
    world.eu.logs[FIRST].trim(10)
    world.eu.is_silent = False
    assert world.looks().only_there == {}
    world.tell(facts.DivergenceJudged("f1", {}))
    assert world.looks().seeds == {"orders-0": 7}


def test_a_topic_that_was_made_anew_on_the_new_primary_has_none_of_the_old_records() -> None:
    world = lost()
    world.us.delete_topic("orders")
    world.us.create_topic("orders", 2)
    world.eu.is_silent = False
    assert world.looks().only_there == {"orders-0": 1}


def test_where_the_copy_ended_has_to_be_written_down() -> None:
    world = Watched(*COPIED)
    world.write(world.eu)
    world.tell(*FENCED, facts.ReplicatorStopRequested("f1"), facts.ReplicatorStopped("f1", ""), *PROMOTED)
    row = world.looks()
    assert row.only_there is None
    assert "how much it had copied when it took over is not written down" in row.problem


def test_a_partition_that_nobody_wrote_to_is_the_same_on_both() -> None:
    world = lost()
    world.eu.is_silent = False
    world.us.logs[SECOND].append(LogRecord(0, 10, b"k", b"new"))
    assert world.looks().only_there == {}
    world.tell(facts.DivergenceJudged("f1", {}))
    assert "orders-1" not in (world.looks().seeds or {}), "from its beginning"


def test_a_pair_without_topics_is_led_over_and_back_without_a_wait() -> None:
    world = Watched(topics=())
    world.views[EU] = replace(world.views[EU], topics=replace(world.views[EU].topics, by_name={}))
    world.ended()
    assert world.looks().seeds == {}, "there is nothing to copy, and it begins"
    world.tell(*COPIED, *FENCED, facts.ReplicatorStopRequested("f1"))
    world.ended()
    assert world.looks(0.5).ends == {}
    world.tell(facts.ReplicatorStopped("f1", ""), *PROMOTED)
    world.ended()
    assert world.looks().only_there == {}
    world.tell(facts.DivergenceJudged("f1", {}))
    assert world.looks().seeds == {}
