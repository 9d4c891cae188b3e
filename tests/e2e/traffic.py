"""Clients on a living cluster, and the audit after them: nothing acknowledged is lost, nothing is there twice."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType

from confluent_kafka.admin import AdminClient

from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.min_isr import MinIsrObserver
from controlplane.kafka.workload import Workload
from tests.kafka_topics import create_topic
from tests.waiting import until

RECORDS_PER_S = 200
_NUMBERS = itertools.count(1)


@contextmanager
def traffic(
    bootstrap: Callable[[], Sequence[str]],
    *,
    may_fall_below_min_isr: bool = False,
    rf: int = 3,
    excused: Sequence[str] = (),
    records_per_s: int = RECORDS_PER_S,
    client: Mapping[str, str] = MappingProxyType({}),
    client_port: int = 0,
) -> Iterator[Workload]:
    """Producer and consumer on a topic of their own while the block runs; the audit when it ends well.

    `may_fall_below_min_isr`: only where the fault itself takes a broker away; `excused`: topics that may by the spec.
    One replica of the topic's `rf` may be away at a time. It goes afterwards. Producer, consumer and audit are clients
    with the properties `client`, at `client_port` of the same hosts; min ISR is watched as ever.
    """

    def for_clients() -> list[str]:
        told = bootstrap()
        return [f"{a.rpartition(':')[0]}:{client_port}" for a in told] if client_port else list(told)

    topic = f"traffic-{next(_NUMBERS)}"
    create_topic(bootstrap(), topic, partitions=6, rf=rf, min_isr=rf - 1)
    workload = Workload(for_clients, topic, records_per_s=records_per_s, group=f"{topic}-readers", client=client)
    dialer = DirectDialer()
    observer = MinIsrObserver(AdminGateway(dialer, "e2e-observer", bootstrap).partitions)
    observer.start()
    workload.start()
    try:
        until(lambda: workload.acknowledged > 0, "the first record to be acknowledged", timeout_s=30)
        yield workload
    finally:
        workload.stop()
        seen = observer.stop()
        dialer.close()
    assert workload.error == ""
    audit = workload.audit(timeout_s=60)
    assert audit.acknowledged > 0
    assert (audit.lost, audit.duplicated, audit.failed) == (0, 0, 0), audit
    assert seen.samples > 0
    below_s = sum(seconds for name, seconds in seen.by_partition.items() if name.topic not in excused)
    assert may_fall_below_min_isr or below_s == 0, seen
    admin = AdminClient({"bootstrap.servers": ",".join(bootstrap()), "log_level": 0})
    admin.delete_topics([topic])[topic].result(30)
