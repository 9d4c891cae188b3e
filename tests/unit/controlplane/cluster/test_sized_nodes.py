"""New clusters off `local` are sized by their machines; those with VMs of before keep what they run with."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from agent.wire import ServiceDocument
from controlplane.cluster.fold import fold
from controlplane.cluster.sized_nodes import is_sized_by_machine, pool_size, wanted_nodes
from controlplane.cluster.view import ClusterView, empty_view
from controlplane.commands.previews.plan import preview
from controlplane.converger.questions.documents import document_for
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from events.envelope import Recorded
from events.spec.document import load_documents
from events.spec.model import KafkaClusterDocument
from planner.rollout.diff import Change
from tests.builders import a_spec
from tests.sim.world import World

BEFORE = Path(__file__).parent / "streams" / "aws_before_sizes.json"
ZONES = "eu-west-1a, eu-west-1b, eu-west-1c"


def on_aws(more: str = "", **overrides: Any) -> KafkaClusterDocument:
    """Three brokers on r7g.xlarge and three controllers on m7g.large; `more` is put into the pool of brokers."""
    text = a_spec(
        cloud="aws",
        machine=f"r7g.xlarge{more}",
        quorum_place=f"cloud: aws, region: eu-west-1, zones: [{ZONES}]",
        brokers_in="eu-west-1",
        zones=ZONES,
        **overrides,
    )
    loaded = load_documents(text, file="orders.yaml")
    assert loaded.ok, loaded.problems
    return loaded.documents[0]


def as_it_was_stored() -> ClusterView:
    """A converged cluster on AWS, as the release before sizes recorded it."""
    stored: Sequence[dict[str, Any]] = json.loads(BEFORE.read_text())
    at = [datetime.fromisoformat(one["at"]) for one in stored]
    history = [
        Recorded(n, "cluster-u", n, f"e{n}", one["type"], one["schema"], one["data"], "p", None, None, 0, at[n - 1])
        for n, one in enumerate(stored, 1)
    ]
    view = fold(empty_view("u"), history)
    assert not view.history.unreadable
    return view


def services(view: ClusterView) -> dict[str, ServiceDocument]:
    found = {key: document_for(view, key, epoch=1) for key in view.instances}
    return {key: document.services[0] for key, document in found.items() if document is not None and document.services}


def born(document: KafkaClusterDocument) -> World:
    world = World()
    world.declare(document)
    world.converge(ticks=300)
    return world


def test_a_new_broker_on_an_r7g_xlarge_runs_with_six_gib_and_g1() -> None:
    """Once it was -Xmx256m, the serial collector, two I/O threads and three partitions of `__consumer_offsets`."""
    world = born(on_aws())
    told = services(world.view())
    broker, controller = told["brokers-eu-west-1a-0.g1"], told["controllers-eu-west-1a-0.g1"]
    assert (broker.heap_mib, controller.heap_mib) == (6144, 4096)
    assert "-XX:+UseG1GC" in broker.jvm
    assert "-XX:+UseG1GC" in controller.jvm
    assert broker.settings["num.io.threads"] == "8"
    assert broker.settings["offsets.topic.num.partitions"] == "50"
    assert "num.io.threads" not in controller.settings
    assert {vm.process.document.heap_mib for vm in world.machines.vms.values() if vm.process} == {4096, 6144}


def test_what_a_spec_says_goes_before_what_its_machine_decides() -> None:
    document = on_aws(heap=1024, config=", config: {num.io.threads: 20}")
    broker = services(born(document).view())["brokers-eu-west-1a-0.g1"]
    assert (broker.heap_mib, broker.settings["num.io.threads"]) == (1024, "20")


def test_a_cluster_of_before_stays_at_rest_and_its_next_vms_are_as_its_others() -> None:
    view = as_it_was_stored()
    assert not is_sized_by_machine(view)
    assert {c.change for c in pending_changes(view)} == {Change.KEEP}
    assert {s.heap_mib for s in services(view).values()} == {128, 256}
    assert {s.jvm for s in services(view).values()} == {()}
    assert {n.heap_mib for n in wanted_nodes(view)} == {128, 256}
    assert {n.size for n in wanted_nodes(view)} == {None}


def test_a_version_roll_of_a_cluster_of_before_changes_no_heap() -> None:
    view = as_it_was_stored()
    plan = preview(view, on_aws(version="4.2.0"), snapshot=None)
    assert plan.rollout.phases
    assert plan.sizes == ()


def test_on_local_nothing_is_sized() -> None:
    world = World()
    loaded = load_documents(a_spec(), file="orders.yaml").documents[0]
    world.declare(loaded)
    world.converge(ticks=300)
    assert {s.heap_mib for s in services(world.view()).values()} == {128, 256}
    assert {i.start.size for i in world.view().instances.values()} == {None}


def test_other_figures_of_a_machine_restart_nobody() -> None:
    """`catalog.yaml` may be corrected at any time; who runs keeps the heap it was born with."""
    view = born(on_aws()).view()
    instances = {
        key: replace(i, planned=replace(i.planned, heap_mib=i.planned.heap_mib - 1024))
        for key, i in view.instances.items()
    }
    assert {c.change for c in pending_changes(replace(view, instances=instances))} == {Change.KEEP}


def test_the_smallest_machine_of_a_pool_decides() -> None:
    pool = on_aws("\n      alternatives: [m7g.large]").spec.pools[1]
    size = pool_size(pool, ())
    assert size is not None
    assert (size.machine.vcpus, size.heap_mib) == (2, 4096)


def test_figures_of_the_spec_count_where_no_catalogue_has_the_machine() -> None:
    figures = "{type: x9.huge, architecture: x86_64, cpus: 16, memoryMib: 2048}"
    told = load_documents(
        a_spec(
            cloud="aws",
            machine=f"x9.huge\n      machineFigures: [{figures}]",
            quorum_place=f"cloud: aws, region: eu-west-1, zones: [{ZONES}]",
            brokers_in="eu-west-1",
            zones=ZONES,
        ),
        file="orders.yaml",
    ).documents[0]
    heaps = {n.heap_mib for n in wanted_nodes(born(told).view()) if n.service == "broker"}
    assert heaps == {1024}


def test_a_machine_whose_figures_are_gone_is_waited_for_and_never_started_small() -> None:
    """The `catalog.yaml` that had them may be lost after the spec was accepted."""
    document = on_aws()
    unknown = document.model_copy(
        update={
            "spec": document.spec.model_copy(
                update={
                    "pools": (
                        document.spec.pools[0],
                        document.spec.pools[1].model_copy(update={"machine": "x9.unknown"}),
                    )
                }
            )
        }
    )
    world = World()
    world.declare(unknown)
    for _ in range(5):
        world.tick()
    assert world.view().instances == {}
    blocked = world.view().conditions["Blocked"]
    assert (blocked.status, blocked.reason) == (True, "MachineUnknown")
    assert "x9.unknown" in blocked.message
    assert "machineFigures" in blocked.message


def test_the_plan_of_a_new_cluster_says_what_its_machines_decide() -> None:
    plan = preview(empty_view(""), on_aws(), snapshot=None)
    assert plan.sizes == (
        "brokers: 4 CPUs and 32768 MiB: heap 6144 MiB (G1), I/O threads 8, network threads 3, fetchers 2, "
        "partitions of internal topics 50",
        "controllers: 2 CPUs and 8192 MiB: heap 4096 MiB (G1)",
    )
