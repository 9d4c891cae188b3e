"""What the agent reports, for a Prometheus on the VM or near it: text over HTTP, as of the last report.

Names are those of the server's `/v1/metrics`, where a cluster and an instance are labels; here both are the target's.
"""

import logging
import threading
from collections.abc import Iterable, Iterator
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from agent.host_port import HostPort
from agent.wire import Report, ServiceReport

_log = logging.getLogger(__name__)

_BY_AGENT = "By the agent's last report."
_TOTAL = "_total"


class Exposition(Collector):
    """The newest report, as families of metrics. `keep` is called by the agent's loop, `collect` by whoever scrapes."""

    def __init__(self) -> None:
        self._report: Report | None = None

    def keep(self, report: Report) -> None:
        """The report that counts from now on."""
        self._report = report

    def collect(self) -> Iterable[Metric]:
        """Nothing before the first report."""
        return families(self._report) if self._report is not None else ()


def serve(exposition: Exposition, *, at: HostPort) -> tuple[WSGIServer, threading.Thread] | None:
    """Answers at `http://HOST:PORT/metrics` in a daemon thread. None, with a line in the log, where the address cannot
    be had: nobody's Kafka waits for that."""
    registry = CollectorRegistry()
    registry.register(exposition)
    try:
        return start_http_server(at.port, at.host, registry)
    except OSError as error:
        _log.warning("no metrics are served at %s: %s", at, error)
        return None


def families(report: Report) -> Iterator[Metric]:
    """Of one report; what a service does not tell is absent."""
    about = GaugeMetricFamily(
        "kedge_agent_info", "1; whose VM this is.", labels=["cluster_uid", "node", "generation", "version"]
    )
    about.add_metric([report.cluster_uid, report.node, str(report.generation), report.agent_version], 1.0)
    reported = GaugeMetricFamily("kedge_agent_report_timestamp_seconds", "When this was so.")
    reported.add_metric([], report.at.timestamp())
    yield from (about, reported)
    yield from _states(report.services)
    yield from _log_dirs(report.services)
    yield from _digests(report.services)


def _states(services: Iterable[ServiceReport]) -> Iterator[Metric]:
    state = GaugeMetricFamily("kedge_service_state", "1 for its state.", labels=["service", "state"])
    finding = GaugeMetricFamily(
        "kedge_service_finding", "1 for what is wrong inside it.", labels=["service", "finding"]
    )
    lines = GaugeMetricFamily("kedge_service_log_lines", "Log lines of the last minute.", labels=["service", "class"])
    for service in services:
        state.add_metric([service.name, service.state], 1.0)
        for found in service.findings:
            finding.add_metric([service.name, found.name], 1.0)
        for kind, n in sorted(service.log_lines.items()):
            lines.add_metric([service.name, kind], float(n))
    yield from (state, finding, lines)


def _log_dirs(services: Iterable[ServiceReport]) -> Iterator[Metric]:
    where = ["service", "log_dir"]
    free = GaugeMetricFamily("kedge_log_dir_free_bytes", "Free bytes of a log directory.", labels=where)
    total = GaugeMetricFamily("kedge_log_dir_size_bytes", "Bytes of a log directory.", labels=where)
    for service in services:
        for log_dir in service.log_dirs:
            free.add_metric([service.name, log_dir.name], float(log_dir.free_bytes))
            total.add_metric([service.name, log_dir.name], float(log_dir.total_bytes))
    yield from (free, total)


def _digests(services: Iterable[ServiceReport]) -> Iterator[Metric]:
    found: dict[str, GaugeMetricFamily | CounterMetricFamily] = {}
    for service in services:
        for name, value in sorted(service.metrics.items()):
            if name not in found:
                kind = CounterMetricFamily if name.endswith(_TOTAL) else GaugeMetricFamily
                found[name] = kind(f"kedge_service_{name.removesuffix(_TOTAL)}", _BY_AGENT, labels=["service"])
            found[name].add_metric([service.name], value)
    yield from found.values()
