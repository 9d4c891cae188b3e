"""Drains of a live cluster whose brokers have several log directories: request, plan, independent check."""

from dataclasses import replace

import pytest

from planner.drain.check import check
from planner.drain.codec import answer_from_bytes, answer_to_bytes, request_document, request_from
from planner.drain.columns import partitions_table
from planner.drain.infeasible import Infeasible
from planner.drain.plan import DrainPlan, Move
from planner.drain.request import DrainRequest
from planner.drain.solve import solve
from planner.observed import KafkaSnapshot, LogDirSeen, LogDirsSeen, TopicPartition
from tests.unit.planner.drain.drain_cases import MIB, partition, request, snapshot

Sizes = dict[int, dict[str, tuple[int, int]]]
"""Broker id -> path -> (total, used) bytes of the disk."""


def seen_with(sizes: Sizes, logs: list[int], **fate: object) -> KafkaSnapshot:
    """Logs of these sizes on broker 1000; the others take them. One rack, directories as given."""
    rows = [partition("t", n, (1000,), size=size, **fate) for n, size in enumerate(logs)]
    seen = snapshot(dict.fromkeys((1000, *sizes), "a"), rows)
    dirs = {
        broker: tuple(LogDirSeen(path, used, total, total - used) for path, (total, used) in paths.items())
        for broker, paths in sizes.items()
    }
    told = {
        b: LogDirsSeen(
            replicas=0,
            used_bytes=sum(d.used_bytes for d in each),
            total_bytes=sum(d.total_bytes for d in each),
            usable_bytes=sum(d.usable_bytes for d in each),
            dirs=each,
        )
        for b, each in dirs.items()
    }
    return replace(seen, log_dirs={**seen.log_dirs, **told})


def drain_of(seen: KafkaSnapshot, **changes: object) -> DrainRequest:
    targets = tuple(b for b in sorted(seen.brokers) if b != 1000)
    return request(seen, outgoing=(1000,), targets=targets, **changes)


def planned(asked: DrainRequest) -> DrainPlan:
    answer = solve(asked)
    assert isinstance(answer, DrainPlan), answer
    return answer


JBOD: Sizes = {1001: {"/a": (1000 * MIB, 600 * MIB), "/b": (1000 * MIB, 100 * MIB)}}


def test_each_move_names_the_directory_of_its_target() -> None:
    seen = seen_with(JBOD, [500 * MIB, 200 * MIB])
    asked = drain_of(seen)
    plan = planned(asked)
    # 500: /b ends at 0.6 instead of 1.1 in /a; 200: both at 0.8, so the first
    assert {m.name.partition: m.log_dirs for m in plan.moves} == {0: ("/b",), 1: ("/a",)}
    assert not check(plan, seen, asked)


def test_the_certificate_counts_the_fullest_directory() -> None:
    seen = seen_with(JBOD, [500 * MIB, 200 * MIB])
    plan = planned(drain_of(seen))
    assert plan.certificate.measures.disk.value == pytest.approx(0.8)


def test_a_plan_with_directories_survives_its_bytes() -> None:
    plan = planned(drain_of(seen_with(JBOD, [500 * MIB, 200 * MIB])))
    assert any(m.log_dirs for m in plan.moves)
    assert DrainPlan.from_bytes(plan.to_bytes()) == plan
    assert answer_from_bytes(answer_to_bytes(plan)) == plan


def test_a_request_with_directories_survives_its_bytes() -> None:
    asked = drain_of(seen_with(JBOD, [MIB]))
    read = request_from(request_document(asked), partitions_table(asked.cluster))
    assert read == asked
    assert read.cluster.brokers.log_dirs.path == ("/a", "/b")
    emptier = {1001: {"/a": (1000 * MIB, 0), "/b": (1000 * MIB, 0)}}
    assert read != drain_of(seen_with(emptier, [MIB]))


def test_brokers_with_one_directory_each_need_no_word_and_no_assumption() -> None:
    plan = planned(drain_of(seen_with({1001: {"/data": (1000 * MIB, 0)}}, [5 * MIB])))
    assert [m.log_dirs for m in plan.moves] == [()]
    assert b"log_dirs" not in plan.to_bytes()
    assert not any("log directories" in line for line in plan.certificate.assumptions)


def test_brokers_that_have_not_told_of_their_directories_are_named_as_an_assumption() -> None:
    seen = seen_with(JBOD, [5 * MIB, 7 * MIB])
    silent = replace(seen.log_dirs[1001], dirs=())
    plan = planned(drain_of(replace(seen, log_dirs={**seen.log_dirs, 1001: silent})))
    line = "log directories of brokers [1001] not known: each seen as one disk; longest log 7.0 MiB"
    assert line in plan.certificate.assumptions


def test_a_log_too_large_for_every_directory_is_refused_with_its_kind() -> None:
    """The broker has 1100 MiB below its limit of 1800; no directory has 810."""
    answer = solve(drain_of(seen_with(JBOD, [810 * MIB, MIB])))
    assert isinstance(answer, Infeasible)
    assert (answer.kind, answer.stuck) == ("log-dir", (TopicPartition("t", 0),))
    assert "broker 1001 /b has the most room" in answer.message


def test_what_fits_is_planned_beside_the_refusal() -> None:
    answer = solve(drain_of(seen_with(JBOD, [810 * MIB, MIB]), allow_partial=True))
    assert isinstance(answer, Infeasible)
    assert answer.feasible_part is not None
    assert [m.name.partition for m in answer.feasible_part.moves] == [1]
    assert [d.name.partition for d in answer.feasible_part.deferred] == [0]


def test_bytes_on_their_way_to_an_unknown_directory_take_room_in_each() -> None:
    seen = seen_with(JBOD, [300 * MIB, 700 * MIB])
    coming = replace(
        seen.partitions[1], replicas=(1001, 1000), adding=(1001,), removing=(1000,), isr=(1000,), leader=1000
    )
    seen = replace(seen, partitions=(seen.partitions[0], coming))
    table = drain_of(seen).cluster.brokers.log_dirs
    assert table.free_bytes.tolist() == [-300 * MIB, 200 * MIB]
    told = tuple(
        replace(d, replicas=frozenset({coming.name})) if d.path == "/b" else d for d in seen.log_dirs[1001].dirs
    )
    seen = replace(seen, log_dirs={**seen.log_dirs, 1001: replace(seen.log_dirs[1001], dirs=told)})
    assert drain_of(seen).cluster.brokers.log_dirs.free_bytes.tolist() == [400 * MIB, 200 * MIB]


def test_partitions_their_successor_holds_already_get_directories_in_the_room_that_is_left() -> None:
    """Two parts of one plan: to the successor, then elsewhere; both end in directories of 1002."""
    rows = [partition("t", 0, (1000, 1001), size=400 * MIB), partition("t", 1, (1000,), size=300 * MIB)]
    rows.append(partition("t", 2, (1003, 1000), size=300 * MIB))
    seen = snapshot({1000: "a", 1001: "a", 1002: "a", 1003: "a"}, rows)
    each = tuple(LogDirSeen(path, 0, 1000 * MIB, 1000 * MIB) for path in ("/a", "/b"))
    dirs = dict.fromkeys((1001, 1002), LogDirsSeen(0, 0, 2000 * MIB, 2000 * MIB, each))
    seen = replace(seen, log_dirs={**seen.log_dirs, **dirs})
    asked = request(seen, outgoing=(1000,), targets=(1001, 1002), successors={1000: 1001})
    plan = planned(asked)
    assert all(all(m.log_dirs) and m.log_dirs for m in plan.moves if m.added)
    assert not check(plan, seen, asked)


# --- the check --------------------------------------------------------------------------------------------------------


def changed(plan: DrainPlan, **changes: object) -> DrainPlan:
    return replace(plan, moves=tuple(replace(m, **changes) if m.added else m for m in plan.moves))  # type: ignore[arg-type]


def kinds(plan: DrainPlan, seen: KafkaSnapshot, asked: DrainRequest) -> set[str]:
    return {v.kind for v in check(plan, seen, asked)}


def test_the_check_refuses_a_directory_nobody_has() -> None:
    seen = seen_with(JBOD, [100 * MIB])
    asked = drain_of(seen)
    assert "log-dir" in kinds(changed(planned(asked), log_dirs=("/gone",)), seen, asked)
    assert "log-dir" in kinds(changed(planned(asked), log_dirs=("/a", "/b")), seen, asked)


def test_the_check_refuses_a_directory_beyond_the_limit() -> None:
    seen = seen_with(JBOD, [500 * MIB])
    asked = drain_of(seen)
    plan = planned(asked)
    assert not check(plan, seen, asked)
    assert "disk" in kinds(changed(plan, log_dirs=("/a",)), seen, asked)


def test_the_check_refuses_a_certificate_that_hides_a_full_directory() -> None:
    seen = seen_with(JBOD, [250 * MIB])
    asked = drain_of(seen)
    assert kinds(changed(planned(asked), log_dirs=("/a",)), seen, asked) == {"certificate"}


def test_a_directory_that_filled_up_since_is_noticed() -> None:
    asked = drain_of(seen_with(JBOD, [500 * MIB]))
    plan = planned(asked)
    fuller = seen_with({1001: {"/a": (1000 * MIB, 0), "/b": (1000 * MIB, 500 * MIB)}}, [500 * MIB])
    assert kinds(plan, fuller, asked) == {"disk"}


def test_a_move_names_directories_for_its_new_replicas_alone() -> None:
    move = Move("t", 0, (1, 2), (3, 2), 5, log_dirs=("/a",))
    assert (move.added, move.log_dirs) == ((3,), ("/a",))
