"""Whether a cluster is in full health, by the last look of this server and its agents' last words."""

from collections.abc import Iterable
from dataclasses import dataclass

from agent.wire import Report
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import AGENT_REPORT
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.members import service_on, services_on
from controlplane.commands.deciders.chaos import why_unhealthy
from controlplane.storage.latest_values import LatestStore
from planner.observed import KafkaSnapshot


@dataclass(frozen=True, slots=True)
class FullHealth:
    """`why` it is not fully healthy, "" where it is, and what is counted while it is not. An open fault alone is no
    reason. `findings` are conditions that hold, as `type/reason`; VMs that serve by their keys.
    """

    why: str
    under_min_isr: int
    under_replicated: int
    open: frozenset[str]
    findings: tuple[str, ...]
    brokers: tuple[str, ...]
    controllers: tuple[str, ...]
    zookeepers: tuple[str, ...]
    racks: tuple[str, ...]

    @property
    def is_full(self) -> bool:
        return not self.why


def full_health(view: ClusterView, kafka: KafkaSnapshot | None, latest: LatestStore) -> FullHealth:
    """Raises StoreUnavailable."""
    serving = [i for i in view.in_phase(Phase.JOINED) if not i.lost]
    return FullHealth(
        why=why_unhealthy(view, kafka) or _not_running(view, latest),
        under_min_isr=len(kafka.under_min_isr()) if kafka else 0,
        under_replicated=len(kafka.under_replicated()) if kafka else 0,
        open=frozenset(view.requests.chaos),
        findings=tuple(sorted(f"{t}/{c.reason}" for t, c in view.conditions.items() if c.status and t != "Converged")),
        brokers=_keys(i for i in serving if i.is_broker),
        controllers=_keys(i for i in serving if not i.is_broker),
        zookeepers=_keys(i for i in serving if service_on(i, "zookeeper") is not None),
        racks=tuple(sorted({i.planned.rack for i in serving})),
    )


def _keys(instances: Iterable[InstanceView]) -> tuple[str, ...]:
    return tuple(i.key for i in instances)


def _not_running(view: ClusterView, latest: LatestStore) -> str:
    """The first service that does not run, by its agent's last word; "" where all do."""
    for row in latest.of_cluster(view.uid, AGENT_REPORT):
        instance = view.instances.get(row.subject.name)
        if instance is None or instance.phase is not Phase.JOINED:
            continue
        report = Report.model_validate(dict(row.value))
        names = [i.planned.service for i in services_on(instance)]
        down = next((s for s in report.services if s.name in names and s.state != "running"), None)
        if down is not None:
            return f"{down.name} of {instance.key} is {down.state}"
    return ""
