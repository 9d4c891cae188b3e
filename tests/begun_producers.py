"""Producers that begin, for the id they are given."""

from collections.abc import Sequence

from kafka.errors import CoordinatorLoadInProgressError
from kafka.protocol.producer import InitProducerIdRequest

from controlplane.kafka.deadline import Deadline
from controlplane.kafka.dialer import DirectDialer
from tests.waiting import until


def begun_producer(bootstrap: Sequence[str]) -> int:
    """The id of a producer that begins at one of these brokers; waits while that has asked for ids and has none."""
    return until(lambda: _begun(bootstrap), "a producer begins")[0]


def _begun(bootstrap: Sequence[str]) -> tuple[int, ...]:
    dialer = DirectDialer()
    try:
        deadline = Deadline.after(20.0)
        with dialer.dial("own", bootstrap, deadline) as connection:
            asked = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
            answer = connection.ask(asked, what="a producer's id", deadline=deadline)
    finally:
        dialer.close()
    assert answer.error_code in {0, CoordinatorLoadInProgressError.errno}
    return () if answer.error_code else (int(answer.producer_id),)
