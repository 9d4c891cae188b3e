"""Log directories in every file and back: state, plan, Kafka's JSON, Arrow, a cluster as it was seen."""

import json
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from planner.drain.model import arrow
from planner.drain.model.capacity import Capacity, FigureOrigin, FigureSource, resolve
from planner.drain.model.document import read_state, state_document, state_json
from planner.drain.model.kafka_json import reassignments, rollbacks
from planner.drain.model.observed import ObservationPolicy, measured_disks, observed_document
from planner.drain.model.plan_document import plan_json, read_plan
from planner.drain.model.problem import DocumentRefused, StateProblemKind
from planner.drain.model.state import NO_BROKER, NOWHERE, ClusterState
from planner.observed import KafkaSnapshot, LogDirSeen, LogDirsSeen, TopicPartition
from tests.unit.planner.drain.dir_cases import in_dirs, paths_of, with_dirs
from tests.unit.planner.drain.drain_cases import partition, snapshot
from tests.unit.planner.drain.judge_cases import ACTIVE, OUTGOING, cluster, plan


def example() -> ClusterState:
    state = cluster("abc", [OUTGOING, ACTIVE, ACTIVE], [[0, 1], [1, 0], [0]], size=[100, 50, 7])
    dirs = {1: [("/a", 400, 130), ("/b", 600, 90)], 2: [("/only", 900, 4)]}
    return with_dirs(state, dirs, {(0, 1): "/a", (1, 1): "/b"})


def same(left: ClusterState, right: ClusterState) -> None:
    assert left.log_dirs is not None
    assert right.log_dirs is not None
    for column in fields(left.log_dirs):
        assert np.array_equal(getattr(left.log_dirs, column.name), getattr(right.log_dirs, column.name)), column.name


def test_log_dirs_survive_the_state_file() -> None:
    same(read_state(state_json(example())).state, example())


def test_log_dirs_survive_arrow() -> None:
    same(arrow.state_of(arrow.brokers_table(example()), arrow.partitions_table(example())), example())


def test_a_state_without_log_dirs_has_the_files_and_columns_it_always_had() -> None:
    state = replace(example(), log_dirs=None)
    assert "log_dirs" not in state_json(state).decode()
    assert arrow.brokers_table(state).schema.names == arrow.BROKERS.names
    assert arrow.partitions_table(state).schema.names == arrow.PARTITIONS.names
    assert read_state(state_json(state)).state.log_dirs is None


def test_readers_of_the_bare_columns_see_each_broker_as_one_disk() -> None:
    tables = arrow.brokers_table(example()).drop_columns("log_dirs"), arrow.partitions_table(example())
    assert arrow.state_of(*tables).log_dirs is None


def test_the_only_directory_of_a_broker_has_all_its_replicas() -> None:
    state = cluster("ab", [ACTIVE, ACTIVE], [[0, 1]], size=70)
    read = read_state(state_json(with_dirs(state, {0: [("/only", 900, 4)]}))).state.log_dirs
    assert read is not None
    assert read.located.tolist() == [[0, NOWHERE]]
    assert read.used_bytes.tolist() == [70], "at least the logs that are there"


def test_use_nobody_told_of_is_what_is_located_there() -> None:
    document = state_document(example())
    for directory in document["brokers"][1]["log_dirs"]:
        del directory["used_bytes"]
    read = read_state(json.dumps(document)).state.log_dirs
    assert read is not None
    assert read.used_bytes.tolist()[:2] == [100, 50]


Spoil = Callable[[dict[str, Any]], Any]
BAD: list[tuple[str, Spoil, StateProblemKind, str]] = [
    ("relative path", lambda d: d["brokers"][1]["log_dirs"][0].update(path="a"), StateProblemKind.SHAPE,
     "brokers[1].log_dirs[0].path"),
    ("no directory", lambda d: d["brokers"][1].update(log_dirs=[]), StateProblemKind.FIGURE, "brokers[1].log_dirs"),
    ("empty disk", lambda d: d["brokers"][1]["log_dirs"][0].update(disk_bytes=0), StateProblemKind.FIGURE,
     "brokers[1].log_dirs[0].disk_bytes"),
    ("twice", lambda d: d["brokers"][1]["log_dirs"][1].update(path="/a"), StateProblemKind.TWICE,
     "brokers[1].log_dirs[1]"),
    ("a disk larger than its parts", lambda d: d["brokers"][1].update(disk_bytes=1001), StateProblemKind.CONTRADICTION,
     "brokers[1].log_dirs"),
    ("too few places", lambda d: d["partitions"][0].update(log_dirs=["/a"]), StateProblemKind.CONTRADICTION,
     "partitions[0].log_dirs"),
    ("a path the broker has not", lambda d: d["partitions"][0].update(log_dirs=[None, "/c"]), StateProblemKind.UNKNOWN,
     "partitions[0].log_dirs[1]"),
    ("a path of a broker that names none", lambda d: d["partitions"][0].update(log_dirs=["/a", None]),
     StateProblemKind.UNKNOWN, "partitions[0].log_dirs[0]"),
]  # fmt: skip


@pytest.mark.parametrize(("spoil", "kind", "path"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_a_bad_state_is_refused_with_its_place(spoil: Spoil, kind: StateProblemKind, path: str) -> None:
    document = state_document(example())
    spoil(document)
    with pytest.raises(DocumentRefused) as refused:
        read_state(json.dumps(document))
    assert (kind, path) in [(p.kind, p.path) for p in refused.value.problems]


def test_a_directory_that_may_hold_anything_is_not_taken_as_empty() -> None:
    document = state_document(example())
    del document["brokers"][1]["log_dirs"][0]["used_bytes"]
    del document["partitions"][1]["log_dirs"]
    with pytest.raises(DocumentRefused, match="nobody says where 1 replicas of broker 1002 are"):
        read_state(json.dumps(document))


def test_directories_of_new_replicas_survive_the_plan_file() -> None:
    state = example()
    schedule = in_dirs(state, plan(state, [(2, [1], 0), (0, [2, 1], 1)]), [["/b"], [None, None]])
    document = json.loads(plan_json(state, schedule))
    assert [entry["log_dirs"] for entry in document["partitions"]] == [["/b"], ["any", "any"]]
    read = read_plan(plan_json(state, schedule), state).schedule
    assert paths_of(state, read) == {(2, 1): "/b"}


def test_a_plan_that_leaves_all_to_kafka_names_none() -> None:
    state = example()
    assert "log_dirs" not in plan_json(state, plan(state, [(2, [1], 0)])).decode()


def test_kafkas_json_has_a_path_for_new_replicas_and_any_for_the_others() -> None:
    state = example()
    schedule = in_dirs(state, plan(state, [(2, [1], 0), (0, [2, 1], 1)], checkpoints=(1, 2)), [["/b"], [None, None]])
    assert [d["partitions"][0]["log_dirs"] for d in reassignments(state, schedule)] == [["/b"], ["any", "any"]]
    assert [d["partitions"][0]["log_dirs"] for d in rollbacks(state, schedule)] == [["any"], ["any", "any"]]


@pytest.mark.parametrize(
    ("dirs", "kind", "path"),
    [
        (["/c"], StateProblemKind.UNKNOWN, "partitions[0].log_dirs[0]"),
        (["/a", "any"], StateProblemKind.CONTRADICTION, "partitions[0].log_dirs"),
    ],
)
def test_a_plan_that_names_what_the_state_has_not_is_refused(
    dirs: list[str], kind: StateProblemKind, path: str
) -> None:
    text = json.dumps(
        {"version": 1, "partitions": [{"topic": "t", "partition": 2, "replicas": [1002], "log_dirs": dirs}]}
    )
    with pytest.raises(DocumentRefused) as refused:
        read_plan(text, example())
    assert [(p.kind, p.path) for p in refused.value.problems] == [(kind, path)]


def test_a_path_of_a_broker_whose_directories_nobody_told_cannot_be_judged_and_is_left_open() -> None:
    text = '{"version":1,"partitions":[{"topic":"t","partition":2,"replicas":[1001],"log_dirs":["/x"]}]}'
    read = read_plan(text, example()).schedule.log_dirs
    assert read is not None
    assert read.tolist() == [[NO_BROKER]]


# --- a cluster as it was seen -----------------------------------------------------------------------------------------

T0, T1, T2 = (TopicPartition("t", n) for n in range(3))


def seen_cluster() -> KafkaSnapshot:
    rows = [partition("t", n, (1000, 1001), size=10 * (n + 1)) for n in range(3)]
    seen = snapshot({1000: "a", 1001: "b"}, rows, disk=1000)
    dirs = (LogDirSeen("/a", 10, 400, 380, frozenset({T0})), LogDirSeen("/b", 50, 600, 500, frozenset({T1, T2})))
    told = LogDirsSeen(3, 60, 1000, 880, dirs)
    return replace(seen, log_dirs={**seen.log_dirs, 1001: told})


def exported(seen: KafkaSnapshot, **capacity: int) -> dict[str, Any]:
    rates = {"ingress_bytes_per_s": 1.0, "egress_bytes_per_s": 1.0}
    given = FigureSource(origin=FigureOrigin.GIVEN, everyone=Capacity(**rates, **capacity), everyone_words="given")
    return observed_document(seen, resolve(seen.brokers, [given, measured_disks(seen)]), ObservationPolicy())


def test_the_export_has_the_directories_of_brokers_with_several() -> None:
    document = exported(seen_cluster())
    assert "log_dirs" not in document["brokers"][0]
    assert document["brokers"][1]["log_dirs"] == [
        {"path": "/a", "disk_bytes": 390, "used_bytes": 10},
        {"path": "/b", "disk_bytes": 550, "used_bytes": 50},
    ]
    assert [p["log_dirs"] for p in document["partitions"]] == [[None, "/a"], [None, "/b"], [None, "/b"]]
    read = read_state(json.dumps(document)).state.log_dirs
    assert read is not None
    assert read.located.tolist() == [[NOWHERE, 0], [NOWHERE, 1], [NOWHERE, 1]]


def test_a_disk_given_larger_than_its_directories_leaves_them_out_and_says_so() -> None:
    document = exported(seen_cluster(), disk_bytes=2000)
    assert "log_dirs" not in document["brokers"][1]
    assert not any("log_dirs" in p for p in document["partitions"])
    line = "log directories of brokers [1001] hold less than the disk that was given: each seen as one disk"
    assert line in document["assumptions"]


def test_a_copy_on_its_way_to_nobody_knows_which_directory_takes_room_in_each() -> None:
    seen = seen_cluster()
    coming = replace(seen.partitions[0], replicas=(1001, 1000), adding=(1001,), removing=(1000,))
    elsewhere = replace(
        seen.log_dirs[1001], dirs=tuple(replace(d, replicas=d.replicas - {T0}) for d in seen.log_dirs[1001].dirs)
    )
    seen = replace(seen, partitions=(coming, *seen.partitions[1:]), log_dirs={**seen.log_dirs, 1001: elsewhere})
    assert [d["used_bytes"] for d in exported(seen)["brokers"][1]["log_dirs"]] == [20, 60]
