"""One disk of several begins anew: who may ask for it, what the successor is made with, and what a cure asks for."""

from dataclasses import replace
from typing import Any

import pytest

from controlplane.cluster.commands import CommandRefused, ReplaceNode
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.intents import IntentView
from controlplane.cluster.views.running_settings import ReplaceView
from controlplane.commands.deciders.decision import CommandDecision
from controlplane.commands.deciders.lookups import NOTHING
from controlplane.commands.deciders.nodes import replacement_asked
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.clouds.rendering import terraform_run
from controlplane.converger.questions.disk_renewal import failed_disks
from controlplane.converger.questions.documents import document_for
from controlplane.converger.questions.rolls.stop_gates import broker_gate
from controlplane.converger.situation.decision import Decision
from controlplane.converger.steps.health.healing import healing_step
from controlplane.converger.steps.rolls.handovers import handover_step
from controlplane.kafka.deadline import Deadline
from controlplane.kafka.gates import broker_is_empty
from controlplane.kafka.log_dirs import read_disks
from events import facts
from planner.observed import FailedDirsSeen, LogDirsSeen, PartitionSeen, TopicPartition
from tests.builders import (
    BEFORE,
    a_document,
    a_partition,
    a_report,
    a_situation,
    a_snapshot,
    a_view,
    an_observation,
)
from tests.unit.controlplane.two_disks import a_broker, a_view_of_two

GOOGLE = a_document(disks=", count: 2", cloud="google", quorum_place="cloud: google, region: local-1, zones: [a, b, c]")
NODE, KEY = "brokers-a-0", "brokers-a-0.g1"


def _asked(view: ClusterView, *disks: str, **more: Any) -> CommandDecision:
    values = {"name": "orders", "actor": "person:anna", "command_id": "c1", "reason": "bad blocks", "disks": disks}
    return replacement_asked(view, ReplaceNode(**{**values, "node": NODE, **more}), NOTHING)


def test_one_disk_may_begin_anew_and_the_answer_says_what_stays() -> None:
    asked = _asked(a_view_of_two(), "data2")
    assert asked.fact == facts.NodeReplaceRequested(KEY, "asked by anna: bad blocks", disks=("data2",))
    assert "which takes over its id and its disks but data2; what was there is copied anew" in asked.sentence


@pytest.mark.parametrize(
    ("view", "disks", "more", "code", "words"),
    [
        (a_view_of_two(), ("data7",), {}, "unknown-disk", "no disk data7"),
        (a_view_of_two(), ("data", "data2"), {}, "disk-not-alone", "these are all the disks"),
        (a_view_of_two(), ("data2",), {"new_disk": True}, "name-one", "choose one"),
        (a_view_of_two(), ("data",), {"node": "controllers-a-0"}, "one-disk", "is not a broker"),
        (a_view(), ("data",), {}, "disk-not-alone", "its broker has no other"),
        (
            a_view_of_two(document=a_document(disks=", count: 3")),
            ("data2",),
            {},
            "disk-not-alone",
            "the spec says 3 disks, so its broker moves to new ones anyway",
        ),
        (
            a_view_of_two(document=GOOGLE),
            ("data2",),
            {},
            "disk-not-alone",
            "on google nobody knows for certain which disk of a VM carries which directory",
        ),
    ],
    ids=["unknown", "all", "new-disk too", "controller", "only one", "another number", "another cloud"],
)
def test_it_is_refused_with_the_reason_and_another_way(
    view: ClusterView, disks: tuple[str, ...], more: dict[str, Any], code: str, words: str
) -> None:
    with pytest.raises(CommandRefused) as refused:
        _asked(view, *disks, **more)
    assert refused.value.code == code
    assert words in str(refused.value)


def test_the_successor_has_the_same_id_the_other_disk_and_a_new_one_of_the_next_version() -> None:
    """Though brokers migrate."""
    asked = {KEY: ReplaceView("asked by anna", False, BEFORE, ("data2",))}
    (surge,) = decide(a_situation(a_view_of_two(to_replace=asked, recycling=1))).events
    assert isinstance(surge, facts.SurgeRequested)
    (successor,) = surge.instances
    assert [v.key for v in successor.volumes] == ["brokers-a-0.data.v1", "brokers-a-0.data2.v2"]
    assert (successor.service_id, successor.handover, successor.new_dirs, successor.new_disk) == (
        1000,
        True,
        ("data2",),
        False,
    )


def _successor(phase: Phase, **more: Any) -> InstanceView:
    old = a_broker().planned.volumes
    new = replace(old[1], key="brokers-a-0.data2.v2", version=2, directory_id="new")
    values = {"service_id": 1000, "handover": True, "new_dirs": ("data2",), "volumes": (old[0], new)}
    return a_broker(NODE, 2, phase, **{**values, **more})


def test_its_surge_makes_the_new_disk_alone_and_nothing_of_the_nodes() -> None:
    view = a_view_of_two(_successor(Phase.REQUESTED))
    intent = IntentView("i-1", "surge", ("brokers-a-0.g2",), BEFORE)
    run = terraform_run(view, intent, installation_id="i", boot_data=lambda _: "", gone=frozenset())
    assert run.creates == {"instance/brokers-a-0.g2", "volume/brokers-a-0.data2.v2"}
    assert {v.key for v in run.resources.volumes} >= {"brokers-a-0.data2.v1", "brokers-a-0.data2.v2"}


def test_only_the_new_disk_may_be_formatted() -> None:
    successor = _successor(Phase.LAUNCHED, bound=True)
    document = document_for(
        a_view_of_two(a_broker(NODE, phase=Phase.RELEASED, bound=False), successor), successor.key, epoch=1
    )
    assert document is not None
    assert [(d.volume, d.fresh) for d in document.services[0].log_dirs] == [
        ("brokers-a-0.data.v1", False),
        ("brokers-a-0.data2.v2", True),
    ]


def _hand_over(isr: tuple[int, ...]) -> str:
    old, successor = a_broker(NODE, phase=Phase.RELEASED, bound=False), _successor(Phase.JOINED, bound=True)
    kafka = a_snapshot(a_partition("orders-0", (1000, 1001, 1002), isr=isr))
    decision = decide(a_situation(a_view_of_two(old, successor), kafka=kafka))
    retired = [e for e in decision.events if isinstance(e, facts.RetireRequested)]
    return str(retired[0].volumes) if retired else decision.sentence


def test_the_old_disk_is_kept_until_every_copy_is_whole_and_then_goes_alone() -> None:
    assert "fills its new disk: 1 of 1 partitions are not in sync there yet" in _hand_over((1001, 1002))
    assert _hand_over((1000, 1001, 1002)) == "('brokers-a-0.data2.v1',)"


def test_what_failed_is_no_reason_not_to_stop_the_broker_but_min_isr_is() -> None:
    view = a_view_of_two(to_replace={KEY: ReplaceView("healing", False, BEFORE, ("data2",))})
    out = a_partition("orders-0", (1000, 1001, 1002), isr=(1001, 1002))
    thin = a_partition("orders-1", (1000, 1001, 1002), isr=(1000, 1001))
    assert broker_gate(a_situation(view), a_snapshot(out), view.instances[KEY]).open
    closed = broker_gate(a_situation(view), a_snapshot(out, thin), view.instances[KEY])
    assert not closed.open


# --- what Kafka says ----------------------------------------------------------------------------------------------


class _Answer:
    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


class _Connection:
    """Answers DescribeLogDirs of each broker as it was told to."""

    name = "orders"

    def __init__(self, answers: dict[int, list[_Answer]]) -> None:
        self._answers = answers

    def ask_each(self, requests: Any, *, timeout_s: float) -> dict[int, _Answer]:
        return {b: _Answer(error_code=0, results=self._answers[b]) for b in requests}


def _dir(path: str, *sizes: int, error: int = 0) -> _Answer:
    parts = [_Answer(partition_index=n, partition_size=s, is_future_key=False) for n, s in enumerate(sizes)]
    topics = [_Answer(name="t", partitions=parts)] if parts else []
    return _Answer(error_code=error, log_dir=path, topics=topics, total_bytes=1000, usable_bytes=500)


def _read(*dirs: _Answer) -> Any:
    return read_disks(_Connection({1: list(dirs)}), frozenset({1}), Deadline(5.0, lambda: 0.0))  # type: ignore[arg-type]


def test_a_broker_with_a_directory_offline_tells_which_and_what_the_others_hold() -> None:
    disks = _read(_dir("/v/data/kafka", 10, 20), _dir("/v/data2/kafka", error=56))
    held = frozenset({TopicPartition("t", 0), TopicPartition("t", 1)})
    assert disks.failed == {1: FailedDirsSeen(("/v/data2/kafka",), 2, 30, held)}
    assert disks.brokers == {}


def test_a_broker_with_another_error_is_not_known_at_all() -> None:
    disks = _read(_dir("/v/data/kafka", 10), _dir("/v/data2/kafka", error=31))
    assert (disks.brokers, disks.failed) == ({}, {})


def test_a_broker_may_be_called_empty_though_nobody_can_read_one_of_its_disks() -> None:
    nothing = FailedDirsSeen(("/v/data2/kafka",), 0, 0)
    assert broker_is_empty(a_snapshot(log_dirs={}, failed_dirs={1000: nothing}), 1000).open
    held = replace(nothing, replicas=1, used_bytes=5)
    assert not broker_is_empty(a_snapshot(log_dirs={}, failed_dirs={1000: held}), 1000).open
    assert not broker_is_empty(a_snapshot(log_dirs={}), 1000).open


@pytest.mark.parametrize(
    ("paths", "disks"),
    [
        (("/r/volumes/data2/kafka",), ("data2",)),
        (("/data/volumes/data2/kafka",), ("data2",)),
        (("/r/volumes/data/kafka", "/r/volumes/data2/kafka"), ()),
        (("/r/elsewhere",), ()),
    ],
    ids=["one", "a root with that name", "all", "nobody's"],
)
def test_a_failed_directory_is_the_disk_its_path_names(paths: tuple[str, ...], disks: tuple[str, ...]) -> None:
    kafka = a_snapshot(log_dirs={}, failed_dirs={1000: FailedDirsSeen(paths, 0, 0)})
    assert failed_disks(kafka, a_broker()) == disks
    assert failed_disks(a_snapshot(log_dirs={1000: LogDirsSeen(0, 0, 1, 1)}), a_broker()) == ()


def _cure(**more: Any) -> object:
    view = a_view_of_two(**more)
    finding = {"name": "log_dir_failed", "since": BEFORE, "message": "1 log directories are offline"}
    reports = {**an_observation(view).reports, KEY: a_report(view.instances[KEY], findings=[finding])}
    kafka = a_snapshot(log_dirs={}, failed_dirs={1000: FailedDirsSeen(("/r/volumes/data2/kafka",), 3, 30)})
    decision = healing_step(a_situation(view, reports=reports, kafka=kafka))
    assert decision is not None
    return decision.events[1]


def test_a_failed_disk_is_replaced_alone_where_that_can_be_and_never_handed_over() -> None:
    assert _cure() == facts.NodeReplaceRequested(KEY, "healing of log_dir_failed", disks=("data2",))
    elsewhere = _cure(document=GOOGLE)
    assert elsewhere == facts.NodeReplaceRequested(KEY, "healing of log_dir_failed", new_disk=True)


def _cure_of_lost(*findings: str, key: str = KEY, **more: Any) -> object | None:
    """What is begun where the service of that VM does not start, since nothing is in those directories."""
    view = a_view_of_two(**more)
    told = [{"name": name, "since": BEFORE, "message": "it is empty"} for name in findings]
    reports = {**an_observation(view).reports, key: a_report(view.instances[key], "failed", findings=told)}
    kafka = a_snapshot(brokers=(1001, 1002), fenced=(1000,))
    decision = healing_step(a_situation(view, reports=reports, kafka=kafka))
    return decision.events[1] if decision is not None else None


def test_a_broker_that_does_not_start_for_a_lost_directory_gets_that_one_anew() -> None:
    alone = facts.NodeReplaceRequested(KEY, "healing of directory_lost:data", disks=("data",))
    assert _cure_of_lost("directory_lost:data") == alone
    everything = facts.NodeReplaceRequested(KEY, "healing of directory_lost:data", new_disk=True)
    assert _cure_of_lost("directory_lost:data", "directory_lost:data2") == everything
    assert _cure_of_lost("directory_lost:data", document=GOOGLE) == everything


def test_what_else_is_told_of_a_broker_that_does_not_run_is_not_cured_and_a_controllers_disk_is_the_quorums() -> None:
    assert _cure_of_lost("deadlock") is None
    assert _cure_of_lost("log_dir_failed") is None
    assert _cure_of_lost("directory_lost", key="controllers-a-0.g1") is None


def _successor_lost_while_it_filled_its_disk() -> ClusterView:
    return a_view_of_two(
        a_broker(phase=Phase.RELEASED, bound=False), _successor(Phase.JOINED, bound=True, lost_at=BEFORE)
    )


def _handed_over(view: ClusterView, *partitions: PartitionSeen, **kafka: Any) -> Decision | None:
    successors = (i for i in view.of_node(NODE) if i.planned.handover)
    reports = {i.key: a_report(i, "running") for i in successors}
    return handover_step(a_situation(view, kafka=a_snapshot(*partitions, **kafka), reports=reports))


def test_a_failed_disk_stays_while_it_may_be_the_last_copy_there_is_of_a_partition() -> None:
    """Its successor is lost with a disk half full, and the other copy is on a broker that has died meanwhile."""
    only = a_partition("lean-0", (1000, 1001), isr=(1001,), leader=-1)
    view = _successor_lost_while_it_filled_its_disk()
    assert _handed_over(view, only, brokers=(1002,), fenced=(1000, 1001)) is None  # another successor is made first
    disks = (a_broker().planned.volumes[0], _successor(Phase.JOINED).planned.volumes[1])
    third = a_broker(NODE, 3, service_id=1000, handover=True, volumes=disks)
    lost = replace(_successor(Phase.RELEASED, lost_at=BEFORE), bound=False)
    there = replace(view, instances={**view.instances, lost.key: lost, third.key: third})
    waits = _handed_over(there, only, brokers=(1000, 1002), fenced=(1001,))
    assert waits is not None
    assert waits.wait is not None
    assert waits.wait.reason == "CopiesMissing"
    assert (
        waits.sentence
    ) == "brokers-a-0.g1 keeps the disk nobody took over: 1 of 1 partitions have no copy in sync elsewhere"


def test_a_failed_disk_goes_with_its_vm_though_the_successor_is_lost_where_all_has_a_copy_elsewhere() -> None:
    elsewhere = a_partition("lean-0", (1000, 1001), isr=(1001,), leader=1001)
    retired = _handed_over(_successor_lost_while_it_filled_its_disk(), elsewhere, brokers=(1001, 1002), fenced=(1000,))
    assert retired is not None
    [asked] = retired.events
    assert isinstance(asked, facts.RetireRequested)
    assert asked.keys == ("brokers-a-0.g1",)


def test_a_kept_disk_goes_once_a_broker_of_another_id_has_taken_all_over() -> None:
    view = a_view_of_two(a_broker(phase=Phase.RELEASED, bound=False), a_broker(NODE, 3, service_id=1003))
    assert (
        _handed_over(view, a_partition("lean-0", (1000, 1001), isr=(), leader=-1), brokers=(1001, 1002, 1003)) is None
    )
    retired = _handed_over(view, a_partition("lean-0", (1003, 1001)), brokers=(1001, 1002, 1003))
    assert retired is not None
    assert [e.keys for e in retired.events if isinstance(e, facts.RetireRequested)] == [("brokers-a-0.g1",)]
