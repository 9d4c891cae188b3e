"""Builds reports: at once when something changed, and every few seconds anyway."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import partial

from agent import __version__, boots, steps, surroundings, wire
from agent.health.checkup import Checkup
from agent.health.vitals import VitalsFinding
from agent.pace import digest_of, overlay_said
from agent.status import ServiceWatch, Status
from agent.wire_versions import NEWEST_WIRE_VERSION


@dataclass(frozen=True, slots=True)
class VmNetworkStatus:
    """What guards the VM, and what it reaches others by; each is None where its document says nothing of it."""

    packet_filter: wire.PacketFilterReport | None = None
    overlay: wire.OverlayReport | None = None
    door: wire.DoorReport | None = None


class Reporting:
    """Remembers what was last said, and samples log directories and metrics at their own pace."""

    def __init__(self, around: surroundings.AgentEnvironment, watches: Mapping[wire.ServiceName, ServiceWatch]) -> None:
        self._a = around
        self._watches = watches
        self._sequence = boots.Sequence()
        self._checkups = {name: Checkup(around.settings.times.vitals_every_s) for name in watches}
        self._last: object = None
        self._last_s = float("-inf")

    def report(
        self,
        local: steps.LocalState,
        *,
        epoch: int,
        message: str,
        network: VmNetworkStatus,
        replicator: wire.ReplicatorReport | None,
    ) -> None:
        """Publishes a report if anything but measurements changed, or the last one is old."""
        upgrade, preemption = self._a.upgrade(), self._a.preemption()
        spoken = [name for name in local.services if self._watches[name].status is not None]
        said = (
            tuple((name, self._watches[name].status, self._watches[name].record.refused) for name in spoken),
            sorted(local.attached.values()),
            local.addresses,
            epoch,
            message,
            upgrade,
            preemption,
            network.packet_filter,
            overlay_said(network.overlay),
            network.door,
            replicator,
        )
        if said == self._last and local.now_s - self._last_s < self._a.settings.times.report_every_s:
            return
        for name in spoken:
            self._sample(name, local)
        self._last, self._last_s = said, local.now_s
        report = self._built(
            spoken,
            local,
            epoch=epoch,
            message=message,
            preemption=preemption,
            upgrade=upgrade,
            network=network,
            replicator=replicator,
        )
        self._a.publish(report.model_copy(update={"digest": digest_of(report)}))

    def _built(
        self,
        spoken: Sequence[wire.ServiceName],
        local: steps.LocalState,
        *,
        epoch: int,
        message: str,
        preemption: wire.PreemptionReport | None,
        upgrade: wire.UpgradeReport | None,
        network: VmNetworkStatus,
        replicator: wire.ReplicatorReport | None,
    ) -> wire.Report:
        return wire.Report(
            cluster_uid=self._a.boot.cluster_uid,
            node=self._a.boot.node,
            generation=self._a.boot.generation,
            boot_id=self._a.boot_id,
            seq=self._sequence.next(),
            at=self._a.clock.now(),
            agent_version=__version__,
            documents=NEWEST_WIRE_VERSION,
            epoch=epoch,
            services=tuple(self._service_report(name, local) for name in sorted(spoken)),
            attachments=tuple(sorted(local.attached.values())),
            addresses=tuple(sorted(local.addresses)),
            message=message,
            heartbeats=self._a.heartbeats(),
            preemption=preemption,
            upgrade=upgrade,
            packet_filter=network.packet_filter,
            overlay=network.overlay,
            door=network.door,
            replicator=replicator,
        )

    def _sample(self, name: wire.ServiceName, local: steps.LocalState) -> None:
        """Log directories are looked at while they are attached, also of a stopped service: an empty one is a proof."""
        watch, service = self._watches[name], self._a.services[name]
        if watch.wanted is None or local.now_s - watch.sampled_s < self._a.settings.times.metrics_every_s:
            return
        watch.sampled_s = local.now_s
        # Where a volume was given back the mount point is a directory of the root filesystem, which says nothing of it.
        are_there = all(local.attached.get(d.name) == d.volume for d in watch.wanted.log_dirs)
        watch.log_dirs = service.usage(watch.wanted) if are_there else ()
        is_running = watch.status is not None and watch.status.state == "running"
        watch.metrics = service.digest(watch.wanted) if is_running else {}
        watch.old_clients = service.old_clients(watch.wanted) if is_running else ()
        if not is_running:
            watch.sampled_s = float("-inf")  # sample again as soon as it runs
        self._check(name, local.now_s, watch.status)

    def _check(self, name: wire.ServiceName, now_s: float, status: Status | None) -> None:
        """What is wrong inside a service that runs, and how far one comes that starts, too; of any other nothing is
        known."""
        watch, service, checkup = self._watches[name], self._a.services[name], self._checkups[name]
        wanted, serves = watch.wanted, status is not None and status.state == "running"
        is_there = status is not None and status.pid > 0 and status.state in ("running", "starting")
        if status is not None and is_there and wanted is not None:
            take = partial(service.vitals, wanted, watch.log_dirs, at_s=now_s)
            checkup.look(now_s, status.pid, take, serves=serves)
        else:
            checkup.forget()
        watch.log_lines = service.log_lines(at_s=now_s) if serves and is_there and wanted is not None else {}
        watch.findings, watch.progress = checkup.findings, checkup.progress

    def _service_report(self, name: wire.ServiceName, local: steps.LocalState) -> wire.ServiceReport:
        """The version is that of the launch the status speaks of, which may be older than the document's."""
        watch = self._watches[name]
        status, launch = watch.status, watch.record.launch
        if status is None:
            raise ValueError(f"{name} has no status to report")
        return wire.ServiceReport(
            name=name,
            state=status.state,
            start_id=status.start_id,
            kafka_version=launch.kafka_version if launch and launch.start_id == status.start_id else "",
            node_id=watch.wanted.node_id if watch.wanted else -1,
            pid=status.pid,
            exit_code=status.exit_code,
            since=status.since,
            message=status.message,
            log_dirs=watch.log_dirs,
            metrics={**watch.metrics, "unexpected_exits": float(watch.record.unexpected_exits)},
            findings=(
                *(self._finding(finding, local.now_s) for finding in watch.findings),
                *_lost_directories(name, local.services[name], status),
            ),
            progress=tuple(wire.ProgressReport(**asdict(one)) for one in watch.progress),
            hangs=status.state == "starting" and 0 < status.pid == watch.up_pid,
            log_lines=dict(watch.log_lines),
            old_clients=watch.old_clients,
            refuses=_refusal(watch, status),
            started=None if local.services[name].unreadable else watch.record.launch is not None,
            certificate=self._certificate(watch, status),
            token_keys=self._a.token_keys() if name == "broker" and status.state == "running" else (),
        )

    def _certificate(self, watch: ServiceWatch, status: Status) -> wire.CertificateReport | None:
        """Of a process that runs: its files are those it was started with."""
        if watch.wanted is None or status.state != "running":
            return None
        return self._a.shown_certificate(watch.wanted, status.start_id)

    def _finding(self, finding: VitalsFinding, now_s: float) -> wire.FindingReport:
        began = self._a.clock.now() - timedelta(seconds=now_s - finding.since_s)
        return wire.FindingReport(
            name=finding.name,
            since=began.replace(microsecond=0),
            message=finding.message,
            numbers=dict(finding.numbers),
        )


def _refusal(watch: ServiceWatch, status: Status) -> str:
    """While the next try of the same start comes up it stands; it is over with a start that serves, or another one."""
    is_of_it = status.start_id == watch.record.refused_start and status.state not in ("running", "stopped")
    return watch.record.refused if is_of_it else ""


def _lost_directories(
    name: wire.ServiceName, facts: steps.ServiceFacts, status: Status
) -> tuple[wire.FindingReport, ...]:
    """Of a service that does not run, the one thing that is known. A broker may have several directories: each is named
    behind a colon."""
    if facts.running is not None:
        return ()
    findings = [
        f"{wire.DIRECTORY_LOST}:{lost}" if name == "broker" else wire.DIRECTORY_LOST for lost in facts.storage.lost
    ]
    return tuple(
        wire.FindingReport(name=finding, since=status.since, message=facts.storage.reason) for finding in findings
    )
