"""Builds what audits clouds out of a server's parts; called by `controlplane.server.bootstrap` alone."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from controlplane.background.drift.reconciler import AuditRunner, DriftPorts, DriftReconciler
from controlplane.cluster.observed.cloud_drift import DRIFTS
from controlplane.cluster.observed.network_audits import NetworkAtRest
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.questions.clouds.rendering import existing_resources
from controlplane.converger.situation.ports import Ports
from controlplane.fleet.ports import FoldedFleet
from controlplane.runtime.polling import Leadership, Poller
from controlplane.server.settings import Settings
from providers.audits import Audit
from providers.base import CloudProvider, Place, Resources
from providers.tf.audit import audit
from providers.tf.states import StateStorage

CLOUDS = "cloud-drift"
"""The poller's name for it."""


@dataclass(frozen=True, slots=True)
class DriftRoom:
    """The reconciler, and what polls it. Nothing is started."""

    reconciler: DriftReconciler
    poller: Poller


def drift_of(
    settings: Settings,
    ports: Ports,
    runner: AuditRunner,
    *,
    fleet: FoldedFleet,
    networks: Callable[[], Sequence[NetworkAtRest]],
    leadership: Leadership,
) -> DriftRoom:
    """The room of audits, beside a converger's ports. `networks` are those Kedge made and that stand."""
    reconciler = DriftReconciler(
        DriftPorts(
            fleet=fleet,
            jobs=ports.jobs,
            latest=ports.latest,
            runner=runner,
            existing=partial(_existing, ports),
            networks=networks,
            clock=ports.clock,
            epoch=ports.epoch,
        ),
        every=timedelta(seconds=settings.clouds.audit_every_s),
        at_once=settings.clouds.audits_at_once,
    )
    polled = {CLOUDS: reconciler} if settings.clouds.audits_at_once else {}
    poller = Poller(polled, {CLOUDS: settings.clouds.audit_poll_s}, leadership=leadership, stop=threading.Event())
    return DriftRoom(reconciler, poller)


def run_audit(
    module_root: Path,
    clouds: Callable[[str], CloudProvider],
    states: StateStorage,
    refuse_if_moved: Callable[[], None],
    asked: Audit,
    tell: Callable[[str], None],
    stop: threading.Event,
) -> Mapping[str, Any]:
    """One audit, as `ThreadRunner` wants it."""
    refuse_if_moved()
    found = audit(
        asked,
        provider=clouds(asked.place.cloud),
        states=states,
        module_root=module_root,
        on_progress=lambda progress: tell(progress.message),
        stop=stop,
    )
    return {"resources": found.resources, "drifts": DRIFTS.dump_python(found.drifts, mode="json")}


def _existing(ports: Ports, view: ClusterView, place: Place) -> Resources:
    def boot_data(instance: InstanceView) -> str:
        return ports.boot_data(view.uid, instance.node, instance.planned.generation, instance.intent)

    return existing_resources(view, place, installation_id=ports.installation_id, boot_data=boot_data)
