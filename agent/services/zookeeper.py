"""A ZooKeeper server on this VM, for the converger: the same promises as `agent.services.kafka`, other files."""

import contextlib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from agent import four_letters
from agent.durable import write_durably
from agent.health.loglines import LogLines
from agent.health.reading import read_vitals
from agent.health.vitals import Vitals
from agent.layout import Layout
from agent.metrics import Jolokia, JolokiaSilent
from agent.probes import Health, volume_usage
from agent.process import Marks, ServiceProcess, adopt, spawn
from agent.records import ServiceRecord
from agent.services.launch import JOLOKIA_PORT, Installation, service_environment
from agent.services.properties import log4j2_properties
from agent.services.storage import FormatFailed, format_storage, storage_facts
from agent.services.zoo_cfg import ignored_zookeeper_settings, write_configuration
from agent.settings import AgentSettings
from agent.steps import StorageFacts
from agent.wire import LogDirReport, ServiceDocument, ServiceName

_NAME: ServiceName = "zookeeper"


class ZooKeeperService:
    """One server of the ensemble. Its methods do; `agent.steps` decides."""

    def __init__(self, *, layout: Layout, settings: AgentSettings) -> None:
        self._layout = layout
        self._settings = settings
        self._installation = Installation(settings.kafka_dir, settings.java)
        self._directory = layout.service_dir(_NAME)
        self._directory.mkdir(parents=True, exist_ok=True)
        self._marks = Marks.of(root=layout.root, service=_NAME, directory=self._directory)
        self._process = adopt(self._marks)
        self._jolokia: tuple[str, Jolokia] | None = None
        self._log_lines = LogLines(layout.logs / f"{_NAME}.log")

    @property
    def process(self) -> ServiceProcess | None:
        """The last process known: started by us or adopted; it may have ended since."""
        return self._process

    def is_installed(self, service: ServiceDocument) -> bool:
        return self._installation.has(service.kafka_version)

    def storage(self, service: ServiceDocument, record: ServiceRecord) -> StorageFacts:
        if not self._installation.has_zookeeper(service.kafka_version):
            return StorageFacts(
                "refused", f"Kafka {service.kafka_version} brings no ZooKeeper; 3.9 is the last that does"
            )
        return storage_facts(service, self._layout, used=record.used_directories)

    def format(self, service: ServiceDocument, record: ServiceRecord) -> None:
        """Makes the directory of a server that has none. Raises `FormatFailed`, `OSError`."""

        def no_tool(*_: object) -> None:
            raise FormatFailed("a ZooKeeper server is formatted without Kafka's tool")

        format_storage(service, self._layout, used=record.used_directories, run_tool=no_tool)

    def start(self, service: ServiceDocument) -> None:
        """Renders the configuration anew and starts the process. Raises `OSError` when Java cannot be run."""
        log = log4j2_properties(
            log_file=self._layout.logs / f"{_NAME}.log",
            cap_bytes=self._settings.log_cap_bytes,
            files=self._settings.log_files,
        )
        policy = (resources.files("agent.services") / "jolokia-access.xml").read_bytes()
        config = write_configuration(service, self._layout.zookeeper(service.log_dirs[0]))
        write_durably(self._directory / "log4j2.properties", log.encode())
        write_durably(self._directory / "jolokia-access.xml", policy)
        marks = self._marks.arguments(service.start_id)
        command = self._installation.zookeeper_command(service, directory=self._directory, config=config, marks=marks)
        output, env = self._layout.logs / f"{_NAME}.out", service_environment()
        self._process = spawn(command, marks=self._marks, start_id=service.start_id, output=output, env=env)

    def probe(self, service: ServiceDocument) -> Health:
        return four_letters.probe(service.address, service.port)

    def usage(self, service: ServiceDocument) -> tuple[LogDirReport, ...]:
        """Of the volume, while it can be read: unknown is not empty. There are no partitions."""
        reports = []
        for log_dir in service.log_dirs:
            with contextlib.suppress(OSError):
                total_bytes, free_bytes = volume_usage(self._layout, log_dir)
                usage = LogDirReport(name=log_dir.name, total_bytes=total_bytes, free_bytes=free_bytes, partitions=0)
                reports.append(usage)
        return tuple(reports)

    def digest(self, service: ServiceDocument) -> Mapping[str, float]:
        """Empty when the server does not answer."""
        try:
            srvr = four_letters.ask(service.address, service.port, "srvr")
            return four_letters.digest(srvr, four_letters.ask(service.address, service.port, "mntr"))
        except OSError:
            return {}

    def vitals(self, service: ServiceDocument, usage: tuple[LogDirReport, ...], *, at_s: float) -> Vitals | None:
        """A sample of the JVM by the metrics port; None when it is silent or there is none."""
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
        ignored = ignored_zookeeper_settings(service)
        return f"settings ignored, Kedge owns these keys: {', '.join(ignored)}" if ignored else ""

    def _metrics_port(self, service: ServiceDocument) -> Jolokia | None:
        if self._installation.jolokia(service.kafka_version) is None:
            return None
        url = f"http://{service.address}:{JOLOKIA_PORT[_NAME]}"
        if self._jolokia is None or self._jolokia[0] != url:
            if self._jolokia:
                self._jolokia[1].close()
            self._jolokia = (url, Jolokia(url))
        return self._jolokia[1]
