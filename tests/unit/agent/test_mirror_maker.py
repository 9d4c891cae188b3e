"""What MirrorMaker 2 is told, byte for byte, and where a flow begins that has nothing to copy twice."""

from dataclasses import replace
from pathlib import Path

import pytest

from agent.host_port import HostPort
from agent.services.mirror_maker import MirrorEnd, MirrorFlow, mirror_properties, offsets_topic, start_after

EU = MirrorEnd("orders-eu", (HostPort("10.1.0.5", 9092), HostPort("fd00:1::6", 9092)))
US = MirrorEnd("orders-us", (HostPort("10.2.0.5", 9091),), tls=Path("/var/lib/replicator/orders-us"))
FLOW = MirrorFlow(EU, US, ("payments.eu", "clicks"), not_groups=("scratch-.*",))


def test_the_file_is_this_one() -> None:
    assert (
        mirror_properties(FLOW)
        == """\
# The two clusters
clusters=orders-eu, orders-us
orders-eu.bootstrap.servers=10.1.0.5:9092,[fd00:1::6]:9092
orders-us.bootstrap.servers=10.2.0.5:9091
orders-us.security.protocol=SSL
orders-us.ssl.keystore.type=PEM
orders-us.ssl.keystore.location=/var/lib/replicator/orders-us/node.pem
orders-us.ssl.truststore.type=PEM
orders-us.ssl.truststore.location=/var/lib/replicator/orders-us/cluster-ca.pem

# One way alone
orders-eu->orders-us.enabled=true
orders-eu->orders-us.topics=clicks|payments[.]eu
orders-eu->orders-us.groups=.*
orders-eu->orders-us.groups.exclude=console-consumer-.*,__.*,scratch-.*
orders-eu->orders-us.emit.heartbeats.enabled=false
orders-us->orders-eu.enabled=false
orders-us->orders-eu.emit.heartbeats.enabled=false

# What is copied, and where MirrorMaker writes
replication.policy.class=org.apache.kafka.connect.mirror.IdentityReplicationPolicy
offset-syncs.topic.location=target
sync.topic.acls.enabled=false
sync.topic.configs.enabled=false
sync.group.offsets.enabled=true
sync.group.offsets.interval.seconds=5
emit.checkpoints.interval.seconds=5
refresh.topics.interval.seconds=5
orders-us.offset.flush.interval.ms=5000
offset.lag.max=0
offset.storage.partitions=1
replication.factor=3
checkpoints.topic.replication.factor=3
heartbeats.topic.replication.factor=3
offset-syncs.topic.replication.factor=3
offset.storage.replication.factor=3
status.storage.replication.factor=3
config.storage.replication.factor=3
"""
    )


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"topics": ()}, "empty list for all"),
        ({"topics": ("a|.*",)}, "no name of a topic"),
        ({"topics": (".*",)}, "no name of a topic"),
        ({"topics": ("mm2-offsets.a.internal",)}, "no name of a topic"),
        ({"target": EU}, "not copied to itself"),
        ({"target": replace(US, bootstrap=())}, "each end has an address"),
    ],
)
def test_what_would_copy_something_else_is_no_flow(wrong: dict[str, object], words: str) -> None:
    fields = {"source": FLOW.source, "target": FLOW.target, "topics": FLOW.topics} | wrong
    with pytest.raises(ValueError, match=words):
        MirrorFlow(**fields)  # type: ignore[arg-type]


def test_a_flow_goes_on_behind_what_both_have() -> None:
    found = list(start_after("orders-us", {("clicks", 1): 7, ("clicks", 0): 2611, ("empty", 0): 0}))
    assert found == [
        (b'["MirrorSourceConnector",{"cluster":"orders-us","partition":0,"topic":"clicks"}]', b'{"offset":2610}'),
        (b'["MirrorSourceConnector",{"cluster":"orders-us","partition":1,"topic":"clicks"}]', b'{"offset":6}'),
        (b'["MirrorSourceConnector",{"cluster":"orders-us","partition":0,"topic":"empty"}]', None),
    ]
    assert offsets_topic("orders-us") == "mm2-offsets.orders-us.internal"
