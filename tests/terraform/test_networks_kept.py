"""A network from spec to end by the reconciler itself, and runs that are killed: the vendors' own Terraform providers.

Hetzner in the usual run; AWS, whose provider waits long for each thing it makes, with the soak tests.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any, cast

import pytest

from controlplane.cluster.view import ClusterView, empty_view
from controlplane.converger.tick.runner import ThreadRunner
from controlplane.fleet.networks.commands import NetworkService
from controlplane.fleet.networks.decide import AddressPool
from controlplane.fleet.networks.reconciler import NetworkPorts, NetworkReconciler
from controlplane.server.assembly.networks import run_network
from events.clock import utc_now
from events.ids import Epoch
from providers.base import Resources, RunKind
from providers.errors import RunInterrupted, TerraformFailed
from providers.networks import MakesNetworks, NetworkRunKind
from providers.tf.run_folder import processes_of
from providers.tf.state_file import LocalStates
from tests.builders import a_document
from tests.changed_view import changed_view
from tests.fakes.event_store import MemoryEventStore
from tests.fakes.jobs import MemoryJobStore
from tests.fakes.plans import MemoryPlanStore
from tests.fakes.resources import UID, instance, resources, run, surge, targets
from tests.standins.mirror import MODULES
from tests.terraform.networklife import NetworkBench, network_bench

OFFICE = "192.168.8.0/24"
PATIENCE_S = 600.0

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(500)]


@pytest.fixture(params=["hetzner", pytest.param("aws", marks=[pytest.mark.soak, pytest.mark.timeout(1800)])])
def bench(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NetworkBench]:
    with network_bench(request.param, tmp_path, monkeypatch) as opened:
        yield opened


def test_a_cluster_gets_its_network_uses_it_and_it_goes_when_asked(bench: NetworkBench) -> None:
    with _Server(bench) as server:
        server.views = [_cluster(bench)]
        server.until(lambda: not server.reconciler.waits_for(server.views[0]))
        (network,) = server.reconciler.view().existing()
        assert str(network.cidr) == "10.64.0.0/20"

        vm = _one_vm(bench)
        assert bench.of.execute(surge(vm)).changed == ("instance/b-0.g1",)
        address = bench.of.vm("b-0.g1").address
        assert address is not None
        assert IPv4Network(f"{address}/32").subnet_of(network.cidr)

        server.views = [_cluster(bench, clients=(OFFICE,))]
        server.until(lambda: server.reconciler.view().existing()[0].access.clients == (OFFICE,))
        assert bench.of.vm("b-0.g1").address == address

        server.views = [changed_view(_cluster(bench), deleted=True)]
        server.ask_removal()
        server.tick()
        assert server.reconciler.view().existing(), "a VM is still in it"
        bench.of.execute(run(RunKind.DESTROY, vm, deletes=targets(vm), intent="run-2"))
        server.until(lambda: not server.reconciler.view().existing())
    assert _networks_of(bench) == []


def test_a_run_that_is_killed_when_the_network_is_made_leaves_no_twin(bench: NetworkBench) -> None:
    killed = _kill_once_made(bench, bench.wanted(NetworkRunKind.MAKE, intent="make").intent_id)
    with pytest.raises((TerraformFailed, RunInterrupted)):
        bench.run(NetworkRunKind.MAKE, intent="make")
    assert killed.is_set()
    left = _networks_of(bench)
    assert left, "the cloud has made it"
    again = bench.run(NetworkRunKind.MAKE, intent="make")
    assert again.imported
    made = _networks_of(bench)
    assert set(left) <= set(made)
    assert len(made) == (2 if bench.place.cloud == "hetzner" else 1)  # Hetzner's module makes two, of two names
    bench.run(NetworkRunKind.REMOVE, intent="remove")
    assert _networks_of(bench) == []


class _Server:
    """The keeper with the runner of a server, on stores in memory."""

    def __init__(self, bench: NetworkBench) -> None:
        self.bench, self.views = bench, list[ClusterView]()
        self.store, jobs = MemoryEventStore(), MemoryJobStore()
        clouds = lambda _name: bench.of.cloud  # noqa: E731
        states = LocalStates(bench.of.state_root)
        self.runner = ThreadRunner(
            jobs,
            MemoryPlanStore(),
            owner="server",
            run_terraform=lambda *_: {},
            solve=cast(Any, None),
            balance=cast(Any, None),
            wake=lambda _: None,
            run_network=partial(run_network, MODULES, clouds, states, lambda: None),
        )
        self.reconciler = NetworkReconciler(
            NetworkPorts(
                store=self.store,
                jobs=jobs,
                runner=self.runner,
                makes_network=cast(MakesNetworks, bench.of.cloud).makes_network,
                list_place=bench.of.cloud.list_place,
                installation_id="test",
                clock=utc_now,
                epoch=lambda: Epoch(1),
            ),
            AddressPool(IPv4Network("10.64.0.0/10"), 20),
        )
        self.service = NetworkService(self.store, self.reconciler, lambda: self.views, lambda: None)

    def __enter__(self) -> "_Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.runner.stop()

    def tick(self) -> None:
        """As the converger does; the provider hears of what was made as in a server."""
        self.reconciler.tick(self.views)
        self.bench.made.clear()
        for network in self.reconciler.view().existing():
            if network.settings is not None:
                self.bench.made[network.place] = network.settings

    def until(self, there: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not there():
            told = [n.work.message for n in self.reconciler.view().existing() if n.work]
            assert time.monotonic() < deadline, told
            self.tick()
            threading.Event().wait(0.05)

    def ask_removal(self) -> None:
        self.service.remove(
            "default", confirm="default", account="", region="", reason="", actor="person:anna", command_id="c1"
        )


def _cluster(bench: NetworkBench, clients: tuple[str, ...] = ()) -> ClusterView:
    document = a_document(name="orders")
    place = {"cloud": bench.place.cloud, "region": bench.place.region, "account": bench.place.account}
    zones = {"zones": (bench.zone("a"), bench.zone("b"))}
    pools = tuple(
        p.model_copy(update={"place": p.place.model_copy(update={**place, **zones})}) for p in document.spec.pools
    )
    access = document.spec.access.model_copy(update={"clients": clients})
    spec = document.spec.model_copy(update={"pools": pools, "access": access})
    return replace(empty_view(UID), name="orders", document=document.model_copy(update={"spec": spec}))


def _one_vm(bench: NetworkBench) -> Resources:
    wanted = resources(replace(instance("b-0"), zone=bench.zone("a")))
    return replace(wanted, place=bench.place)


def _networks_of(bench: NetworkBench) -> list[str]:
    """Ids of the networks of that name the cloud has."""
    cloud = cast(Any, bench.of)
    if bench.place.cloud == "hetzner":
        return [str(n["id"]) for n in cloud.hetzner.project.networks.values() if n["labels"].get("kedge-network")]
    vpcs = cloud.aws.client(bench.place.region).describe_vpcs(
        Filters=[{"Name": "tag-key", "Values": ["kedge-network"]}]
    )
    return [str(v["VpcId"]) for v in vpcs["Vpcs"]]


def _kill_once_made(bench: NetworkBench, run_id: str) -> threading.Event:
    """Kill -9 of Terraform and its plugins once the cloud has made the network, before anybody hears of it."""
    killed = threading.Event()

    def kill() -> None:
        if not killed.is_set():
            killed.set()
            for pid in processes_of(run_id):
                os.kill(pid, signal.SIGKILL)

    cloud = cast(Any, bench.of)
    fake = cloud.hetzner if bench.place.cloud == "hetzner" else cloud.aws
    answer = fake.answer

    def answering(method: str, path: str, headers: Any, body: bytes) -> Any:
        told = answer(method, path, headers, body)
        if b"Action=CreateVpc" in body or (method == "POST" and path.endswith("/networks")):
            kill()
        return told

    fake.answering = answering
    return killed
