"""Kafka on this VM, one object per service: brings rendering, storage, launch and probes together for the converger."""

from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from agent.durable import write_durably
from agent.health.loglines import LogLines
from agent.health.reading import read_vitals
from agent.health.vitals import Vitals
from agent.layout import Layout
from agent.metrics import DIGEST, Jolokia, JolokiaSilent
from agent.probes import Health, log_dir_reports, probe
from agent.process import Marks, ServiceProcess, adopt, spawn
from agent.records import ServiceRecord
from agent.services.launch import JOLOKIA_PORT, Installation, service_environment
from agent.services.properties import ignored_settings, log4j2_properties, server_properties
from agent.services.storage import format_storage, run_storage_tool, storage_facts
from agent.settings import AgentSettings
from agent.steps import StorageFacts
from agent.wire import LogDirReport, ServiceDocument, ServiceName


class KafkaService:
    """One Kafka process (broker or controller). Its methods do; `agent.steps` decides."""

    def __init__(self, name: ServiceName, *, layout: Layout, settings: AgentSettings) -> None:
        self._name = name
        self._layout = layout
        self._settings = settings
        self._installation = Installation(settings.kafka_dir, settings.java)
        self._directory = layout.service_dir(name)
        self._directory.mkdir(parents=True, exist_ok=True)
        self._marks = Marks.of(root=layout.root, service=name, directory=self._directory)
        self._process = adopt(self._marks)
        self._jolokia: tuple[str, Jolokia] | None = None
        self._log_lines = LogLines(layout.logs / f"{name}.log")

    @property
    def process(self) -> ServiceProcess | None:
        """The last process known: started by us or adopted; it may have ended since."""
        return self._process

    def is_installed(self, service: ServiceDocument) -> bool:
        return self._installation.has(service.kafka_version)

    def storage(self, service: ServiceDocument, record: ServiceRecord) -> StorageFacts:
        return storage_facts(service, self._layout, used=record.used_directories)

    def format(self, service: ServiceDocument, record: ServiceRecord) -> None:
        """Makes the blank directories of the service. Raises `FormatFailed`, `OSError`."""

        def run_tool(log_dir: Path, arguments: tuple[str, ...]) -> None:
            properties = self._directory / "format.properties"
            write_durably(properties, server_properties(service, log_dirs=(log_dir,)).encode())
            command = self._installation.storage_tool_command(service, properties, arguments)
            run_storage_tool(command, env=service_environment(), timeout_s=self._settings.format_timeout_s)

        format_storage(service, self._layout, used=record.used_directories, run_tool=run_tool)

    def start(self, service: ServiceDocument) -> None:
        """Renders the configuration anew and starts the process. Raises `OSError` when Java cannot be run."""
        log_dirs = tuple(self._layout.data(log_dir) for log_dir in service.log_dirs)
        log = log4j2_properties(
            log_file=self._layout.logs / f"{self._name}.log",
            cap_bytes=self._settings.log_cap_bytes,
            files=self._settings.log_files,
        )
        policy = (resources.files("agent.services") / "jolokia-access.xml").read_bytes()
        write_durably(self._directory / "server.properties", server_properties(service, log_dirs=log_dirs).encode())
        write_durably(self._directory / "log4j2.properties", log.encode())
        write_durably(self._directory / "jolokia-access.xml", policy)
        marks = self._marks.arguments(service.start_id)
        command = self._installation.kafka_command(service, directory=self._directory, marks=marks)
        output, env = self._layout.logs / f"{self._name}.out", service_environment()
        self._process = spawn(command, marks=self._marks, start_id=service.start_id, output=output, env=env)

    def probe(self, service: ServiceDocument) -> Health:
        return probe(service, self._metrics_port(service))

    def usage(self, service: ServiceDocument) -> tuple[LogDirReport, ...]:
        return log_dir_reports(service, self._layout)

    def digest(self, service: ServiceDocument) -> Mapping[str, float]:
        """Kafka's metrics by short name; empty when the metrics port is silent."""
        jolokia = self._metrics_port(service)
        try:
            return jolokia.read(DIGEST[self._name]) if jolokia else {}
        except JolokiaSilent:
            return {}

    def vitals(self, service: ServiceDocument, usage: tuple[LogDirReport, ...], *, at_s: float) -> Vitals | None:
        """A sample by the metrics port; None when it is silent or there is none."""
        jolokia, process = self._metrics_port(service), self._process
        if jolokia is None or process is None:
            return None
        try:
            return read_vitals(jolokia, at_s=at_s, pid=process.pid, log_dirs=usage, proc=Path("/proc"))
        except JolokiaSilent:
            return None

    def log_lines(self, *, at_s: float) -> Mapping[str, int]:
        self._log_lines.look(at_s)
        return self._log_lines.per_minute

    def note(self, service: ServiceDocument) -> str:
        ignored = ignored_settings(service)
        return f"settings ignored, Kedge owns these keys: {', '.join(ignored)}" if ignored else ""

    def _metrics_port(self, service: ServiceDocument) -> Jolokia | None:
        if self._installation.jolokia(service.kafka_version) is None:
            return None
        url = f"http://{service.address}:{JOLOKIA_PORT[self._name]}"
        if self._jolokia is None or self._jolokia[0] != url:
            if self._jolokia:
                self._jolokia[1].close()
            self._jolokia = (url, Jolokia(url))
        return self._jolokia[1]
