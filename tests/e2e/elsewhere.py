"""Clients that are not on the machine of the server, and ways that are cut for the server alone: what the server does
not see goes on, and what it sees is not all there is. Linux, as root; VMs with a network each.
"""

import itertools
import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from controlplane.kafka.workload import Workload
from providers.local.namespaces import Namespaces, inside, sweep
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import RECORDS_PER_S
from tests.kafka_topics import create_topic

CLIENTS = "198.18.1.1"
"""Of the bridge, and of no VM."""

_TOPICS = itertools.count(1)
_PREFERENCE = "90"
"""Before the rules of the main table."""


@contextmanager
def traffic_from_elsewhere(cluster: LivingCluster, home: Path) -> Iterator[Workload]:
    """Like `traffic`, but from a machine of its own: what cuts the server off does not cut off these clients."""
    home.mkdir()
    (home / "boot.json").write_text(json.dumps({}))
    topic = f"elsewhere-{next(_TOPICS)}"
    create_topic(cluster.bootstrap(), topic, partitions=6, rf=3, min_isr=2)
    brokers = list(cluster.bootstrap())
    workload = Workload(lambda: brokers, topic, records_per_s=RECORDS_PER_S, group=f"{topic}-readers")
    Namespaces().open(home, [CLIENTS])
    try:
        inside(home, workload.start)  # its threads, and the clients' own, live where they were started
        try:
            yield workload
        finally:
            workload.stop()
    finally:
        shutil.rmtree(home)
        sweep()
    assert workload.error == ""
    audit = workload.audit(timeout_s=60)
    assert audit.acknowledged > 0
    assert (audit.lost, audit.duplicated, audit.failed) == (0, 0, 0), audit


@contextmanager
def unseen(cluster: LivingCluster, *port: str) -> Iterator[None]:
    """No packet of this machine to that port (`dport 9092`) finds its way to a VM of the cluster:
    blackhole routes by policy. Packets of the VMs still come, and among themselves nothing changes."""
    addresses = sorted({i.address for i in cluster.detail().instances})
    with ExitStack() as lifted:
        for address in addresses:
            _rule("add", address, port)
            lifted.callback(_rule, "del", address, port)
        yield


def _rule(verb: str, address: str, port: Sequence[str]) -> None:
    rule = ["to", f"{address}/32", "ipproto", "tcp", *port, "blackhole", "pref", _PREFERENCE]
    subprocess.run(["ip", "rule", verb, *rule], check=True)
