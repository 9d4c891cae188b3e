"""What clients wrote into their groups may be any bytes: what cannot be read is told of that member alone."""

import struct
from collections.abc import Mapping
from datetime import UTC, datetime
from types import SimpleNamespace as Answer
from typing import Any

import pytest
from kafka.protocol.consumer import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from controlplane.kafka.deadline import Deadline
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.group_members import ASSIGNMENT_UNREADABLE, METADATA_UNREADABLE
from controlplane.kafka.groups import read_groups
from controlplane.kafka.pair_copies.broker_logs import BrokerLogs
from planner.consumers.judgement import judged
from planner.consumers.seen import GroupsSeen
from planner.observed import TopicPartition
from tests.odd_member import EMPTY_ASSIGNMENT, ODD_METADATA, OLD_LIBRARY

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
TOPIC_METADATA = ConsumerProtocolSubscription(version=0, topics=["clicks"], user_data=b"").encode()
_Given = ConsumerProtocolAssignment.TopicPartition
ASSIGNED = ConsumerProtocolAssignment(
    version=0, assigned_partitions=[_Given(topic="clicks", partitions=[0, 1])], user_data=b""
).encode()


class Groups:
    """A Connection to one broker with these groups, each with one member and an offset of 7 of 10 in `clicks-0`."""

    name = "scripted"

    def __init__(self, members: Mapping[str, tuple[bytes, bytes]]) -> None:
        self.members = members
        self.asked_of: list[str] = []

    def refresh_nodes(self, deadline: Deadline) -> frozenset[int]:
        return frozenset({1})

    def ask(self, request: Any, *, what: str, deadline: Deadline, node: int | None = None) -> Any:
        self.asked_of += [t.name for t in request.topics]
        partitions = [Answer(partition_index=n, leader_id=1) for n in (0, 1)]
        known = [t for t in request.topics if t.name == "clicks"]
        return Answer(topics=[Answer(name=t.name, error_code=0, partitions=partitions) for t in known])

    def ask_each(self, requests: Mapping[int, Any], *, timeout_s: float) -> Mapping[int, Any]:
        return {n: getattr(self, type(r).__name__.removesuffix("Request"))(r) for n, r in requests.items()}

    def close(self) -> None: ...

    def ListGroups(self, _: Any) -> Any:
        listed = [Answer(group_id=name, group_type="classic", protocol_type="consumer") for name in self.members]
        return Answer(error_code=0, groups=listed)

    def DescribeGroups(self, request: Any) -> Any:
        def member(metadata: bytes, assignment: bytes) -> Any:
            return Answer(
                member_id="m1",
                client_id="app",
                client_host="/10.0.0.7",
                member_metadata=metadata,
                member_assignment=assignment,
            )

        return Answer(
            groups=[
                Answer(group_id=g, error_code=0, group_state="Stable", members=[member(*self.members[g])])
                for g in request.groups
            ]
        )

    def OffsetFetch(self, request: Any) -> Any:
        offsets = [Answer(partition_index=0, error_code=0, committed_offset=7)]
        topics = [Answer(name="clicks", partitions=offsets)]
        return Answer(groups=[Answer(group_id=g.group_id, error_code=0, topics=topics) for g in request.groups])

    def ListOffsets(self, request: Any) -> Any:
        ends = [Answer(partition_index=n, error_code=0, offset=10) for n in (0, 1)]
        return Answer(topics=[Answer(name=t.name, partitions=ends) for t in request.topics])


def look(members: Mapping[str, tuple[bytes, bytes]]) -> GroupsSeen:
    return read_groups(Groups(members), None, Deadline.after(5), lambda: NOW)


def test_case_04_one_odd_member_hides_no_other_group_and_not_the_offsets_of_its_own() -> None:
    seen = look({"billing": (TOPIC_METADATA, ASSIGNED), OLD_LIBRARY: (ODD_METADATA, EMPTY_ASSIGNMENT)})
    told = judged(seen, None)
    billing, odd = told.named("billing"), told.named(OLD_LIBRARY)
    assert billing is not None
    assert odd is not None
    assert (billing.word, billing.lag, [m.unreadable for m in billing.members]) == ("Reading", 3, [""])
    assert [(p.topic, p.partition, p.state) for p in billing.partitions] == [
        ("clicks", 0, "Reading"),
        ("clicks", 1, "NoOffset"),
    ]
    (member,) = odd.members
    assert (member.client, member.host, member.partitions) == ("app", "10.0.0.7", 0)
    assert member.unreadable == METADATA_UNREADABLE
    assert (odd.word, odd.lag) == ("Unknown", 3)
    assert [(p.state, p.committed, p.end) for p in odd.partitions] == [("Unknown", 7, 10)]


@pytest.mark.parametrize(
    "content",
    [
        b"x",
        b"hello, this is not a protocol of Kafka",
        b"\xff" * 40,
        struct.pack(">hi", 0, -1) + struct.pack(">i", 0),
        struct.pack(">hi", 0, 2**31 - 1),
        struct.pack(">hih", 0, 1, 4) + b"\xff\xfe\xfd\xfc" + struct.pack(">i", 0),
    ],
)
def test_any_bytes_of_a_client_are_told_of_its_member_alone(content: bytes) -> None:
    members = {"a": (content, ASSIGNED), "b": (TOPIC_METADATA, content), "c": (TOPIC_METADATA, ASSIGNED)}
    a, b, c = (g.members[0] for g in look(members).groups)
    assert (a.topics, a.unreadable, len(a.partitions)) == ((), METADATA_UNREADABLE, 2)
    assert (b.topics, b.unreadable, b.partitions) == (("clicks",), ASSIGNMENT_UNREADABLE, ())
    assert (c.unreadable, c.partitions) == ("", (TopicPartition("clicks", 0), TopicPartition("clicks", 1)))


def test_a_subscription_of_a_newer_protocol_is_read_as_far_as_it_is_known() -> None:
    newer = struct.pack(">hih", 7, 1, 6) + b"clicks" + struct.pack(">ii", 0, 0) + struct.pack(">ih", -1, -1) + b"more"
    (group,) = look({"new": (newer, ASSIGNED)}).groups
    assert (group.members[0].topics, group.members[0].unreadable) == (("clicks",), "")


def test_brokers_are_not_asked_of_topics_no_cluster_can_have() -> None:
    names = ["clicks", "two words", "", "x" * 250, "new\nline", "naïve"]
    metadata = ConsumerProtocolSubscription(version=0, topics=names, user_data=b"").encode()
    connection = Groups({"odd": (metadata, b"")})
    (group,) = read_groups(connection, None, Deadline.after(5), lambda: NOW).groups
    assert group.members[0].topics == ("clicks",)
    assert connection.asked_of == ["clicks"]


class LoadingGroups(Groups):
    """Whose coordinator has not read the offsets of `loading` yet."""

    def OffsetFetch(self, request: Any) -> Any:
        answer = super().OffsetFetch(request)
        return Answer(groups=[g for g in answer.groups if g.group_id != "loading"])


def test_a_group_that_was_not_read_is_named_and_never_told_as_gone() -> None:
    members = {"billing": (TOPIC_METADATA, ASSIGNED), "loading": (TOPIC_METADATA, ASSIGNED)}
    seen = read_groups(LoadingGroups(members), None, Deadline.after(5), lambda: NOW)
    assert ([g.name for g in seen.groups], seen.unread, seen.silent) == (["billing"], ("loading",), ())
    assert look(members).unread == ()
    with pytest.raises(KafkaUnavailable, match="loading could not be read"):
        BrokerLogs(LoadingGroups(members), Deadline.after(5), lambda: NOW).groups(None)
