"""A real group with a member whose metadata nobody can read, beside one that is like any other."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition as ClientPartition

from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.group_members import METADATA_UNREADABLE
from planner.consumers.judgement import judged
from planner.consumers.reported import GroupsStatus
from tests.kafka_processes import KafkaProcesses
from tests.kafka_topics import create_topic
from tests.odd_member import OLD_LIBRARY, OddMember
from tests.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]

TOPIC, BESIDE = "odd-clicks", "beside-old-library"


@pytest.fixture
def gateway(one_broker: KafkaProcesses) -> Iterator[AdminGateway]:
    create_topic(one_broker.bootstrap, TOPIC, partitions=2, rf=1)
    producer = Producer({"bootstrap.servers": ",".join(one_broker.bootstrap), "acks": "all"})
    for _ in range(10):
        producer.produce(TOPIC, b"x", partition=0)
    assert producer.flush(20) == 0
    # An offset committed by somebody who is no member: the group has one before its odd member comes.
    for group in (OLD_LIBRARY, BESIDE):
        consumer = Consumer({"bootstrap.servers": ",".join(one_broker.bootstrap), "group.id": group})
        consumer.commit(offsets=[ClientPartition(TOPIC, 0, 7)], asynchronous=False)
        consumer.close()
    dialer = DirectDialer()
    yield AdminGateway(dialer, "odd", lambda: one_broker.bootstrap)
    dialer.close()


def test_case_04_one_odd_member_hides_no_other_group_on_a_real_broker(
    one_broker: KafkaProcesses, gateway: AdminGateway
) -> None:
    member = OddMember(one_broker.bootstrap[0])
    try:

        def look() -> GroupsStatus:
            return judged(gateway.groups([OLD_LIBRARY, BESIDE]), None)

        def has_settled() -> bool:
            odd = look().named(OLD_LIBRARY)
            return odd is not None and odd.state == "Stable"

        until(has_settled, "the odd member to be in its group", timeout_s=30)
        odd, beside = look().named(OLD_LIBRARY), look().named(BESIDE)
        assert odd is not None
        assert beside is not None
        assert (beside.word, beside.lag) == ("NoMembers", 3)
        assert (odd.word, odd.lag) == ("Unknown", 3)
        (told,) = odd.members
        assert (told.client, told.partitions, told.unreadable) == ("odd", 0, METADATA_UNREADABLE)
        assert [(p.partition, p.state, p.committed, p.end) for p in odd.partitions] == [(0, "Unknown", 7, 10)]
    finally:
        member.close()
