"""Clients that are too old for a version of Kafka, as the agents of the brokers report them. Pure.

Versions of requests leave Kafka with major versions only, announced before by being deprecated (KIP-896): what a broker
counts as deprecated is what the next major version refuses.
"""

from collections.abc import Iterable, Mapping

from agent.wire import OldClientReport, Report
from controlplane.cluster.view import ClusterView
from events.spec.model import KafkaClusterDocument
from events.spec.releases import as_numbers

MOST_NAMED = 5


def old_client_warnings(view: ClusterView, wanted: KafkaClusterDocument, reports: Iterable[Report]) -> tuple[str, ...]:
    """Sentences for the plan of `wanted`, none where it brings no other Kafka version. `reports`: those of the VMs."""
    before = {i.planned.kafka_version for i in view.brokers()} - {wanted.spec.kafka.version}
    if not before:
        return ()
    by_vm = {(r.node, r.generation): r for r in reports}
    brokers = {i.key: by_vm.get((i.node, i.planned.generation)) for i in view.brokers()}
    found = _by_client({key: _clients(report) for key, report in brokers.items() if report is not None})
    target = wanted.spec.kafka.version
    refused = min(map(_major, before)) < _major(target)
    silent = sorted(key for key, report in brokers.items() if report is None)
    lines = [f"{client}: {what}" for client, what in list(found.items())[:MOST_NAMED]]
    if len(found) > MOST_NAMED:
        lines.append(f"and {len(found) - MOST_NAMED} clients more")
    if lines:
        later = f"Kafka {_major(target) + 1} will refuse; {target} answers them"
        lines.insert(0, f"clients speak versions that {f'Kafka {target} refuses' if refused else later}:")
    if refused and silent:
        lines.append(f"of the clients of {', '.join(silent)} nothing is known: their agents tell nothing")
    return tuple(lines)


def _clients(report: Report) -> tuple[OldClientReport, ...]:
    return tuple(client for service in report.services for client in service.old_clients)


def _by_client(by_broker: Mapping[str, tuple[OldClientReport, ...]]) -> dict[str, str]:
    """`librdkafka 0.11.6` -> `Fetch v2, ListOffsets v0 (seen by brokers-a-0.g1)`, by name."""
    requests: dict[str, set[str]] = {}
    brokers: dict[str, set[str]] = {}
    for key, clients in by_broker.items():
        for client in clients:
            name = f"{client.software or 'unknown'} {client.software_version or 'unknown'}"
            if name == "unknown unknown":
                name = "clients that do not name themselves (older than Kafka 2.4)"
            requests.setdefault(name, set()).add(f"{client.request} v{client.version}")
            brokers.setdefault(name, set()).add(key)
    return {n: f"{', '.join(sorted(requests[n]))} (seen by {', '.join(sorted(brokers[n]))})" for n in sorted(requests)}


def _major(version: str) -> int:
    return as_numbers(version)[0]
