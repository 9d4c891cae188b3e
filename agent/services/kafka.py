"""Kafka on this VM, one object per service: brings rendering, storage, launch and probes together for the converger."""

import time
from collections.abc import Mapping
from pathlib import Path

from agent.disks.saturation import SaturationWatch
from agent.durable import write_durably
from agent.layout import AgentLayout
from agent.load import LOAD, MEAN_EVER, REQUESTS, LoadCounters, RecentLoad, disk_counters
from agent.metrics import DIGEST, JolokiaSilent
from agent.old_clients import old_clients
from agent.probes import ProbeResult, log_dir_reports, probe
from agent.records import ServiceRecord
from agent.services.java import JavaService
from agent.services.launch import service_environment
from agent.services.metadata_log import forget_leader_of_empty_log
from agent.services.properties import ignored_settings, server_properties
from agent.services.storage import format_storage, run_storage_tool, storage_facts
from agent.services.token_properties import NO_KEYS, allowed_urls, key_file
from agent.settings import AgentSettings
from agent.steps import StorageFacts
from agent.wire import LogDirReport, OldClientReport, ServiceDocument, ServiceName


class KafkaService(JavaService):
    """One Kafka process (broker or controller). Its methods do; `agent.steps` decides."""

    def __init__(self, name: ServiceName, *, layout: AgentLayout, settings: AgentSettings) -> None:
        super().__init__(name, layout=layout, settings=settings)
        self._recent_load = RecentLoad()
        self._saturation = SaturationWatch()

    def storage(self, service: ServiceDocument, record: ServiceRecord) -> StorageFacts:
        return storage_facts(service, self._layout, used=record.used_directories)

    def format(self, service: ServiceDocument, record: ServiceRecord) -> None:
        """Makes the blank directories of the service. Raises `FormatFailed`, `OSError`."""

        def run_tool(log_dir: Path, arguments: tuple[str, ...]) -> None:
            properties = self._directory / "format.properties"
            write_durably(properties, self._properties(service, (log_dir,)))
            command = self._installation.storage_tool_command(service, properties, arguments)
            run_storage_tool(command, env=service_environment(), timeout_s=self._settings.times.format_timeout_s)

        format_storage(service, self._layout, used=record.used_directories, run_tool=run_tool)

    def start(self, service: ServiceDocument) -> None:
        """Renders the configuration anew and starts the process. Raises `OSError` when Java cannot be run."""
        log_dirs = tuple(self._layout.data(log_dir) for log_dir in service.log_dirs)
        if self._name == "broker":  # a controller's is the cluster's own, and a vote
            forget_leader_of_empty_log(log_dirs[0])
        self._render_surroundings(service)
        write_durably(self._directory / "server.properties", self._properties(service, log_dirs))
        tls_dir = self._layout.tls_dir(self._name)
        self._keep_key_files(service, tls_dir)
        marks = (*self._marks.arguments(service.start_id), *allowed_urls(service.tls, tls_dir))
        command = self._installation.kafka_command(service, directory=self._directory, marks=marks)
        self._launch(command, service.start_id, data=log_dirs)

    def _keep_key_files(self, service: ServiceDocument, folder: Path) -> None:
        """Kafka exits without one: while the provider has told no keys yet it starts with none, and takes no token."""
        for listener, _ in service.tls.token_listeners if service.tls is not None else ():
            file = key_file(folder, listener)
            if not file.exists():
                owner = (self._user.uid, self._user.gid) if self._user is not None else None
                write_durably(file, NO_KEYS, mode=0o600, owner=owner)

    def _properties(self, service: ServiceDocument, log_dirs: tuple[Path, ...]) -> bytes:
        return server_properties(service, log_dirs=log_dirs, tls_dir=self._layout.tls_dir(self._name)).encode()

    def probe(self, service: ServiceDocument) -> ProbeResult:
        return probe(service, self._metrics_port(service))

    def usage(self, service: ServiceDocument) -> tuple[LogDirReport, ...]:
        return log_dir_reports(service, self._layout, self._saturation)

    def digest(self, service: ServiceDocument) -> Mapping[str, float]:
        """Kafka's metrics by short name, of a broker with its load of the last seconds; empty when the metrics port is
        silent."""
        jolokia = self._metrics_port(service)
        try:
            if jolokia is None or self._name != "broker":
                return jolokia.read(DIGEST[self._name]) if jolokia else {}
            read = jolokia.read((*DIGEST[self._name], *LOAD))
        except JolokiaSilent:
            return {}
        counters = self._load_counters(service, read)
        self._saturation.see(counters.at_s, counters.disks)
        return self._recent_load.figures(counters, read)

    def old_clients(self, service: ServiceDocument) -> tuple[OldClientReport, ...]:
        """Who speaks to a broker in versions the next major Kafka refuses; a controller has no clients."""
        jolokia = self._metrics_port(service) if self._name == "broker" else None
        return old_clients(jolokia) if jolokia else ()

    def _load_counters(self, service: ServiceDocument, read: Mapping[str, float]) -> LoadCounters:
        process = self._process
        return LoadCounters(
            at_s=time.monotonic(),
            pid=process.pid if process is not None else 0,
            requests=read.get(REQUESTS.name),
            mean_ever_ms=read.get(MEAN_EVER.name),
            disks=disk_counters(self._layout.mount(d) for d in service.log_dirs),
        )

    def note(self, service: ServiceDocument) -> str:
        ignored = ignored_settings(service)
        return f"settings ignored, Kedge owns these keys: {', '.join(ignored)}" if ignored else ""
