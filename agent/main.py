"""The agent of one VM, as `python -m agent --root DIR` starts it.

SIGTERM and SIGINT end the agent alone: services keep running, the next agent adopts them. This is how the agent is
upgraded, too: it leaves by itself, is started again by whoever keeps it alive, and becomes the new one. SIGPWR means
that the VM goes down: services are stopped, without being recorded as stopped, then it exits.
"""

import argparse
import fcntl
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import IO

from agent import __version__
from agent.addresses import bound_addresses
from agent.backoff import Backoff
from agent.boots import boot_id_of, next_boot_id
from agent.certification import Certification
from agent.client import ServerClient
from agent.credential import CredentialFiles
from agent.disks.volumes import DiskVolumes, GivenVolumes, Volumes
from agent.door.start import followed_door
from agent.duty import Duty
from agent.heartbeats.latest import LatestPulses
from agent.identity import PlainHttpRefused, enrol_request, identity_of
from agent.inbox import Inbox, ReportOutbox
from agent.kafka_tls import BrokerTask, at_brokers, node_tls, speaks_tls
from agent.layout import AgentLayout, BootDataUnreadable
from agent.loop import AgentConverger
from agent.masking import masked
from agent.metrics_duty import MeasuredBroker, MetricsDuty
from agent.node_certificate import NodeCertificates
from agent.overlay.start import followed_overlay
from agent.packet_filter import PacketFilter
from agent.preemption.watch import METADATA_URL, PreemptionWatch, cloud_at, start_watch
from agent.preemption.where import DMI, cloud_of
from agent.records import Records
from agent.replicator.start import followed_replicator
from agent.rotation import Rotation
from agent.secret_log import MaskedLines, known_secrets, mask_tracebacks
from agent.service_user import NoSuchUser, service_user
from agent.services.kafka import KafkaService
from agent.services.zookeeper import ZooKeeperService
from agent.settings import AgentSettings, AgentSettingsRefused
from agent.shown_certificate import ServedCertificates
from agent.surroundings import AgentEnvironment, Service
from agent.system_clock import SystemClock
from agent.talk import DocumentTalk, ReportTalk, talk_in_thread
from agent.token_keys import TokenKeys
from agent.tools import run_tool
from agent.trust import PinnedCa
from agent.upgrades.follower import Follower
from agent.upgrades.start import become, chosen, disarm
from agent.wire import BootData, Heartbeats, LogsTopic, PacketFilterReport, Report, ServiceName

_log = logging.getLogger("agent")

_KAFKA: tuple[ServiceName, ...] = ("broker", "controller")
_KERNEL_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_EXIT_REFUSED, _EXIT_SECOND_AGENT = 2, 3


class SecondAgent(Exception):
    """Another agent lives on this root; two would start two Kafkas."""


class TalkDied(RuntimeError):
    """The agent is deaf or mute: end it, whoever started it starts it again."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="kedge-agent", description="Runs and reports the Kafka services of this VM.")
    parser.add_argument("--root", type=Path, required=True, help="root directory of the VM, holds boot.json")
    root = parser.parse_args(argv).root
    try:
        settings = AgentSettings.from_env(root=root, environ=os.environ)
        layout = AgentLayout(settings.root, services_apart=bool(settings.run_as))
        layout.prepare()
        words = layout.logs / "agent-upgrade.out"
        start, problem = chosen(layout.bundles, words, environ=os.environ)
        _log_to(layout.logs / "agent.log")
        mask_tracebacks()
        if problem:
            _log.error("%s", problem)
        if start.bundle is not None:
            become(
                start.bundle,
                alarm_s=start.alarm_s,
                bundles=layout.bundles,
                words=words,
                root=settings.root,
                environ=os.environ,
            )
        boot = layout.boot_data()
        with _only_agent(layout.state):
            run(settings, layout, boot)
    except (AgentSettingsRefused, BootDataUnreadable, NoSuchUser, PlainHttpRefused) as error:
        _log.error("%s", error)
        print(masked(f"kedge-agent: {error}", known_secrets()), file=sys.stderr)
        return _EXIT_REFUSED
    except SecondAgent as error:
        print(f"kedge-agent: {error}", file=sys.stderr)
        return _EXIT_SECOND_AGENT
    return 0


_DEAF = "a thread that talks to the server died, its traceback is in agent.out; services keep running"


def run(settings: AgentSettings, layout: AgentLayout, boot: BootData) -> None:
    """Until a signal ends it. Raises `PlainHttpRefused`, and `TalkDied` when nobody would hear the server any more."""
    inbox, outbox = Inbox(), ReportOutbox(every_s=settings.times.report_every_s)
    pulses, clock = LatestPulses(), SystemClock()
    token_keys, follower = _token_keys(layout, settings, clock), Follower(layout.bundles, __version__, clock)
    serve_metrics_of = _served(settings)

    def publish(report: Report) -> None:
        outbox.put(report)
        serve_metrics_of(report)

    preemption, server, boot_id = _preemption(settings, clock), _server(layout, boot), _boot_id(settings, layout)
    converger = AgentConverger(
        AgentEnvironment(
            boot=boot,
            boot_id=boot_id,
            layout=layout,
            records=Records(layout.state),
            services=_services(layout, settings),
            inbox=inbox,
            publish=publish,
            clock=clock,
            settings=settings,
            volumes=_volumes(settings, layout),
            addresses=_addresses(settings, layout),
            heartbeats=lambda: pulses.read(clock.monotonic_s()),
            upgrade=lambda: follower.report,
            preemption=lambda: preemption.report if preemption else None,
            token_keys=token_keys.read,
            packet_filter=_packet_filter(settings, layout),
            door=followed_door(settings, layout.state, boot_id, clock.monotonic_s),
            overlay=followed_overlay(settings, layout, clock, woken=inbox.wake.set),
            certificate=_node_certificates(settings, layout, boot, server, inbox).ready,
            shown_certificate=ServedCertificates(layout.tls_dir, monotonic_s=clock.monotonic_s).report,
        ),
        followed_replicator(settings, layout, boot_id, clock),
    )
    follower.speaks_tls = lambda: speaks_tls(converger.document)
    talks = _talks(settings, layout, boot, server, inbox=inbox, outbox=outbox, etag=converger.etag, follower=follower)
    leaving = _listen_to_signals(converger, inbox)
    if preemption is not None:
        start_watch(preemption, every_s=settings.times.preempt_every_s, leaving=leaving)
    threads = [(talk, talk_in_thread(talk, pause=leaving.wait)) for talk in talks]
    metrics = MetricsDuty(partial(_start_shipping, spool=layout.spools / "metrics"), clock)
    journal = Duty(partial(_start_journal, layout=layout, boot=boot), clock)
    heartbeats = Duty(partial(_start_heartbeats, latest=pulses), clock)
    while not leaving.is_set() and not converger.is_down and not follower.is_ready:
        pause_s = converger.tick()
        tls = node_tls(converger.document, layout)
        metrics.follow(at_brokers(converger.measured, tls))
        journal.follow(at_brokers(converger.logs, tls))
        heartbeats.follow(at_brokers(converger.heartbeats, tls))
        token_keys.follow(converger.document)
        follower.follow(converger.agent_order)
        inbox.wake.wait(pause_s)
        inbox.wake.clear()
        if any(not thread.is_alive() and not talk.is_over for talk, thread in threads):
            raise TalkDied(_DEAF)
    leaving.set()
    _log.info("the agent leaves; %s", "services are down" if converger.is_down else "services keep running")


def _served(settings: AgentSettings) -> Callable[[Report], None]:
    """What is told every report for Prometheus. The library is loaded by an agent that serves metrics, by no other."""
    if settings.prometheus is None:
        return lambda report: None
    from agent.exposition import Exposition, serve

    exposition = Exposition()
    serve(exposition, at=settings.prometheus)
    return exposition.keep


def _preemption(settings: AgentSettings, clock: SystemClock) -> PreemptionWatch | None:
    """None where no cloud tells a VM anything, as on `local` unless the settings say whose service stands there."""
    found = cloud_of(DMI) if settings.disks == "devices" else ""
    name = {"found": found, "off": ""}.get(settings.metadata, settings.metadata)
    return PreemptionWatch(cloud_at(name, settings.metadata_url or METADATA_URL), clock.now) if name else None


def _packet_filter(settings: AgentSettings, layout: AgentLayout) -> Callable[[str, float], PacketFilterReport | None]:
    """None on `local`, where a VM's network is not its own."""
    if settings.disks == "given":
        return lambda rules, now_s: None
    return PacketFilter(layout.state / "packet-filter.nft").keep


def _addresses(settings: AgentSettings, layout: AgentLayout) -> Callable[[], frozenset[str]]:
    return layout.addresses if settings.disks == "given" else partial(bound_addresses, run_tool)


def _services(layout: AgentLayout, settings: AgentSettings) -> dict[ServiceName, Service]:
    kafka: dict[ServiceName, Service] = {name: KafkaService(name, layout=layout, settings=settings) for name in _KAFKA}
    return {**kafka, "zookeeper": ZooKeeperService(layout=layout, settings=settings)}


def _boot_id(settings: AgentSettings, layout: AgentLayout) -> str:
    """Said by the init of a VM of the `local` cloud; on a machine of its own the kernel knows."""
    given = os.environ.get("KEDGE_BOOT_ID")
    if given or settings.disks == "given":
        return given or next_boot_id(layout.state)
    return boot_id_of(layout.state, _KERNEL_BOOT_ID.read_text().strip())


def _volumes(settings: AgentSettings, layout: AgentLayout) -> Volumes:
    if settings.disks == "given":
        return GivenVolumes(layout)
    return DiskVolumes(layout, filesystem=settings.filesystem, own_on_root=settings.own_disks == "root")


@dataclass(frozen=True, slots=True)
class _Server:
    """How this agent calls the control plane. `trust` is None on loopback."""

    client: ServerClient
    credential: CredentialFiles
    trust: PinnedCa | None


def _server(layout: AgentLayout, boot: BootData) -> _Server:
    credential = CredentialFiles(layout.state)
    trust = PinnedCa(boot.server_url, boot.ca_sha256, kept=layout.state / "ca.pem") if boot.ca_sha256 else None
    client = ServerClient(boot.server_url, identity_of(boot, credential.load_or_make()), trust=trust)
    return _Server(client, credential, trust)


def _node_certificates(
    settings: AgentSettings, layout: AgentLayout, boot: BootData, server: _Server, inbox: Inbox
) -> NodeCertificates:
    return NodeCertificates(
        boot,
        server.client,
        layout.tls_dir,
        user=service_user(settings.run_as) if settings.run_as else None,
        monotonic_s=SystemClock().monotonic_s,
        woken=inbox.wake.set,
    )


def _talks(
    settings: AgentSettings,
    layout: AgentLayout,
    boot: BootData,
    server: _Server,
    *,
    inbox: Inbox,
    outbox: ReportOutbox,
    etag: str,
    follower: Follower,
) -> tuple[DocumentTalk, ReportTalk]:
    credential, trust, client = server.credential, server.trust, server.client
    certification = _certification(boot, layout, client=client, trust=trust, follower=follower)
    documents = DocumentTalk(
        client=client,
        credential=credential,
        enrolment=partial(enrol_request, boot),
        inbox=inbox,
        backoff=Backoff(settings.times.retry_s, settings.times.retry_cap_s),
        etag=etag,
        wait_s=settings.times.poll_wait_s,
        heard=follower.heard,
        certification=certification,
        outbox=outbox,
    )
    reports = ReportTalk(
        client=client,
        credential=credential,
        rotation=Rotation(boot, client=client, credential=credential),
        outbox=outbox,
        inbox=inbox,
        backoff=Backoff(settings.times.retry_s, settings.times.retry_cap_s),
        on_taken=follower.report_taken,
        certification=certification,
    )
    return documents, reports


def _certification(
    boot: BootData, layout: AgentLayout, *, client: ServerClient, trust: PinnedCa | None, follower: Follower
) -> Certification | None:
    """None on loopback, where nothing is proved by certificates."""
    if trust is None:
        return None
    made = Certification(boot, client=client, trust=trust, state=layout.state, is_settled=lambda: follower.is_settled)
    follower.is_certified = lambda: made.is_there
    return made


def _start_shipping(task: BrokerTask[MeasuredBroker], /, *, leaving: threading.Event, spool: Path) -> threading.Thread:
    """Arrow and librdkafka are loaded by an agent that ships, by no other."""
    from agent.metrics_start import start_shipping

    return start_shipping(task, leaving=leaving, spool=spool)


def _start_journal(
    task: BrokerTask[LogsTopic], /, *, leaving: threading.Event, layout: AgentLayout, boot: BootData
) -> threading.Thread:
    """librdkafka is loaded by an agent that sends lines, by no other."""
    from agent.journal.shipping import LogOrigin
    from agent.journal.start import start_journal

    origin = LogOrigin(boot.cluster_uid, boot.node, boot.generation)
    secrets = (boot.token.get_secret_value(),)
    return start_journal(origin, task.what, leaving=leaving, layout=layout, secrets=secrets, client=task.properties)


def _start_heartbeats(
    task: BrokerTask[Heartbeats], /, *, leaving: threading.Event, latest: LatestPulses
) -> threading.Thread:
    """librdkafka is loaded by an agent that looks at brokers, by no other."""
    from agent.heartbeats.start import start_heartbeats

    return start_heartbeats(task.what, leaving=leaving, latest=latest, client=task.properties)


def _token_keys(layout: AgentLayout, settings: AgentSettings, clock: SystemClock) -> TokenKeys:
    return TokenKeys(layout.tls_dir, service_user(settings.run_as) if settings.run_as else None, clock)


def _listen_to_signals(converger: AgentConverger, inbox: Inbox) -> threading.Event:
    leaving = threading.Event()

    def leave(_number: int, _frame: object) -> None:
        leaving.set()
        inbox.wake.set()

    def shut_down(_number: int, _frame: object) -> None:
        disarm()  # a new agent that has not reported yet: the machine goes down anyway
        converger.shutting_down = True
        inbox.wake.set()

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, leave)
    signal.signal(signal.SIGPWR, shut_down)
    return leaving


def _only_agent(state: Path) -> IO[bytes]:
    """Holds the lock file for the life of the process; services do not inherit it. Raises `SecondAgent`."""
    lock = (state / "lock").open("wb")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise SecondAgent(f"another agent runs on {state.parent}: end that one first") from None
    return lock


def _log_to(path: Path) -> None:
    handler = RotatingFileHandler(path, maxBytes=2 * 1024 * 1024, backupCount=2)
    handler.setFormatter(MaskedLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("httpx").setLevel(logging.WARNING)
