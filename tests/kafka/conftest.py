"""What several files have in common: each broker of its own costs seconds of two cores."""

from collections.abc import Iterator

import pytest

from tests.kafka_processes import KafkaProcesses


@pytest.fixture(scope="session")
def one_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaProcesses]:
    """A broker that is left running, for tests that have topics of their own on it. Its name is 1000, its rack a."""
    processes = KafkaProcesses(tmp_path_factory.mktemp("one-broker"), network="127.0.68", min_isr=1, replication=1)
    try:
        processes.found({1000: "a"})
        yield processes
    finally:
        processes.close()
