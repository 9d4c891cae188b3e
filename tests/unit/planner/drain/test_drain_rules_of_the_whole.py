"""The judge of a plan as a whole: its checkpoints, throttles, what it covers, and what its certificate claims."""

from dataclasses import replace
from typing import Any

import pytest

from planner.drain.check import check
from planner.drain.plan import DrainPlan, Move
from planner.drain.request import DrainRequest
from planner.drain.selection import Deferred
from planner.observed import KafkaSnapshot, LogDirSeen, LogDirsSeen, TopicPartition
from tests.unit.planner.drain.drain_cases import GIB, MIB, partition, request, snapshot
from tests.unit.planner.drain.rule_cases import jbod, of_kind, planned, with_move, wrong

# --- checkpoints and throttles ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("checkpoints", "told"),
    [
        ((4, 12), []),
        ((), ["plan: its checkpoints end at 0, it has 12 moves"]),
        ((4,), ["plan: its checkpoints end at 4, it has 12 moves"]),
        ((4, 4, 12), ["checkpoint 4: stands 0 moves after the one before"]),
        ((8, 4, 12), ["checkpoint 4: stands -4 moves after the one before"]),
    ],
)
def test_checkpoints_rise_to_the_last_move(checkpoints: tuple[int, ...], told: list[str]) -> None:
    plan, seen, asked = planned()
    assert of_kind("checkpoint", replace(plan, checkpoints=checkpoints), seen, asked) == told


def test_between_two_checkpoints_are_no_more_moves_than_one_request_takes() -> None:
    plan, seen, asked = planned()
    many = replace(plan, moves=plan.moves[:1] * 10_001, checkpoints=(10_001,))
    assert of_kind("checkpoint", many, seen, asked) == ["checkpoint 10001: stands 10001 moves after the one before"]
    most = replace(plan, moves=plan.moves[:1] * 10_000, checkpoints=(10_000,))
    assert of_kind("checkpoint", most, seen, asked) == []


def test_whoever_serves_or_receives_has_a_throttle() -> None:
    plan, seen, asked = planned()
    assert wrong(replace(plan, into={}), seen, asked) == ["throttle broker 1003: has no throttle in"]
    without = {b: p for b, p in plan.out.items() if b != 1001}
    assert wrong(replace(plan, out=without), seen, asked) == ["throttle broker 1001: has no throttle out"]


def test_who_only_changes_places_in_a_list_needs_none() -> None:
    rows = [partition("t", i, (1, 2, 3), leader=2) for i in range(3)] + [partition("u", i, (2, 3)) for i in range(6)]
    seen = snapshot({1: "a", 2: "b", 3: "c", 4: "a"}, rows)
    plan, _, asked = planned((seen, request(seen, outgoing=(1,), targets=(4,), successors={1: 4})))
    assert [m for m in plan.moves if not m.added]
    turned_only = replace(plan, moves=tuple(m for m in plan.moves if not m.added), into={}, out={})
    assert of_kind("throttle", turned_only, seen, asked) == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"slots": 1}, []),
        ({"slots": None}, []),
        ({"quota_bytes_per_s": 1, "promised_bytes_per_s": 1, "floor_bytes_per_s": 1}, []),
        ({"slots": 0}, ["slots broker 1003: has 0 slots in: nothing would ever start"]),
        ({"quota_bytes_per_s": 200, "promised_bytes_per_s": 200, "floor_bytes_per_s": 200}, []),
        (
            {"quota_bytes_per_s": 200, "promised_bytes_per_s": 200, "floor_bytes_per_s": 201},
            ["throttle broker 1003: throttle in of 200 bytes/s may leave copies nothing"],
        ),
        ({"promised_bytes_per_s": 87381334}, []),
        (
            {"promised_bytes_per_s": 87381335},
            ["throttle broker 1003: promises 87381335 of a throttle of 87381334 bytes/s"],
        ),
        (
            {"promised_bytes_per_s": 0, "quota_bytes_per_s": 0, "floor_bytes_per_s": 0},
            [
                "throttle broker 1003: throttle in of 0 bytes/s, cap None",
                "throttle broker 1003: promises 0 of a throttle of 0 bytes/s",
            ],
        ),
    ],
)
def test_a_port_lets_copies_through(changes: dict[str, int | None], told: list[str]) -> None:
    plan, seen, asked = planned()
    into = {1003: replace(plan.into[1003], **changes)}  # type: ignore[arg-type]
    # The certificate of time goes with what is promised: without a move there is nothing to promise.
    rest = replace(plan, into=into)
    assert [w for w in port_words(rest, seen, asked) if "1003" in w] == told


def port_words(plan: DrainPlan, seen: KafkaSnapshot, asked: DrainRequest) -> list[str]:
    still = replace(plan, moves=(), checkpoints=())
    return [w for w in wrong(still, seen, asked) if w.startswith(("throttle", "slots"))]


def test_no_throttle_stands_above_the_cap() -> None:
    plan, seen, _ = planned()
    rate = plan.into[1003].quota_bytes_per_s
    free = {"outgoing": (1000,), "targets": (1003,), "successors": {1000: 1003}}
    assert port_words(plan, seen, request(seen, throttle_cap_bytes_per_s=rate, **free)) == []
    above = port_words(plan, seen, request(seen, throttle_cap_bytes_per_s=rate - 1, **free))
    assert above == [
        *(f"throttle broker {b}: throttle out of {rate} bytes/s, cap {rate - 1}" for b in (1000, 1001, 1002)),
        f"throttle broker 1003: throttle in of {rate} bytes/s, cap {rate - 1}",
    ]


# --- what is moved ----------------------------------------------------------------------------------------------------


def test_all_of_a_leaving_broker_is_moved_or_deferred_and_nothing_is_both() -> None:
    plan, seen, asked = planned()
    left_out = replace(plan, moves=plan.moves[1:], checkpoints=(11,))
    silent = "orders-11: sits on an outgoing broker and is neither moved nor deferred"
    assert of_kind("coverage", left_out, seen, asked) == [silent]
    deferred = (Deferred(TopicPartition("orders", 11), "unhealthy"),)
    assert of_kind("coverage", replace(left_out, deferred=deferred), seen, asked) == []
    both = "orders-11: is not the plan's to move, or both moved and deferred"
    assert of_kind("coverage", replace(plan, deferred=deferred), seen, asked) == [both]


def test_what_is_on_no_leaving_broker_is_not_copied_and_may_change_its_order() -> None:
    seen = snapshot({1: "a", 2: "b", 3: "c", 4: "a"}, [partition("t", 0, (1, 2)), partition("u", 0, (2, 3))])
    plan, _, asked = planned((seen, request(seen, outgoing=(1,), targets=(4,))))
    mine = next(m for m in plan.moves if m.name.topic == "t")
    turned = Move("u", 0, (2, 3), (3, 2), 0)
    copied = Move("u", 0, (2, 3), (2, 4), 10 * MIB)
    shrunk = Move("u", 0, (2, 3), (2,), 0)
    own = replace(plan, moves=(mine,), checkpoints=(1,))
    for move, told in ((turned, []), (copied, ["u-0"]), (shrunk, ["u-0"])):
        beside = replace(own, moves=(mine, move), checkpoints=(2,))
        assert [w.partition(":")[0] for w in of_kind("coverage", beside, seen, asked)] == told
    waiting = replace(own, deferred=(Deferred(TopicPartition("u", 0), "unhealthy"),))
    assert of_kind("coverage", waiting, seen, asked) == ["u-0: is not the plan's to move, or both moved and deferred"]


# --- the certificate --------------------------------------------------------------------------------------------------


def test_bytes_of_a_move_are_its_size_for_each_new_replica() -> None:
    plan, seen, asked = planned()
    claimed = with_move(plan, bytes=5)
    assert of_kind("certificate", claimed, seen, asked) == [
        f"orders-11: says 5 bytes to copy, it is {11 * MIB}",
        f"bytes: says {66 * MIB}, it is {55 * MIB + 5}",
    ]


def test_of_two_new_replicas_both_count() -> None:
    seen = snapshot(dict.fromkeys((1, 2, 3, 4), "a"), [partition("t", 0, (1, 2), size=MIB)])
    plan, _, asked = planned((seen, request(seen, outgoing=(1, 2), targets=(3, 4))))
    assert plan.moves[0].bytes == 2 * MIB
    assert of_kind("certificate", with_move(plan, bytes=MIB), seen, asked)[0] == (
        f"t-0: says {MIB} bytes to copy, it is {2 * MIB}"
    )
    said = plan.certificate
    assert said.replicas == 2
    one = replace(plan, certificate=replace(said, replicas=1))
    assert of_kind("certificate", one, seen, asked) == ["replicas: says 1, it is 2"]


def test_a_move_that_copies_nothing_says_no_bytes() -> None:
    seen = snapshot({1: "a", 2: "b", 3: "c", 4: "a"}, [partition("t", 0, (1, 2)), partition("u", 0, (2, 3))])
    plan, _, asked = planned((seen, request(seen, outgoing=(1,), targets=(4,))))
    mine = next(m for m in plan.moves if m.name.topic == "t")
    said = replace(plan, moves=(mine, Move("u", 0, (2, 3), (3, 2), 7)), checkpoints=(2,))
    assert "u-0: says 7 bytes to copy and copies nothing" in of_kind("certificate", said, seen, asked)


def certified(plan: DrainPlan, **values: float) -> DrainPlan:
    measures = plan.certificate.measures
    changed = {name: replace(getattr(measures, name), value=value) for name, value in values.items()}
    return replace(plan, certificate=replace(plan.certificate, measures=replace(measures, **changed)))


@pytest.mark.parametrize("claimed_bytes", [0, 1])
def test_a_partition_the_request_does_not_show_has_no_size_to_claim(claimed_bytes: int) -> None:
    plan, seen, asked = planned()
    forged = with_move(plan, topic="no-such-topic", bytes=claimed_bytes)
    assert any(w.startswith("no-such-topic-11: says ") for w in of_kind("certificate", forged, seen, asked))


def test_where_the_bandwidth_comes_from_is_said_as_asked() -> None:
    plan, seen, asked = planned()
    claimed = replace(plan, certificate=replace(plan.certificate, bandwidth_source="measured"))
    assert of_kind("certificate", claimed, seen, asked) == ["bandwidth_source: says measured, it is assumed"]


def test_a_plan_takes_no_less_time_than_its_targets_need_at_what_they_are_promised() -> None:
    plan, seen, asked = planned()
    needed_s = 66 * MIB / plan.into[1003].promised_bytes_per_s
    assert of_kind("certificate", certified(plan, makespan_s=needed_s), seen, asked) == []
    assert of_kind("certificate", certified(plan, makespan_s=needed_s - 0.002), seen, asked) == [
        f"makespan_s: says {needed_s - 0.002} s, it needs {needed_s:.3f}"
    ]


def test_the_slowest_target_counts_and_each_copy_once() -> None:
    rows = [partition("t", 0, (1, 2), size=9 * MIB), partition("u", 0, (1,), size=2 * MIB)]
    seen = snapshot(dict.fromkeys((1, 2, 3, 4), "a"), rows)
    plan, _, asked = planned((seen, request(seen, outgoing=(1, 2), targets=(3, 4))))
    slow = {b: replace(p, promised_bytes_per_s=MIB) for b, p in plan.into.items()}
    needed = replace(plan, into=slow)
    assert of_kind("certificate", certified(needed, makespan_s=11.0), seen, asked) == []
    assert of_kind("certificate", certified(needed, makespan_s=10.9), seen, asked) == [
        "makespan_s: says 10.9 s, it needs 11.000"
    ]


def fullest(plan: DrainPlan, seen: KafkaSnapshot, asked: DrainRequest) -> float:
    """What the judge finds, as it says where it is claimed wrongly."""
    (said,) = [w for w in of_kind("certificate", certified(plan, disk=-1.0), seen, asked) if w.startswith("disk")]
    return float(said.rpartition(" ")[2])


def test_the_fullest_staying_broker_is_what_the_plan_says() -> None:
    plan, seen, asked = planned()
    assert fullest(plan, seen, asked) == pytest.approx(66 * MIB / (100 * GIB), abs=1e-6)
    off = plan.certificate.measures.disk.value
    assert of_kind("certificate", certified(plan, disk=off + 0.00009), seen, asked) == []
    assert len(of_kind("certificate", certified(plan, disk=off + 0.00012), seen, asked)) == 1


def test_other_files_and_logs_nobody_may_touch_are_taken_off_the_disk() -> None:
    """Disks of 100 MiB: 10 MiB that stay, 20 MiB that come, 20 MiB of other files: (10 + 20) / (90 - 20) x 0.9."""
    rows = [partition("t", 0, (1,), size=20 * MIB), partition("u", 0, (2,), size=10 * MIB)]
    disks = {1: (100 * MIB, 80 * MIB), 2: (100 * MIB, 70 * MIB)}
    seen = snapshot({1: "a", 2: "a"}, rows, disks=disks)
    plan, _, asked = planned((seen, request(seen, outgoing=(1,), targets=(2,))))
    assert fullest(plan, seen, asked) == pytest.approx(30 / (70 / 0.9), abs=1e-6)
    assert plan.certificate.measures.disk.value == pytest.approx(30 / (70 / 0.9), abs=1e-4)


@pytest.mark.parametrize("first", [0, 1])
def test_a_log_that_a_broker_of_the_first_ids_leads_rests_like_any_other(first: int) -> None:
    rows = [partition("t", 0, (9,), size=20 * MIB), partition("u", 0, (first,), size=10 * MIB)]
    disks = {9: (100 * MIB, 80 * MIB), first: (100 * MIB, 70 * MIB)}
    seen = snapshot({9: "a", first: "a"}, rows, disks=disks)
    plan, _, asked = planned((seen, request(seen, outgoing=(9,), targets=(first,))))
    assert fullest(plan, seen, asked) == pytest.approx(30 / (70 / 0.9), abs=1e-6)


@pytest.mark.parametrize(
    "fate",
    [
        {"isr": (2,), "replicas": (2, 3), "leader": 2},
        {"leader": -1, "isr": ()},
        {"leader": -1},
        {"replicas": (2, 3), "adding": (3,), "isr": (2,)},
    ],
    ids=["lags", "has no leader", "has none yet", "moves"],
)
def test_a_log_that_does_not_rest_is_no_part_of_what_counts(fate: dict[str, Any]) -> None:
    """Of 100 MiB those 10 are as other files: 20 / (80 / 0.9) on its broker."""
    rows = [partition("t", 0, (1,), size=20 * MIB), partition("u", 0, (2,), size=10 * MIB, **fate)]
    disks = {1: (100 * MIB, 80 * MIB), 2: (100 * MIB, 90 * MIB), 3: (1000 * MIB, 990 * MIB)}
    seen = snapshot({1: "a", 2: "a", 3: "b"}, rows, disks=disks)
    plan, _, asked = planned((seen, request(seen, outgoing=(1,), targets=(2,))))
    assert fullest(plan, seen, asked) == pytest.approx(20 / (80 / 0.9), abs=1e-6)


def test_a_deferred_log_is_no_part_of_what_counts_either() -> None:
    rows = [partition("t", 0, (1,), size=20 * MIB), partition("u", 0, (2, 1), size=10 * MIB)]
    disks = {1: (100 * MIB, 70 * MIB), 2: (100 * MIB, 90 * MIB), 3: (100 * MIB, 100 * MIB)}
    seen = snapshot({1: "a", 2: "b", 3: "a"}, rows, disks=disks)
    plan, _, asked = planned((seen, request(seen, outgoing=(1,), targets=(3,))))
    kept = tuple(m for m in plan.moves if m.name.topic == "t")
    part = replace(
        plan, moves=kept, checkpoints=(len(kept),), deferred=(Deferred(TopicPartition("u", 0), "unhealthy"),)
    )
    assert fullest(plan, seen, asked) == pytest.approx(30 / (90 / 0.9), abs=1e-2)
    assert fullest(part, seen, asked) == pytest.approx(20 / (90 / 0.9), abs=1e-2)


def test_a_deferred_log_hides_none_that_comes_after_it() -> None:
    rows = [partition("a", 0, (2, 1), size=10 * MIB), partition("t", 0, (1,), size=20 * MIB)]
    disks = {1: (100 * MIB, 70 * MIB), 2: (100 * MIB, 90 * MIB), 3: (100 * MIB, 100 * MIB)}
    seen = snapshot({1: "a", 2: "b", 3: "a"}, rows, disks=disks)
    plan, _, asked = planned((seen, request(seen, outgoing=(1,), targets=(3,))))
    kept = tuple(m for m in plan.moves if m.name.topic == "t")
    waiting = (Deferred(TopicPartition("a", 0), "unhealthy"),)
    part = replace(plan, moves=kept, checkpoints=(len(kept),), deferred=waiting)
    assert fullest(part, seen, asked) == pytest.approx(20 / 100, abs=1e-2)


def test_a_broker_that_leaves_and_a_disk_nobody_knows_are_no_fullest_one() -> None:
    rows = [partition("t", 0, (1,), size=20 * MIB), partition("u", 0, (3,), size=10 * MIB)]
    disks = {1: (100 * MIB, 1 * MIB), 2: (100 * MIB, 100 * MIB), 3: (0, 0)}
    seen = snapshot({1: "a", 2: "a", 3: "b"}, rows, disks=disks)
    plan, _, asked = planned((seen, request(seen, outgoing=(1,), targets=(2,))))
    assert fullest(plan, seen, asked) == pytest.approx(20 / 100, abs=1e-6)


def test_a_disk_that_other_files_have_filled_is_no_log_of_a_plans() -> None:
    rows = [partition("t", 0, (1,), size=20 * MIB)]
    disks = {1: (100 * MIB, 80 * MIB), 2: (100 * MIB, 100 * MIB), 3: (100 * MIB, 0)}
    seen = snapshot({1: "a", 2: "a", 3: "b"}, rows, disks=disks)
    plan, _, asked = planned((seen, request(seen, outgoing=(1,), targets=(2,))))
    assert fullest(plan, seen, asked) == pytest.approx(20 / 100, abs=1e-6)


def test_of_several_directories_the_fullest_counts() -> None:
    plan, seen, asked = jbod()
    assert fullest(plan, seen, asked) == pytest.approx(0.8, abs=1e-6)
    plan, seen, asked = jbod(used_b=350 * MIB)
    assert fullest(plan, seen, asked) == pytest.approx(0.85, abs=1e-6)


def _told(*dirs: LogDirSeen) -> LogDirsSeen:
    used, total = sum(d.used_bytes for d in dirs), sum(d.total_bytes for d in dirs)
    return LogDirsSeen(0, used, total, sum(d.usable_bytes for d in dirs), dirs=dirs)


def test_the_one_directory_of_a_broker_and_those_of_one_that_leaves_count_as_no_directories() -> None:
    """50 of 100 MiB are other files, 20 come: 20 of what is left. The directories that leave are almost full."""
    seen = snapshot({1: "a", 2: "a"}, [partition("t", 0, (1,), size=20 * MIB)])
    full = (LogDirSeen(path, 95 * MIB, 100 * MIB, 5 * MIB) for path in ("/a", "/b"))
    half = LogDirSeen("/d", 50 * MIB, 100 * MIB, 50 * MIB)
    seen = replace(seen, log_dirs={1: _told(*full), 2: _told(half)})
    plan, _, asked = planned((seen, request(seen, outgoing=(1,), targets=(2,))))
    assert fullest(plan, seen, asked) == pytest.approx(20 / (40 / 0.9), abs=1e-6)


def test_a_plan_of_no_moves_claims_no_disk() -> None:
    seen = snapshot({1: "a", 2: "a"}, [])
    plan, _, asked = planned((seen, request(seen, outgoing=(1,), targets=(2,))))
    assert check(certified(plan, disk=-1.0), seen, asked) == ()
    assert of_kind("certificate", certified(plan, makespan_s=-0.5), seen, asked) == [
        "makespan_s: says -0.5 s, it needs 0.000"
    ]
