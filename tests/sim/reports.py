"""What the agent of a simulated VM reports."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from agent.wire import (
    CertificateReport,
    FindingReport,
    LogDirReport,
    ProgressReport,
    Report,
    ServiceDocument,
    ServiceReport,
    ServiceState,
)
from tests.sim.vms import Vm, file_systems, findings_of, lost_directories

if TYPE_CHECKING:
    from tests.sim.services import Services


class KeptReport(Report):
    """A report that its world keeps as it is: nobody writes it down, so its services need not be taken apart and read
    again. What becomes of one on its way is shown in tests/contract and tests/agent; pages are shown plain reports."""

    def model_dump(self, **_options: Any) -> dict[str, Any]:
        return dict(self.__dict__)


def report_of(machines: "Services", vm: Vm, services: Sequence[ServiceDocument], at: datetime) -> Report:
    """All of its services, as they are now."""
    return machines.report_type(
        cluster_uid=vm.uid,
        node=vm.node,
        generation=vm.generation,
        boot_id=f"boot-{vm.key}",
        seq=vm.seq,
        at=at,
        agent_version="sim",
        documents=machines.documents_known,
        epoch=0,
        services=tuple([_of_service(machines, vm, service, at) for service in services]),
        attachments=tuple(sorted(vm.mounted)),
        preemption=machines.taken_back.get(vm.key),
        packet_filter=machines.filters.get(vm.key),
    )


def _of_service(machines: "Services", vm: Vm, service: ServiceDocument, at: datetime) -> ServiceReport:
    process, spent = vm.running(service), vm.start_of(service)
    up = process is not None and process.up
    failed = None if vm.is_beside(service) else machines.failed_disks.get(service.node_id)
    illness = machines.illnesses.get(vm.service_key(service))
    if not up and service.state == "running" and machines.is_equipped(vm, service) and machines.has_lost(service):
        return ServiceReport(
            name=service.name,
            state="failed",
            start_id=service.start_id,
            node_id=service.node_id,
            since=at,
            findings=lost_directories(service, machines.blank),
            started=service.name in vm.launched,
        )
    words = machines.refused_configuration(vm, service)
    if not up and words and service.state == "running" and machines.is_equipped(vm, service) and spent not in vm.spent:
        return ServiceReport(
            name=service.name,
            state="failed",
            start_id=service.start_id,
            node_id=service.node_id,
            since=at,
            message=f"exit code 1: {words}",
            refuses=words,
            started=service.name in vm.launched,
        )
    if not up and service.state == "running" and machines.wrong_identities.refuses(vm, service):
        return machines.wrong_identities.report(service, at)
    began = None if process is None else process.ready_at if up else process.began_at
    since = at if began is None else at - timedelta(seconds=machines.seconds - began)
    rests: ServiceState = "failed" if machines.breakdowns.holds(vm, machines.seconds) else "waiting"
    state: ServiceState = "stopped" if spent in vm.spent else "running" if up else "starting" if process else rests
    findings = findings_of(illness, failed, at) if up else ()
    progress: tuple[ProgressReport, ...] = ()
    if machines.metadata is not None and service.name == "broker" and process is not None and up:
        lags, progress = machines.metadata.look(machines, vm, process, at)
        findings += lags
    metrics = dict(machines.kafka.migration.metrics(service)) if up else {}
    if machines.latency is not None and service.name == "broker" and up:
        metrics |= machines.latency.figures(machines.kafka, service.node_id, at)
    if vm.key in machines.breakdowns.exits:
        metrics["unexpected_exits"] = float(machines.breakdowns.exits[vm.key])
    disks = file_systems(machines.attached.on(vm, machines.volumes), service)
    if service.name == "broker" and service.node_id in machines.kafka.on_disk.full():
        disks = tuple([d.model_copy(update={"free_bytes": 0}) for d in disks])
    certificate = machines.certificates.report(vm) if machines.certificates is not None and up else None
    made_of = (state, since, findings, progress, metrics, disks, service.name in vm.launched, certificate)
    before = vm.told.get(service.name)
    if before is None or before[0] is not service or before[1] != made_of:
        before = vm.told[service.name] = service, made_of, _service_report(service, *made_of)
    return before[2]


def _service_report(
    service: ServiceDocument,
    state: ServiceState,
    since: datetime,
    findings: tuple[FindingReport, ...],
    progress: tuple[ProgressReport, ...],
    metrics: dict[str, float],
    log_dirs: tuple[LogDirReport, ...],
    started: bool,
    certificate: CertificateReport | None,
) -> ServiceReport:
    return ServiceReport(
        name=service.name,
        state=state,
        start_id=service.start_id,
        kafka_version=service.kafka_version,
        node_id=service.node_id,
        since=since,
        findings=findings,
        progress=progress,
        metrics=metrics,
        log_dirs=log_dirs,
        started=started,
        certificate=certificate,
    )
