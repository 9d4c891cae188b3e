"""From a snapshot of the server to metric families. Pure.

Names and units as Prometheus asks for them (prometheus.io, "Metric and label naming"): base units, times as seconds
since 1970, totals end in `_total`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.metrics_core import Metric

from agent.wire import ServiceReport
from controlplane.api.metrics.anomaly_families import anomaly_families, notifier_families
from controlplane.api.metrics.audit_topic_families import audit_topic_families
from controlplane.api.metrics.certificate_families import certificate_families
from controlplane.api.metrics.drift_families import drift_families
from controlplane.api.metrics.figure_families import figure_families
from controlplane.api.metrics.forecast_families import forecast_families
from controlplane.api.metrics.group_families import group_families
from controlplane.api.metrics.heartbeat_families import heartbeat_families
from controlplane.api.metrics.load_families import load_families
from controlplane.api.metrics.pair_families import pair_families
from controlplane.api.metrics.pipeline_families import pipeline_families
from controlplane.api.metrics.plan_families import plan_families
from controlplane.api.metrics.snapshot import ClusterSnapshot, ServerSnapshot
from controlplane.cluster.latency_brake import batch_of, share_of

STATUSES = ("Converged", "Working", "Blocked", "Paused", "Held", "Deleting", "Unreadable")

_DIGEST = {
    "leaders": "Partitions it leads.",
    "partitions": "Replicas it holds.",
    "under_replicated_partitions": "Partitions it leads whose ISR is not whole.",
    "under_min_isr_partitions": "Partitions it leads whose ISR is below min.insync.replicas.",
    "offline_replicas": "Its replicas in failed log directories.",
    "request_handler_idle": "Share of the last minute in which request handlers were idle.",
    "network_processor_idle": "Share of the time in which network processors are idle.",
    "produce_p99_ms": "How long produce requests took it, p99 of the last minutes.",
    "produce_mean_ms": "How long produce requests took it, mean of the last seconds.",
    "request_queue": "Requests that wait for a request handler.",
    "disk_busy": "Share of the last seconds in which its busiest disk had anything to do.",
    "disk_wait_ms": "How long a request to that disk took in the last seconds.",
    "heap_used_bytes": "Bytes of its heap in use.",
    "active_controllers": "1 for the active controller.",
    "offline_partitions": "Partitions without a leader, by the active controller.",
    "outstanding_requests": "ZooKeeper: requests it has taken and not answered.",
    "latency_avg_ms": "ZooKeeper: mean time of a request since it began.",
    "latency_max_ms": "ZooKeeper: longest time of a request since it began.",
    "fsync_avg_ms": "ZooKeeper: mean time to have its log on the disk.",
    "connections": "ZooKeeper: open connections of clients.",
    "sessions": "ZooKeeper: sessions of the whole ensemble.",
    "znodes": "ZooKeeper: nodes of its tree.",
}
_DIGEST_TOTALS = {
    "bytes_in_total": "Bytes clients have produced to it since it began.",
    "bytes_out_total": "Bytes clients have fetched from it since it began.",
    "messages_in_total": "Records clients have produced to it since it began.",
    "produce_requests_total": "Produce requests it has answered since it began.",
    "updates_total": "ZooKeeper: changes it has made since it began.",
    "unexpected_exits": "Times it ended though nobody asked it to.",
}


def families(server: ServerSnapshot) -> Iterator[Metric]:
    """All families of one scrape. What is not known is left out: an absent series, not a zero."""
    yield from _of_process(server)
    states = GaugeMetricFamily("kedge_planner", "1 for what plans drains now.", labels=["engine"])
    states.add_metric([server.planner], 1.0)
    yield states
    counted = Counter(c.status for c in server.clusters)
    by_status = GaugeMetricFamily("kedge_clusters", "Clusters by status.", labels=["status"])
    for status in STATUSES:
        by_status.add_metric([status], float(counted[status]))
    yield by_status
    yield from _of_clusters(server.clusters)
    yield from _of_moves(server.clusters)
    yield from _of_services(server.clusters)
    yield from figure_families(server.clusters)
    yield from forecast_families(server.clusters)
    yield from certificate_families(server.clusters)
    yield from group_families(server.clusters, server.now)
    yield from anomaly_families(server.clusters)
    yield from notifier_families(server.notifiers)
    yield from heartbeat_families(server.clusters, server.now)
    yield from drift_families(server.clusters)
    yield from pair_families(server.pairs)
    yield from audit_topic_families(server.audit_topic, server.now)
    yield from pipeline_families(server.pipeline)
    yield from plan_families(server.plans)
    yield from load_families(server.load)


def agents_process_families(server: ServerSnapshot) -> Iterator[Metric]:
    """Of a process that answers agents and nothing else: the fleet is told by the server, once."""
    yield from _of_process(server)
    yield from load_families(server.load)


def _of_process(server: ServerSnapshot) -> Iterator[Metric]:
    told = {"version": server.version, "part": server.part or "whole"}
    yield InfoMetricFamily("kedge_build", "This release, and which part of a server this process is.", value=told)
    yield _gauge("kedge_ready", "1 where calls are to be sent to this process.", float(server.is_ready))
    yield _gauge("kedge_leader", "1 where this server leads.", float(server.leads))
    yield _gauge("kedge_epoch", "The lease epoch this server holds, or follows; 0 for none.", float(server.epoch))


def _of_clusters(clusters: Iterable[ClusterSnapshot]) -> Iterator[Metric]:
    one = ["cluster"]
    said = GaugeMetricFamily("kedge_cluster_last_tick_timestamp_seconds", "When it was last looked at.", labels=one)
    took = GaugeMetricFamily("kedge_cluster_last_tick_seconds", "How long its last tick took.", labels=one)
    progressed = GaugeMetricFamily("kedge_cluster_progressed_timestamp_seconds", "When it last moved on.", labels=one)
    generation = GaugeMetricFamily("kedge_cluster_generation", "Generation that is declared.", labels=one)
    converged = GaugeMetricFamily("kedge_cluster_converged_generation", "Generation that was reached.", labels=one)
    status = GaugeMetricFamily("kedge_cluster_status", "1 for the status it has.", labels=["cluster", "status"])
    condition = GaugeMetricFamily(
        "kedge_cluster_condition", "1 for a condition that holds.", labels=["cluster", "type", "reason"]
    )
    instances = GaugeMetricFamily("kedge_cluster_instances", "VMs by phase.", labels=["cluster", "service", "phase"])
    lost = GaugeMetricFamily("kedge_cluster_lost_instances", "VMs the cloud says are gone.", labels=one)
    partitions = GaugeMetricFamily("kedge_cluster_partitions", "Partitions, by the metadata last read.", labels=one)
    lagging = GaugeMetricFamily("kedge_cluster_under_replicated_partitions", "With an ISR not whole.", labels=one)
    at_min = GaugeMetricFamily(
        "kedge_cluster_at_min_isr_partitions", "With a replica missing, one more away from refusing writes.", labels=one
    )
    below = GaugeMetricFamily("kedge_cluster_under_min_isr_partitions", "With an ISR below min ISR.", labels=one)
    read_at = GaugeMetricFamily("kedge_cluster_metadata_timestamp_seconds", "When metadata was read.", labels=one)
    dns = GaugeMetricFamily(
        "kedge_dns_name_problem", "1 for a name that could not be kept.", labels=["cluster", "name"]
    )
    source = GaugeMetricFamily("kedge_cluster_source", "1 for how its git source stands.", labels=["cluster", "sync"])
    for cluster in clusters:
        view, name = cluster.view, cluster.view.name
        if cluster.said is not None:
            said.add_metric([name], cluster.said.at.timestamp())
            if cluster.said.took_s is not None:
                took.add_metric([name], cluster.said.took_s)
        if view.history.progressed_at is not None:
            progressed.add_metric([name], view.history.progressed_at.timestamp())
        generation.add_metric([name], float(view.generation))
        converged.add_metric([name], float(view.roll.converged))
        status.add_metric([name, cluster.status], 1.0)
        for kind, held in sorted(view.conditions.items()):
            if held.status:
                condition.add_metric([name, kind, held.reason], 1.0)
        phases = Counter((i.planned.service, str(i.phase)) for i in view.alive())
        for (service, phase), n in sorted(phases.items()):
            instances.add_metric([name, service, phase], float(n))
        lost.add_metric([name], float(sum(i.lost for i in view.alive())))
        if (snapshot := cluster.snapshot) is not None:
            partitions.add_metric([name], float(len(snapshot.partitions)))
            lagging.add_metric([name], float(len(snapshot.under_replicated())))
            below.add_metric([name], float(len(snapshot.under_min_isr())))
            at_min.add_metric([name], float(len(snapshot.at_min_isr)))
            read_at.add_metric([name], snapshot.at.timestamp())
        for dns_name, problem in sorted(cluster.names.items()):
            dns.add_metric([name, dns_name], float(bool(problem)))
        if cluster.source_sync:
            source.add_metric([name, cluster.source_sync], 1.0)
    yield from (said, took, progressed, generation, converged, status, condition, instances, lost)
    yield from (partitions, lagging, at_min, below, read_at, dns, source)


def _of_moves(clusters: Iterable[ClusterSnapshot]) -> Iterator[Metric]:
    drain = GaugeMetricFamily("kedge_cluster_drain_bytes", "Bytes of the drain in hand.", labels=["cluster", "state"])
    share = GaugeMetricFamily(
        "kedge_cluster_moves_share",
        "Share of the planned rate that the latency brake leaves moves.",
        labels=["cluster"],
    )
    for cluster in clusters:
        view, name = cluster.view, cluster.view.name
        if view.moves.drain is not None:
            drain.add_metric([name, "planned"], float(view.moves.drain.plan.bytes))
            drain.add_metric([name, "done"], float(view.moves.drain.progress.done_bytes))
        if batch_of(view):
            share.add_metric([name], share_of(view))
    yield from (drain, share)


def _of_services(clusters: Iterable[ClusterSnapshot]) -> Iterator[Metric]:
    where = ["cluster", "instance", "service"]
    reported = GaugeMetricFamily(
        "kedge_agent_report_timestamp_seconds", "When the agent was last heard.", labels=where[:2]
    )
    state = GaugeMetricFamily("kedge_service_state", "1 for what the agent says of it.", labels=[*where, "state"])
    finding = GaugeMetricFamily("kedge_service_finding", "1 for what is wrong inside it.", labels=[*where, "finding"])
    lines = GaugeMetricFamily("kedge_service_log_lines", "Log lines of the last minute.", labels=[*where, "class"])
    free = GaugeMetricFamily("kedge_log_dir_free_bytes", "Free bytes of a log directory.", labels=[*where, "log_dir"])
    total = GaugeMetricFamily("kedge_log_dir_size_bytes", "Bytes of a log directory.", labels=[*where, "log_dir"])
    gauges = {n: GaugeMetricFamily(f"kedge_service_{n}", help_text, labels=where) for n, help_text in _DIGEST.items()}
    totals = {
        n: CounterMetricFamily(f"kedge_service_{n.removesuffix('_total')}", help_text, labels=where)
        for n, help_text in _DIGEST_TOTALS.items()
    }
    for cluster, instance, service in _services(clusters):
        at = [cluster.view.name, instance, service.name]
        state.add_metric([*at, service.state], 1.0)
        for found in service.findings:
            finding.add_metric([*at, found.name], 1.0)
        for kind, n in sorted(service.log_lines.items()):
            lines.add_metric([*at, kind], float(n))
        for log_dir in service.log_dirs:
            free.add_metric([*at, log_dir.name], float(log_dir.free_bytes))
            total.add_metric([*at, log_dir.name], float(log_dir.total_bytes))
        for family_of in (gauges, totals):
            for name, family in family_of.items():
                if name in service.metrics:
                    family.add_metric(at, service.metrics[name])
    for cluster in clusters:
        for key, (_, received_at) in sorted(cluster.reports.items()):
            reported.add_metric([cluster.view.name, key], received_at.timestamp())
    yield from (reported, state, finding, lines, free, total, *gauges.values(), *totals.values())


def _services(clusters: Iterable[ClusterSnapshot]) -> Iterator[tuple[ClusterSnapshot, str, ServiceReport]]:
    for cluster in clusters:
        for key, (report, _) in sorted(cluster.reports.items()):
            for service in report.services:
                yield cluster, key, service


def _gauge(name: str, help_text: str, value: float) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, help_text)
    family.add_metric([], value)
    return family
