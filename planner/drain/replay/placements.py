"""Rules about where replicas go and who is read: H1 targets, H2 racks, H3 in-sync copies, sources, the list itself."""

from collections.abc import Iterator

import numpy as np

from planner.drain.model.plan import Schedule
from planner.drain.model.state import NO_BROKER, Bools, BrokerState, ClusterState, Int32s, Int64s
from planner.drain.replay.entries import Entries, first_mention
from planner.drain.replay.holdings import broker_name, partition_name
from planner.drain.replay.violation import PlanRule, Violation


def placement_violations(state: ClusterState, schedule: Schedule, entries: Entries) -> Iterator[Violation]:
    """Everything that is wrong whenever it happens."""
    yield from _listed_twice(state, schedule)
    yield from _targets(state, entries)
    yield from _destinations(state, entries)
    yield from _racks(state, entries)
    yield from _in_sync(state, entries)
    yield from _sources(state, entries)


def _listed_twice(state: ClusterState, schedule: Schedule) -> Iterator[Violation]:
    again = np.setdiff1d(np.arange(len(schedule)), first_mention(schedule.row))
    for entry in again.tolist():
        yield Violation(
            PlanRule.ENTRY, partition_name(state, int(schedule.row[entry])), f"entry {entry} lists it again"
        )


def _targets(state: ClusterState, entries: Entries) -> Iterator[Violation]:
    """H1: as many replicas as before, each a different broker, every added one active or new."""
    count = (entries.after != NO_BROKER).sum(axis=1)
    wanted = (entries.before != NO_BROKER).sum(axis=1)
    for entry in np.flatnonzero(count != wanted).tolist():
        yield _entry(state, entries, entry, PlanRule.TARGETS, f"{count[entry]} replicas, {wanted[entry]} before")
    ordered = np.sort(entries.after, axis=1)
    twice = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != NO_BROKER)).any(axis=1)
    for entry in np.flatnonzero(twice).tolist():
        yield _entry(state, entries, entry, PlanRule.TARGETS, "names one broker twice")
    stays = state.brokers.must_empty[entries.after] & (entries.after != NO_BROKER)
    for entry, column in np.argwhere(stays).tolist():
        row = int(entries.after[entry, column])
        word = BrokerState(int(state.brokers.state[row])).name.lower()
        detail = f"{broker_name(state, row)} is {word} and may not hold a replica after"
        yield _entry(state, entries, entry, PlanRule.TARGETS, detail)


def _destinations(state: ClusterState, entries: Entries) -> Iterator[Violation]:
    """H1: what leaves a broker with named destinations goes to one of them, each target taking one replica."""
    named = np.zeros(len(state.brokers), dtype=np.bool_)
    named[list(state.destinations)] = True
    for entry in np.unique(entries.gone_entry[named[entries.gone_broker]]).tolist():
        gone = [b for b in _drops(entries, entry) if named[b]]
        added = set(entries.copy_target[entries.copies_from[entry] : entries.copies_from[entry + 1]].tolist())
        if not _matched([added & set(state.destinations[b]) for b in gone]):
            names = ", ".join(str(int(state.brokers.id[b])) for b in gone)
            detail = f"what leaves broker {names} does not go to its destinations"
            yield _entry(state, entries, entry, PlanRule.TARGETS, detail)


def _drops(entries: Entries, entry: int) -> list[int]:
    first, last = np.searchsorted(entries.gone_entry, [entry, entry + 1])
    brokers: list[int] = entries.gone_broker[first:last].tolist()
    return brokers


def _matched(choices: list[set[int]]) -> bool:
    """Whether every one can have a broker of its own. Replica lists are short: tried one by one."""
    if not choices:
        return True
    return any(_matched([rest - {broker} for rest in choices[1:]]) for broker in choices[0])


def _racks(state: ClusterState, entries: Entries) -> Iterator[Violation]:
    """H2: distinct racks after >= min(before, racks that still have a broker). While an entry is open its old
    replicas are all there, and a cancelled one keeps them, so entries decide every checkpoint too.
    """
    rack = state.brokers.rack
    left = np.unique(rack[state.brokers.may_receive]).size
    before, after = distinct_racks(entries.before, rack), distinct_racks(entries.after, rack)
    for entry in np.flatnonzero(after < np.minimum(before, left)).tolist():
        detail = f"spans {after[entry]} racks after, {before[entry]} before, {left} racks have a broker"
        yield _entry(state, entries, entry, PlanRule.RACKS, detail)


def distinct_racks(replicas: Int32s, rack: Int32s) -> Int64s:
    """Distinct racks of each row of a replica matrix padded with NO_BROKER: int64[M]."""
    held = np.sort(np.where(replicas == NO_BROKER, -1, rack[replicas]), axis=1)
    new = np.ones(held.shape, dtype=np.bool_)
    new[:, 1:] = held[:, 1:] != held[:, :-1]
    counts: Int64s = (new & (held >= 0)).sum(axis=1)
    return counts


def _in_sync(state: ClusterState, entries: Entries) -> Iterator[Violation]:
    """H3: at completion at least min ISR replicas that stay or arrived are in sync, and nothing is moved while a
    replica on a living broker is out of sync (repair first). A replica lost with a dead broker is the repair.
    """
    parts, dead = state.partitions, state.brokers.state == BrokerState.DEAD
    stays = (entries.before != NO_BROKER) & _kept(entries)
    good = (stays & parts.in_sync[entries.row]).sum(axis=1) + entries.copies
    least = parts.min_isr[entries.row]
    for entry in np.flatnonzero(good < least).tolist():
        yield _entry(
            state, entries, entry, PlanRule.IN_SYNC, f"{good[entry]} in sync when done, min ISR {least[entry]}"
        )
    lagging = (entries.before != NO_BROKER) & ~parts.in_sync[entries.row] & ~dead[entries.before]
    for entry in np.flatnonzero(lagging.any(axis=1) & (entries.copies > 0)).tolist():
        row = int(entries.before[entry, int(lagging[entry].argmax())])
        yield _entry(state, entries, entry, PlanRule.IN_SYNC, f"{broker_name(state, row)} is out of sync: repair first")


def _kept(entries: Entries) -> Bools:
    kept = np.zeros(entries.before.shape, dtype=np.bool_)
    for column in range(entries.after.shape[1]):
        kept |= entries.before == entries.after[:, column, None]
    return kept


def _sources(state: ClusterState, entries: Entries) -> Iterator[Violation]:
    """A source is in the ISR at the start; an outgoing broker may be one, a dead one not."""
    source = entries.source
    in_sync = ((entries.before == source[:, None]) & state.partitions.in_sync[entries.row]).any(axis=1)
    dead = (state.brokers.state == BrokerState.DEAD)[source] & (source != NO_BROKER)
    moving = entries.copies > 0
    for entry in np.flatnonzero(moving & entries.able & (~in_sync | dead)).tolist():
        why = "dead" if dead[entry] else "not in sync"
        detail = f"reads from {broker_name(state, int(source[entry]))}, which is {why}"
        yield _entry(state, entries, entry, PlanRule.SOURCE, detail)
    for entry in np.flatnonzero(moving & ~entries.able).tolist():
        yield _entry(state, entries, entry, PlanRule.SOURCE, "has no leader and names no source")


def _entry(state: ClusterState, entries: Entries, entry: int, rule: PlanRule, detail: str) -> Violation:
    return Violation(rule, partition_name(state, int(entries.row[entry])), detail)
