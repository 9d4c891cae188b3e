"""What is told of the server's own load: room for agents, connections, what it sends away. Pure."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from controlplane.api.server_load import AGENTS, PEOPLE, LoadFigures


def load_families(load: LoadFigures | None) -> Iterator[Metric]:
    """Of the process that is scraped, as `process_*` is."""
    if load is None:
        return
    yield _gauge("kedge_agents_connected", "Agents heard in the last minute.", load.agents)
    yield _gauge("kedge_agents_fit", "Agents that fit its open files, two connections each.", load.budget.agents)
    opened = GaugeMetricFamily("kedge_connections", "Open connections, by whose they are.", labels=["who"])
    for who, count in sorted(load.connections.items()):
        opened.add_metric([who], float(count))
    yield opened
    yield GaugeMetricFamily(
        "kedge_connections_fit", "Connections it keeps at most.", value=float(load.budget.connections)
    )
    shed = CounterMetricFamily(
        "kedge_requests_shed", "Requests answered with 503 since it began, before anything was done.", labels=["who"]
    )
    refused = load.shed_of
    for who in (AGENTS, PEOPLE):
        shed.add_metric([who], float(refused[who]))
    yield shed
    closed = CounterMetricFamily("kedge_connections_closed", "Connections it closed before their time.", labels=["why"])
    for why, count in sorted(load.closed.items()):
        closed.add_metric([why], float(count))
    yield closed
    yield GaugeMetricFamily(
        "kedge_threads_busy", "Threads that answer requests, in use.", value=float(load.threads_busy)
    )
    yield GaugeMetricFamily(
        "kedge_database_problem", "1 while its writes are not kept.", value=float(load.database is not None)
    )
    failed = CounterMetricFamily(
        "kedge_task_failures", "Failed turns of what repeats, since it began.", labels=["task"]
    )
    for trouble in load.troubles:
        failed.add_metric([trouble.task], float(trouble.count))
    yield failed


def _gauge(name: str, help_text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, help_text, value=float(value))
