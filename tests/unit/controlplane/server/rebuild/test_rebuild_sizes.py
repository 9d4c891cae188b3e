"""A cluster sized by its machines is so after its history was lost, too: its agents were told Java's options."""

from dataclasses import replace

from controlplane.cluster.sized_nodes import is_sized_by_machine, wanted_nodes
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.documents import document_after_release
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from controlplane.server.rebuild.clusters import RebuiltCluster, rebuild_cluster
from planner.rollout.diff import Change
from providers.base import Place
from tests.builders import NOW
from tests.sim.world import World
from tests.unit.controlplane.cluster.test_sized_nodes import as_it_was_stored, on_aws
from tests.unit.controlplane.server.rebuild.rebuild_evidence import UID, a_spec_file, a_vm, found

AWS = Place("aws", "eu-west-1")


def _rebuilt(ran: ClusterView, *, documents: bool = True) -> RebuiltCluster:
    ran = replace(ran, uid=UID)
    vms = tuple(a_vm(ran, i, document=documents or not i.is_broker) for i in ran.instances.values())
    return rebuild_cluster(found(ran, places=(AWS,), vms=vms), a_spec_file(on_aws()), now=NOW)


def _born() -> ClusterView:
    world = World()
    world.declare(on_aws())
    world.converge(ticks=300)
    return world.view()


def test_what_was_sized_by_its_machine_is_rebuilt_so_and_at_rest() -> None:
    after = _rebuilt(_born()).view
    assert is_sized_by_machine(after)
    assert {c.change for c in pending_changes(after)} == {Change.KEEP}
    told = [document_after_release(after, key) for key in after.instances]
    assert {bool(d.services[0].jvm) for d in told if d is not None} == {True}


def test_a_vm_whose_document_cannot_be_read_is_taken_for_sized_as_the_others_are() -> None:
    after = _rebuilt(_born(), documents=False).view
    assert all(i.start.size is not None for i in after.instances.values())


def test_what_ran_small_is_rebuilt_small() -> None:
    after = _rebuilt(as_it_was_stored()).view
    assert not is_sized_by_machine(after)
    assert {n.heap_mib for n in wanted_nodes(after)} == {128, 256}
    assert {c.change for c in pending_changes(after)} == {Change.KEEP}
