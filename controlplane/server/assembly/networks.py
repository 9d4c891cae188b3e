"""Builds what looks after networks out of a server's parts; called by `controlplane.server.bootstrap` alone."""

import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from controlplane.converger.situation.ports import Ports
from controlplane.fleet.networks.decide import AddressPool
from controlplane.fleet.networks.reconciler import NetworkPorts, NetworkReconciler, NetworkRunner
from controlplane.fleet.networks.server_addresses import ServerCidrs
from providers.base import CloudProvider, Place
from providers.networks import MakesNetworks, NetworkRun
from providers.packet_filter import FiltersPackets
from providers.tf.network_run import execute_network
from providers.tf.progress import RunProgress
from providers.tf.states import StateStorage

Clouds = Callable[[str], CloudProvider]


def network_reconciler_of(
    ports: Ports, clouds: Clouds, runner: NetworkRunner, pool: AddressPool, servers: ServerCidrs | None = None
) -> NetworkReconciler:
    """The reconciler beside a converger's ports. `servers`: where they dial from, None of a part that dials nobody."""
    return NetworkReconciler(
        NetworkPorts(
            store=ports.store,
            jobs=ports.jobs,
            runner=runner,
            makes_network=partial(_makes_network, clouds),
            list_place=lambda place: clouds(place.cloud).list_place(place),
            installation_id=ports.installation_id,
            clock=ports.clock,
            epoch=ports.epoch,
            filters_packets=lambda place: isinstance(clouds(place.cloud), FiltersPackets),
            servers=servers,
        ),
        pool,
    )


def run_network(
    module_root: Path,
    clouds: Clouds,
    states: StateStorage,
    refuse_if_moved: Callable[[], None],
    run: NetworkRun,
    tell: Callable[[str], None],
    stop: threading.Event,
) -> Mapping[str, Any]:
    """One run, as `ThreadRunner` wants it: the settings its module gives."""
    refuse_if_moved()

    def on_progress(progress: RunProgress) -> None:
        tell(" ".join(part for part in (progress.kind, progress.action, progress.target, progress.message) if part))

    result = execute_network(
        run,
        provider=clouds(run.place.cloud),
        states=states,
        module_root=module_root,
        on_progress=on_progress,
        stop=stop,
    )
    return result.settings


def _makes_network(clouds: Clouds, place: Place) -> bool:
    provider = clouds(place.cloud)
    return isinstance(provider, MakesNetworks) and provider.makes_network(place)
