"""What others wrote into ZooKeeper may be anything: it is told by the path of the node, and nothing is guessed."""

import json

import pytest

from controlplane.kafka.zookeeper.errors import ZooKeeperUnavailable
from controlplane.kafka.zookeeper.sessions import faults, readable


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"no json", b"[]", b"null", b'{"brokerid": "seven"}', b'{"brokerid": {}}', b"\x00"]
)
def test_a_node_that_holds_what_kafka_does_not_write_is_told_by_its_path(content: bytes) -> None:
    with (
        pytest.raises(
            ZooKeeperUnavailable, match="reading who is registered at orders failed: /controller holds"
        ) as told,
        faults(what="reading who is registered", where="orders"),
        readable("/controller"),
    ):
        int(str(json.loads(content).get("brokerid", -1)))
    assert str(told.value).isprintable()


def test_what_is_as_it_should_be_is_read() -> None:
    with faults(what="reading", where="orders"), readable("/controller"):
        assert int(str(json.loads(b'{"brokerid": 7}').get("brokerid", -1))) == 7
