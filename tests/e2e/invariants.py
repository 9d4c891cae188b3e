"""What must hold after every fault: one VM per generation, nothing left over in Kafka, and then silence."""

import time
from collections import Counter
from pathlib import Path

from providers import process
from providers.local.launch import VM_DIR
from tests.e2e.living_cluster import LivingCluster

QUIET_S = 3.0
"""At least two looks at a cluster at rest, which the tests let rest for one second."""


def settled(cluster: LivingCluster, *, within_s: float = 150.0) -> None:
    """Waits until the cluster has converged, then judges it: every test ends with this, and leaves a whole cluster."""
    cluster.converged(within_s=within_s)
    _each_vm_was_asked_for_once(cluster)
    _only_wanted_vms_run(cluster)
    _nothing_is_left_in_kafka(cluster)
    _then_it_is_quiet(cluster)


def _each_vm_was_asked_for_once(cluster: LivingCluster) -> None:
    requested = [
        f"{i['node']}.g{i['generation']}"
        for e in cluster.events()
        if e.type == "surge.requested"
        for i in e.data["instances"]
    ]
    requested += [
        f"{e.data['planned']['node']}.g{e.data['planned']['generation']}"
        for e in cluster.events()
        if e.type == "instance.adopted"
    ]
    twice = [key for key, times in Counter(requested).items() if times > 1]
    assert not twice, f"asked for twice: {twice}"
    foreign_vms = cluster.vms() - set(requested)
    assert not foreign_vms, f"VMs nobody asked for: {foreign_vms}"


def _only_wanted_vms_run(cluster: LivingCluster) -> None:
    wanted = {i.key for i in cluster.detail().instances}
    assert wanted <= cluster.vms()
    # Other clusters of the same server have theirs beside them.
    here = (vm for vm in process.carrying(VM_DIR).values() if vm.startswith(str(cluster.cloud)))
    running = {vm for vm in here if Path(vm).parent.name == cluster.uid}
    assert running == {str(cluster.vm(key)) for key in wanted}


def _nothing_is_left_in_kafka(cluster: LivingCluster) -> None:
    snapshot = cluster.snapshot()
    brokers = {i.service_id for i in cluster.detail().instances if i.service == "broker"}
    assert set(snapshot.brokers) == brokers
    assert snapshot.live_brokers() == brokers
    assert not snapshot.moving()
    assert not snapshot.throttles.any
    assert not snapshot.under_replicated()


def _then_it_is_quiet(cluster: LivingCluster) -> None:
    """0 events and 0 jobs in the next seconds."""
    head, jobs = cluster.head(), cluster.jobs()
    time.sleep(QUIET_S)
    assert [e.type for e in cluster.events(head)] == []
    assert cluster.jobs() == jobs
