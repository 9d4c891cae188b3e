"""From a Jolokia answer to a message on its way: figures, shares, restarts, and a Kafka that does not answer."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from agent.metrics import Jolokia, JolokiaSilent
from agent.metrics_interval import MetricsSubject, message_of, shares
from agent.metrics_reading import Reading, read_counters
from agent.metrics_shipping import Shipping, ShippingSettings
from agent.metrics_spool import Parcel, Spool
from agent.process_io import disk_bytes
from agent.sending import Undelivered

SUBJECT = MetricsSubject("c1", 1001, "broker-a-1")
MINUTE_MS = 60_000


def a_reading(at_s: float = 0.0, **changes: Any) -> Reading:
    values: dict[str, Any] = {
        "at_s": at_s,
        "started_ms": 5,
        "log_bytes": {("orders", 0): 100, ("orders", 1): 200, ("bills", 0): 7},
        "end_offset": {("orders", 0): 10, ("orders", 1): 10, ("bills", 0): 1},
        "leads": frozenset({("orders", 0), ("orders", 1)}),
        "topic_in_bytes": {"orders": 0},
        "topic_out_bytes": {"orders": 0},
        "counters": {"bytes_in": 0.0, "replication_bytes_in": 0.0, "idle_ns": 0.0, "cpu_ns": 0.0},
        "gauges": {"processors": 4.0, "log_flush_p99_ms": 3.5},
    }
    return Reading(**{**values, **changes})


def told(before: Reading | None, now: Reading) -> Any:
    return message_of(SUBJECT, before, now, interval_start_ms=MINUTE_MS, interval_ms=MINUTE_MS)


def by_partition(message: Any) -> dict[tuple[str, int], tuple[int | None, int | None, int | None]]:
    return {(p.topic, p.partition): (p.log_bytes, p.in_bytes, p.out_bytes) for p in message.partitions}


def test_a_topics_bytes_are_shared_by_how_far_its_logs_grew() -> None:
    now = a_reading(
        60.0,
        end_offset={("orders", 0): 40, ("orders", 1): 20, ("bills", 0): 9},
        topic_in_bytes={"orders": 1000},
        topic_out_bytes={"orders": 400},
    )
    message = told(a_reading(), now)
    assert by_partition(message) == {
        ("orders", 0): (100, 750, 300),
        ("orders", 1): (200, 250, 100),
        ("bills", 0): (7, None, None),
    }
    assert message.elapsed_ms == MINUTE_MS


@given(st.integers(0, 10**15), st.lists(st.integers(0, 10**12), min_size=1, max_size=50))
def test_shares_add_up_to_the_whole(total: int, weights: list[int]) -> None:
    split = shares(total, weights)
    assert sum(split) == total
    assert min(split) >= 0
    if any(weights):
        assert all(
            abs(part - total * weight / sum(weights)) < 2 + total * 1e-12
            for part, weight in zip(split, weights, strict=True)
        )


@pytest.mark.parametrize(("requests", "told"), [(9, False), (10, True)])
def test_a_latency_is_told_only_where_such_requests_came_in_the_interval(requests: int, told: bool) -> None:
    before = a_reading(counters={"produce_local_p99_ms_count": 500.0})
    now = a_reading(
        60.0,
        counters={"produce_local_p99_ms_count": 500.0 + requests},
        gauges={"processors": 4.0, "produce_local_p99_ms": 80.0, "fetch_local_p99_ms": 70.0},
    )
    expected = {"produce_local_p99_ms": 80.0} if told else {}
    message = message_of(SUBJECT, before, now, interval_start_ms=MINUTE_MS, interval_ms=MINUTE_MS)
    assert dict(message.figures) == expected


def test_a_first_reading_knows_sizes_alone() -> None:
    message = told(None, a_reading())
    assert by_partition(message)["orders", 0] == (100, None, None)
    assert message.elapsed_ms == 0
    assert dict(message.figures) == {"log_flush_p99_ms": 3.5}


@pytest.mark.parametrize(
    "before",
    [a_reading(started_ms=4, topic_in_bytes={"orders": 9_999}), a_reading(-60.0), a_reading(45.0)],
    ids=["restarted in between", "an interval was missed", "read too early"],
)
def test_readings_that_cannot_be_compared_give_no_rates(before: Reading) -> None:
    message = told(before, a_reading(60.0, topic_in_bytes={"orders": 1000}))
    assert {figures[1] for figures in by_partition(message).values()} == {None}
    assert message.elapsed_ms == 0
    assert "cpu" not in message.figures


def test_a_topic_that_gained_a_leader_is_unknown_for_that_interval() -> None:
    now = a_reading(60.0, leads=frozenset({("orders", 0)}), topic_in_bytes={"orders": 1000})
    assert by_partition(told(a_reading(), now))["orders", 0] == (100, None, None)


def test_broker_figures_are_shares_and_rates_of_the_interval() -> None:
    now = a_reading(60.0, counters={"bytes_in": 600.0, "replication_bytes_in": 60.0, "idle_ns": 45e9, "cpu_ns": 120e9})
    assert told(a_reading(), now).figures == pytest.approx(
        {"log_flush_p99_ms": 3.5, "cpu": 0.5, "request_handler_idle": 0.75, "nic_in_bytes_per_s": 11.0}
    )


def test_garbage_collections_and_disks_are_told_of_the_interval() -> None:
    now = a_reading(60.0, counters={"gc_ms": 3_000.0, "disk_read": 600.0, "disk_written": 6_000.0})
    before = a_reading(counters={"gc_ms": 0.0, "disk_read": 0.0, "disk_written": 0.0})
    assert told(before, now).figures == pytest.approx(
        {"log_flush_p99_ms": 3.5, "gc_share": 0.05, "disk_read_bytes_per_s": 10.0, "disk_write_bytes_per_s": 100.0}
    )


def test_the_disk_counters_of_a_process_are_those_of_linux(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "io").write_text("rchar: 9\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 1\n")
    assert disk_bytes(7, proc=tmp_path) == {"disk_read": 4096.0, "disk_written": 8192.0}
    assert disk_bytes(8, proc=tmp_path) == {}, "it is gone"


def test_collectors_are_one_counter_and_the_process_is_looked_up_by_its_pid() -> None:
    collectors = {
        "java.lang:name=G1 Young Generation,type=GarbageCollector": {"CollectionTime": 40},
        "java.lang:name=G1 Old Generation,type=GarbageCollector": {"CollectionTime": 2},
    }
    answers = {**ANSWERS, "java.lang:type=GarbageCollector,name=*": collectors}
    asked: list[int] = []

    def disk(pid: int) -> Mapping[str, float]:
        asked.append(pid)
        return {"disk_written": 5.0}

    reading = read_counters(jolokia(answers), at_s=9.0, disk=disk)
    assert (reading.counters["gc_ms"], reading.counters["disk_written"], asked) == (42.0, 5.0, [4711])
    assert "pid" not in reading.gauges


ANSWERS: Mapping[str, Any] = {
    "kafka.log:type=Log,name=Size,topic=*,partition=*": {
        "kafka.log:name=Size,partition=4,topic=o24,type=Log": {"Value": 123},
        "kafka.log:name=Size,partition=5,topic=o24,type=Log": {"Value": -1},
    },
    "kafka.cluster:type=Partition,name=ReplicasCount,topic=*,partition=*": {
        "kafka.cluster:name=ReplicasCount,partition=4,topic=o24,type=Partition": {"Value": 3},
        "kafka.cluster:name=ReplicasCount,partition=5,topic=o24,type=Partition": {"Value": 0},
    },
    "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec,topic=*": {
        "kafka.server:name=BytesInPerSec,topic=o24,type=BrokerTopicMetrics": {"Count": 77}
    },
    "java.lang:type=Runtime": 1_700_000_000_000,
}


def jolokia(answers: Mapping[str, Any]) -> Jolokia:
    def answer(request: httpx.Request) -> httpx.Response:
        import json

        items = [
            {"status": 200, "value": 4711 if item["attribute"] == "Pid" else answers[item["mbean"]]}
            if item["mbean"] in answers
            else {"status": 404}
            for item in json.loads(request.content)
        ]
        return httpx.Response(200, json=items)

    return Jolokia("http://127.0.0.1:1", transport=httpx.MockTransport(answer))


def test_one_bulk_answer_becomes_a_reading_and_what_is_missing_stays_unknown() -> None:
    reading = read_counters(jolokia(ANSWERS), at_s=9.0, disk=lambda _: {})
    assert reading.log_bytes == {("o24", 4): 123}
    assert reading.leads == {("o24", 4)}
    assert reading.topic_in_bytes == {"o24": 77}
    assert (reading.started_ms, reading.at_s, reading.end_offset, reading.counters) == (1_700_000_000_000, 9.0, {}, {})


def test_an_answer_without_the_process_start_is_none() -> None:
    with pytest.raises(JolokiaSilent, match="start time"):
        read_counters(jolokia({}), at_s=0.0)


def test_a_full_spool_drops_the_oldest_and_counts_it() -> None:
    spool = Spool(most_bytes=10)
    for name in "abc":
        spool.put(Parcel(name.encode(), b"1234"))
    assert [parcel.key for parcel in spool] == [b"b", b"c"]
    assert spool.dropped == 1
    spool.put(Parcel(b"huge", b"x" * 11))
    assert (len(spool), spool.dropped) == (0, 4)


class FakeClock:
    def __init__(self) -> None:
        self.now_s = 600.0

    def epoch_s(self) -> float:
        return self.now_s

    def monotonic_s(self) -> float:
        return self.now_s


class FakeCarrier:
    """Holds what it was given until the test says how it went."""

    def __init__(self) -> None:
        self.held: list[tuple[Parcel, Callable[[Undelivered | None], None]]] = []
        self.room = 100

    def send(self, parcel: Parcel, delivered: Callable[[Undelivered | None], None]) -> bool:
        if len(self.held) >= self.room:
            return False
        self.held.append((parcel, delivered))
        return True

    def settle(self, failure: Undelivered | None) -> list[bytes]:
        held, self.held = self.held, []
        for _, delivered in held:
            delivered(failure)
        return [parcel.key for parcel, _ in held]

    def poll(self, within_s: float) -> None: ...

    def close(self) -> None: ...


class Ship:
    """Shipping with fakes around it; `minutes` lets that many intervals end."""

    def __init__(self, read: Callable[[float], Reading] | None = None, **settings: int) -> None:
        self.clock, self.carrier = FakeClock(), FakeCarrier()
        self.shipping = Shipping(
            SUBJECT, read or (lambda at_s: a_reading(at_s)), self.carrier, self.clock, ShippingSettings(**settings)
        )

    def minutes(self, count: int) -> None:
        for _ in range(count):
            self.clock.now_s += 60
            self.shipping.tick()


def test_one_message_per_interval_named_after_the_interval_that_ended() -> None:
    ship = Ship()
    assert ship.shipping.tick() == 60.0
    ship.minutes(2)
    ship.shipping.tick()
    assert ship.carrier.settle(None) == [b"1/c1/1001/600000", b"1/c1/1001/660000"]
    assert ship.shipping.waiting == 0


def test_a_kafka_that_does_not_answer_costs_a_fixed_number_of_messages() -> None:
    size = len(told(a_reading(), a_reading(60.0)).encode())
    ship = Ship(in_flight=2, spool_bytes=3 * size)
    ship.minutes(50)
    assert len(ship.carrier.held) == 2
    assert ship.shipping.waiting == 5
    assert ship.shipping.dropped == 45


def test_what_was_not_delivered_goes_out_again_first() -> None:
    ship = Ship(in_flight=1)
    ship.minutes(2)
    assert ship.carrier.settle(Undelivered("timed out")) == [b"1/c1/1001/600000"]
    ship.shipping.tick()
    assert ship.carrier.settle(None) == [b"1/c1/1001/600000"]
    ship.shipping.tick()
    assert ship.carrier.settle(None) == [b"1/c1/1001/660000"]


def test_a_message_kafka_will_never_take_does_not_block_the_others() -> None:
    ship = Ship(in_flight=1)
    ship.minutes(2)
    ship.carrier.settle(Undelivered("too large", is_final=True))
    ship.shipping.tick()
    assert ship.carrier.settle(None) == [b"1/c1/1001/660000"]
    assert ship.shipping.dropped == 1


def test_a_full_carrier_is_asked_again_later() -> None:
    ship = Ship()
    ship.carrier.room = 0
    ship.minutes(1)
    assert ship.shipping.waiting == 1
    ship.carrier.room = 1
    ship.shipping.tick()
    assert ship.carrier.settle(None) == [b"1/c1/1001/600000"]


def test_a_silent_metrics_port_leaves_a_gap_and_nothing_else() -> None:
    def read(at_s: float) -> Reading:
        if at_s == 720.0:
            raise JolokiaSilent("refused")
        return a_reading(at_s)

    ship = Ship(read)
    ship.minutes(3)
    parcels = [parcel for parcel, _ in ship.carrier.held]
    assert [parcel.key for parcel in parcels] == [b"1/c1/1001/600000", b"1/c1/1001/720000"]
    after_the_gap = pa.ipc.open_stream(parcels[1].payload).read_next_batch()
    assert after_the_gap.column("elapsed_ms").to_pylist() == [0]
