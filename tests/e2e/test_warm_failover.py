"""A warm pair of real clusters: MirrorMaker on a broker's VM copies, clients move there and back, and every record they
were promised is on whichever cluster is the primary, at the offset that groups go on from."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from controlplane.api.schemas import failovers as api
from tests.e2e.pair_of_clusters import (
    EU,
    TOPIC,
    US,
    Pair,
    a_pair,
    moving_client,
    topic_documents,
    warm_document,
)
from tests.fakes.bind import running_bind
from tests.marks import A_NETWORK_FOR_EACH_VM

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(480), A_NETWORK_FOR_EACH_VM]

GROUP = "billing"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    home = tmp_path_factory.mktemp("warm") / "home"
    with running_bind(tmp_path_factory.mktemp("bind")) as bind, a_pair(home, bind) as found:
        found.apply(*topic_documents(TOPIC))
        found.has_topics(TOPIC)
        yield found


def test_a_standby_that_is_declared_gets_the_topics_and_then_the_records(pair: Pair) -> None:
    with moving_client(pair, EU) as client:
        pair.living.until(lambda: len(client.acked) > 200 or None, "records", timeout_s=60)
    pair.apply(warm_document())
    pair.until_state("Standby", within_s=200)
    copy = pair.copy()
    assert (copy.is_running, copy.replicator) == (True, sorted(pair.broker_keys(US))[0])
    assert (pair.knocked(EU), pair.knocked(US)) == ({"open"}, {"refused"})
    print(f"the copy is {pair.until_copied().lag_s} s behind")
    assert pair.names(US) == pair.names(EU) >= {name for _, name in client.acked}


def test_a_planned_failover_loses_nothing_and_a_group_goes_on_where_it_was(pair: Pair) -> None:
    kept = _commits(pair, EU)
    with moving_client(pair) as client:
        for primary in (US, EU):
            at = pair.order()
            pair.until_state("Reversing", "Seeding", "Standby", primary=primary, within_s=120)
            client.is_taken_now(pair.living)
            print(f"to {primary}: pause {client.pause_after(at):.1f} s, {len(client.restarts)} restarts")
            assert _committed(pair, primary) == kept
            pair.until_state("Standby", primary=primary, within_s=200)
    pair.until_copied()
    there = pair.names(EU)
    missing = [name for _, name in client.acked if name not in there]
    print(f"{len(client.acked)} acknowledged, {len(missing)} missing of {len(there)}")
    assert missing == []
    assert pair.names(US) == there


def test_a_replicator_that_dies_comes_back_and_its_vm_is_relieved_by_another(pair: Pair) -> None:
    host = pair.copy().replicator
    pair.living.uid = pair.living.client.cluster(US).uid
    pair.living.power_cut(host)
    found = pair.living.until(
        lambda: ((copy := pair.copy()).replicator not in ("", host) and copy.is_running) or None,
        "another VM to copy",
        timeout_s=240,
    )
    assert found
    with moving_client(pair) as client:
        pair.living.until(lambda: len(client.acked) > 50 or None, "records", timeout_s=60)
    pair.until_copied()
    assert {name for _, name in client.acked} <= pair.names(US)


def test_of_a_primary_that_is_gone_the_standby_takes_over_with_what_was_copied(pair: Pair) -> None:
    pair.until_state("Standby", primary=EU, within_s=120)
    with moving_client(pair) as client:
        pair.living.until(lambda: len(client.acked) > 100 or None, "records", timeout_s=60)
        pair.living.uid = pair.living.client.cluster(EU).uid
        for key in pair.broker_keys(EU):
            pair.living.power_cut(key)
        at = pair.order(planned=False, accept_loss=True)
        pair.until_state("Reversing", primary=US, within_s=180)
        client.is_taken_now(pair.living, timeout_s=90)
        print(f"pause {client.pause_after(at):.1f} s")
    there = pair.names(US)
    lost = [name for when, name in client.acked if name not in there]
    print(f"{len(client.acked)} acknowledged, {len(lost)} lost")
    assert all(when < at for when, name in client.acked if name in lost), "what US acknowledged is there"
    assert "its brokers have not told" in pair.state().next
    assert pair.copy().replicator == ""


def test_the_old_primary_that_comes_back_is_copied_to_again_unless_it_has_records_of_its_own(pair: Pair) -> None:
    """Which of the two it is was decided by where the copy was when the power went."""
    for key in pair.broker_keys(EU):
        pair.living.power_on(key)
    pair.living.until(lambda: _is_judged(pair.state()) or None, "the old primary's brokers to tell", timeout_s=240)
    print(f"only on {EU}: {pair.state().only_on_standby}")
    if only_there := pair.state().only_on_standby:
        assert len(pair.names(EU) - pair.names(US)) <= sum(only_there.values())
        assert "that the new one has not: withdraw the pair" in pair.state().next
        assert pair.copy().replicator == ""
        return
    pair.until_state("Standby", primary=US, within_s=240)
    with moving_client(pair) as client:
        pair.living.until(lambda: len(client.acked) > 50 or None, "records", timeout_s=60)
    pair.until_copied()
    assert pair.names(EU) == pair.names(US) >= {name for _, name in client.acked}


def _is_judged(pair: api.FailoverOut) -> bool:
    return pair.state != "Reversing" or bool(pair.only_on_standby)


def _commits(pair: Pair, cluster: str) -> dict[int, int]:
    """A group reads half of what is there, and commits that."""
    settings = {"bootstrap.servers": ",".join(pair.brokers(cluster)), "group.id": GROUP, "enable.auto.commit": False}
    consumer = Consumer(settings)
    try:
        partitions = sorted(consumer.list_topics(TOPIC, timeout=20).topics[TOPIC].partitions)
        ends = {n: consumer.get_watermark_offsets(TopicPartition(TOPIC, n), timeout=20)[1] for n in partitions}
        offsets = [TopicPartition(TOPIC, n, end // 2) for n, end in ends.items()]
        consumer.commit(offsets=offsets, asynchronous=False)
        return {one.partition: one.offset for one in offsets}
    finally:
        consumer.close()


def _committed(pair: Pair, cluster: str) -> dict[int, int]:
    admin = AdminClient({"bootstrap.servers": ",".join(pair.brokers(cluster))})
    asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(GROUP)])
    found = asked[GROUP].result(20).topic_partitions
    return {one.partition: one.offset for one in found}
