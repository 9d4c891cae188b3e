"""A ZooKeeper server on this VM, for the converger: the same promises as `agent.services.kafka`, other files."""

import contextlib
import ssl
from collections.abc import Mapping
from dataclasses import replace

from agent import four_letters, metrics, probes, records, steps
from agent.health.vitals import Vitals
from agent.layout import AgentLayout
from agent.services.java import JavaService
from agent.services.storage import FormatFailed, format_storage, storage_facts
from agent.services.tls_properties import CLUSTER_CA, NODE_PEM
from agent.services.zoo_cfg import ignored_zookeeper_settings, write_configuration
from agent.settings import AgentSettings
from agent.wire import LogDirReport, OldClientReport, ServiceDocument


class ZooKeeperService(JavaService):
    """One server of the ensemble. Its methods do; `agent.steps` decides."""

    def __init__(self, *, layout: AgentLayout, settings: AgentSettings) -> None:
        super().__init__("zookeeper", layout=layout, settings=settings)

    def storage(self, service: ServiceDocument, record: records.ServiceRecord) -> steps.StorageFacts:
        if not self._installation.has_zookeeper(service.kafka_version):
            return steps.StorageFacts(
                "refused", f"Kafka {service.kafka_version} brings no ZooKeeper; 3.9 is the last that does"
            )
        return storage_facts(service, self._layout, used=record.used_directories)

    def format(self, service: ServiceDocument, record: records.ServiceRecord) -> None:
        """Makes the directory of a server that has none. Raises `FormatFailed`, `OSError`."""

        def no_tool(*_: object) -> None:
            raise FormatFailed("a ZooKeeper server is formatted without Kafka's tool")

        format_storage(service, self._layout, used=record.used_directories, run_tool=no_tool)

    def start(self, service: ServiceDocument) -> None:
        """Renders the configuration anew and starts the process. Raises `OSError` when Java cannot be run."""
        self._render_surroundings(service)
        data = self._layout.zookeeper(service.log_dirs[0])
        config = write_configuration(service, data, tls_dir=self._layout.tls_dir(self._name))
        marks = self._marks.arguments(service.start_id)
        command = self._installation.zookeeper_command(service, directory=self._directory, config=config, marks=marks)
        self._launch(command, service.start_id, data=(data,))

    def probe(self, service: ServiceDocument) -> probes.ProbeResult:
        try:
            return four_letters.probe(service.address, service.port, self._as_node(service))
        except OSError as error:
            return probes.ProbeResult("unknown", f"its certificate cannot be read: {error}")

    def usage(self, service: ServiceDocument) -> tuple[LogDirReport, ...]:
        """Of the volume, while it can be read: unknown is not empty. There are no partitions."""
        reports = []
        for log_dir in service.log_dirs:
            with contextlib.suppress(OSError):
                total_bytes, free_bytes = probes.volume_usage(self._layout, log_dir)
                usage = LogDirReport(name=log_dir.name, total_bytes=total_bytes, free_bytes=free_bytes, partitions=0)
                reports.append(usage)
        return tuple(reports)

    def old_clients(self, service: ServiceDocument) -> tuple[OldClientReport, ...]:
        """Kafka's clients do not speak to it."""
        return ()

    def digest(self, service: ServiceDocument) -> Mapping[str, float]:
        """Empty when the server does not answer."""
        try:
            tls = self._as_node(service)
            srvr, mntr = (four_letters.ask(service.address, service.port, word, tls) for word in ("srvr", "mntr"))
            return four_letters.digest(srvr, mntr)
        except OSError:
            return {}

    def vitals(self, service: ServiceDocument, usage: tuple[LogDirReport, ...], *, at_s: float) -> Vitals | None:
        """Those of its process, and what it says of its clients' requests."""
        vitals = super().vitals(service, usage, at_s=at_s)
        if vitals is None or not (digest := self.digest(service)):
            return vitals
        requests = replace(
            vitals.zookeeper,
            outstanding_requests=metrics.whole(digest.get("outstanding_requests")),
            updates_total=metrics.whole(digest.get("updates_total")),
            update_ms_total=digest.get("update_ms_total"),
        )
        return replace(vitals, zookeeper=requests)

    def _as_node(self, service: ServiceDocument) -> ssl.SSLContext | None:
        """How it is asked: by its own certificate, which is another one after each start. None where it speaks
        plaintext. Raises `OSError`."""
        if service.tls is None:
            return None
        folder, context = self._layout.tls_dir(self._name), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(folder / CLUSTER_CA)
        context.load_cert_chain(folder / NODE_PEM)
        return context

    def note(self, service: ServiceDocument) -> str:
        ignored = ignored_zookeeper_settings(service)
        return f"settings ignored, Kedge owns these keys: {', '.join(ignored)}" if ignored else ""
