"""A broker's VM is lost where `healing.lostDisk` is `reattach`: the next one gets its disk, on real brokers."""

import pytest

from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.running import ledger_files
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(400)]

SPEC = ClusterSpec(name="lostdisk", healing={"lostDisk": "reattach"})


def test_a_broker_whose_vm_is_lost_comes_back_with_its_id_and_its_very_files(living_cluster: LivingCluster) -> None:
    """Under the strategy of specs that say none: `migrate`."""
    cluster = living_cluster
    assert cluster.spec.strategy == "migrate"
    before, old = cluster.head(), cluster.instance("two-b-0")
    files = ledger_files(cluster, old.key)
    with traffic(cluster.bootstrap) as workload:
        cluster.power_cut(old.key)
        cluster.event("instance.lost", before, where=old.key)
        cluster.event("replacement.completed", before, where=old.node)
        settled(cluster)
    new = cluster.instance("two-b-0")
    assert (new.service_id, new.generation) == (old.service_id, old.generation + 1)
    assert ledger_files(cluster, new.key) == files, "the very same files, not a copy of them"
    told = {e.type for e in cluster.events(before)}
    assert not told & {"drain.requested", "broker.unregistered"}, "nothing was copied, and no id is gone"
    assert workload.acknowledged > 0
