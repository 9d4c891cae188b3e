"""How VMs that are about to be made are sized: by their machine, whose figures somebody has to have."""

from collections.abc import Mapping, Sequence

from controlplane.cluster.sized_nodes import UNSIZED_CLOUD, is_sized_by_machine
from controlplane.cluster.view import ClusterView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.situation.decision import Decision, wait
from events import facts
from planner.rollout.desired import DesiredNode


def planned_sizes(key: str, want: DesiredNode) -> Mapping[str, facts.PlannedSize]:
    """By the key of the VM, nothing where it is not sized by its machine."""
    return {} if want.size is None else {key: facts.PlannedSize(want.size.jvm, want.size.member_jvm)}


def unsized_machine(
    view: ClusterView, planned: Sequence[facts.PlannedInstance], sizes: Mapping[str, facts.PlannedSize]
) -> Decision | None:
    """A heap of a few MiB that nobody asked for is no answer to a machine nobody knows: figures can go missing after a
    spec was accepted, with the `catalog.yaml` that had them."""
    if not is_sized_by_machine(view):
        return None
    spec = view.working_spec()
    clouds = {pool.name: pool.place.cloud for pool in spec.spec.pools} if spec else {}
    unknown = [p for p in planned if p.key not in sizes and clouds.get(p.pool, UNSIZED_CLOUD) != UNSIZED_CLOUD]
    if not unknown:
        return None
    first = unknown[0]
    sentence = (
        f"not making {first.key}: nobody has CPUs and memory of the machine {first.shape} on {clouds[first.pool]}, "
        "which decide heap and threads"
    )
    again = f"kedge apply, with `machineFigures` in pool {first.pool} (cluster {view.name})"
    return wait(WaitReason.MACHINE_UNKNOWN, sentence, next_command=again, patience_s=0)
