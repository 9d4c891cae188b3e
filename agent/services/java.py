"""What every Java service on this VM has: its directory and marks, its process, its log, and a metrics port."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path

from agent.durable import write_durably
from agent.exit_reason import ExitReason, exit_reason
from agent.health.log_lines import LogLines
from agent.health.reading import read_vitals
from agent.health.vitals import Vitals
from agent.host_port import HostPort
from agent.layout import AgentLayout
from agent.metrics import Jolokia, JolokiaSilent
from agent.process import Marks, ServiceProcess, adopt, spawn
from agent.service_user import service_user
from agent.services.last_run import LastRun
from agent.services.launch import JOLOKIA_PORT, KafkaInstallation, service_environment
from agent.services.properties import log4j2_properties
from agent.settings import AgentSettings
from agent.wire import LogDirReport, ServiceDocument, ServiceName

NO_OP_EVERY, NO_OP_EVERY_MS = "metadata.max.idle.interval.ms", 500
"""Kafka's setting and its default."""


class JavaService:
    """The part of a service that does not depend on what it serves."""

    def __init__(self, name: ServiceName, *, layout: AgentLayout, settings: AgentSettings) -> None:
        self._name = name
        self._layout = layout
        self._settings = settings
        self._installation = KafkaInstallation(settings.kafka_dir, settings.java)
        self._user = service_user(settings.run_as) if settings.run_as else None
        self._directory = layout.service_dir(name)
        self._directory.mkdir(parents=True, exist_ok=True)
        if self._user is not None:
            self._user.share(self._directory)
            layout.service_logs.mkdir(exist_ok=True)
            self._user.give(layout.service_logs)
        self._marks = Marks.of(root=layout.root, service=name, directory=self._directory)
        self._process = adopt(self._marks)
        self._jolokia: tuple[str, Jolokia] | None = None
        self._levels: Mapping[str, str] | None = None
        """Of loggers, as its file has them; None where an agent before this one wrote it."""
        self._log_lines = LogLines(layout.service_log(name))
        self._last_run = LastRun(log=layout.service_log(name), output=layout.logs / f"{name}.out")

    @property
    def process(self) -> ServiceProcess | None:
        """The last process known: started by us or adopted; it may have ended since."""
        return self._process

    def is_installed(self, service: ServiceDocument) -> bool:
        return self._installation.has(service.kafka_version)

    def vitals(self, service: ServiceDocument, usage: tuple[LogDirReport, ...], *, at_s: float) -> Vitals | None:
        """A sample by the metrics port; None when it is silent or there is none."""
        jolokia, process = self._metrics_port(service), self._process
        if jolokia is None or process is None:
            return None
        try:
            vitals = read_vitals(jolokia, at_s=at_s, pid=process.pid, log_dirs=usage, proc=Path("/proc"))
        except JolokiaSilent:
            return None
        wanted = (str(service.node_id), service.kafka_version)
        no_op_every_ms = int(service.settings.get(NO_OP_EVERY, NO_OP_EVERY_MS))
        return replace(vitals, wanted=wanted, metadata=replace(vitals.metadata, no_op_every_ms=no_op_every_ms))

    def exit_reason(self) -> ExitReason:
        """Why its last process ended, by what that wrote."""
        return exit_reason(self._last_run.written())

    def log_lines(self, *, at_s: float) -> Mapping[str, int]:
        self._log_lines.look(at_s)
        return self._log_lines.per_minute

    def follow(self, service: ServiceDocument) -> None:
        """Lets a running process have what counts without a restart: how it logs. Raises `OSError`."""
        if self._levels != service.log_levels:
            self._render_logging(service)

    def _render_surroundings(self, service: ServiceDocument) -> None:
        """How it logs, and what its metrics port lets people do."""
        policy = (resources.files("agent.services") / "jolokia-access.xml").read_bytes()
        self._render_logging(service)
        write_durably(self._directory / "jolokia-access.xml", policy)

    def _render_logging(self, service: ServiceDocument) -> None:
        log = log4j2_properties(
            log_file=self._layout.service_log(self._name),
            cap_bytes=self._settings.log_cap_bytes,
            files=self._settings.log_files,
            levels=service.log_levels,
        )
        write_durably(self._directory / "log4j2.properties", log.encode())
        self._levels = dict(service.log_levels)

    def _launch(self, command: Sequence[str], start_id: str, *, data: Iterable[Path]) -> None:
        """`data`: directories the service writes to. Raises `OSError` when Java cannot be run."""
        output, env = self._layout.logs / f"{self._name}.out", service_environment()
        if self._user is not None:
            for directory in data:
                self._user.give(directory)
        self._last_run.begins()
        self._process = spawn(
            tuple(command), marks=self._marks, start_id=start_id, output=output, env=env, user=self._user
        )

    def _metrics_port(self, service: ServiceDocument) -> Jolokia | None:
        if self._installation.jolokia(service.kafka_version) is None:
            return None
        url = f"http://{HostPort(service.address, JOLOKIA_PORT[self._name])}"
        if self._jolokia is None or self._jolokia[0] != url:
            if self._jolokia:
                self._jolokia[1].close()
            self._jolokia = (url, Jolokia(url))
        return self._jolokia[1]
