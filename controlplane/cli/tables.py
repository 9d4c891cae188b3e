"""Tables of clusters and instances. Plain columns without rules, so that `awk` likes them too."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from rich.table import Table
from rich.text import Text

from controlplane.api.schemas.clusters import ClusterOut
from controlplane.api.schemas.instances import InstanceOut
from controlplane.runtime.quantities import ago, human_seconds, moment
from controlplane.runtime.styled_text import styled
from controlplane.runtime.untrusted_text import on_one_line

STATUS_STYLE = {
    "Converged": "green",
    "Working": "cyan",
    "Blocked": "red",
    "Paused": "yellow",
    "Held": "yellow",
    "Deleting": "yellow",
    "Unreadable": "bold red",
}

SYNC_STYLE = {"Synced": "green", "OutOfSync": "yellow", "Refused": "red", "Unknown": "dim"}

PHASE_STYLE = {"joined": "green", "failed": "red", "retired": "dim", "requested": "cyan", "launched": "cyan"}
_LEAVING_STYLE = "yellow"


def listing(headers: Sequence[str], rows: Iterable[Sequence[Text | str]]) -> Table:
    """Rows under headers, one line each; on a narrow terminal the last column folds first."""
    table = Table(box=None, pad_edge=False, show_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for header in headers:
        table.add_column(header, no_wrap=header is not headers[-1], overflow="ellipsis")
    for row in rows:
        table.add_row(*(_cell(cell) for cell in row))
    return table


def _cell(cell: Text | str) -> Text:
    """On one line: a name of somebody else's with an end of line in it would look like two rows."""
    if isinstance(cell, str):
        return styled(on_one_line(cell))
    if not cell.plain.isprintable():
        cell = cell.copy()
        cell.plain = on_one_line(cell.plain)
    return cell


def cluster_table(clusters: Sequence[ClusterOut], *, wide: bool, now: datetime) -> Table:
    """One line a cluster: how it is, and the last tick's sentence."""
    headers = ["NAME", "STATUS", "GENERATION", "KAFKA", "BROKERS", "CONTROLLERS"]
    headers += ["DECLARED", "UID", "PAUSED"] if wide else []
    from_git = any(cluster.source.sync for cluster in clusters)
    headers += (["SYNC", "SOURCE", "COMMIT", "PATH"] if wide else ["SYNC"]) if from_git else []
    rows = [_cluster_row(cluster, wide=wide, from_git=from_git, now=now) for cluster in clusters]
    return listing([*headers, "LAST TICK"], rows)


def sync_text(sync: str) -> Text:
    """The word of a source, coloured; `-` for a cluster that is declared through the API."""
    return styled(sync or "-", SYNC_STYLE.get(sync, ""))


def instance_table(instances: Sequence[InstanceOut], *, now: datetime) -> Table:
    """One line a VM, in the order of the nodes."""
    headers = ["INSTANCE", "RACK", "SERVICE", "KAFKA", "PHASE", "SINCE", "ADDRESS", "AGENT SAYS", "NOTE"]
    ordered = sorted(instances, key=lambda instance: (instance.node, instance.generation))
    return listing(headers, [_instance_row(instance, now) for instance in ordered])


def status_text(status: str) -> Text:
    """The one word, coloured."""
    return styled(status, STATUS_STYLE.get(status, ""))


def phase_text(instance: InstanceOut) -> Text:
    """The phase, coloured; a lost VM is red whatever its phase."""
    return styled(instance.phase, "red" if instance.lost else PHASE_STYLE.get(instance.phase, _LEAVING_STYLE))


def generation_words(cluster: ClusterOut) -> str:
    """`4`, or `3 -> 4` while the declared generation is not reached: has it seen my change?"""
    if cluster.converged_generation == cluster.generation:
        return str(cluster.generation)
    return f"{cluster.converged_generation} -> {cluster.generation}"


def _cluster_row(cluster: ClusterOut, *, wide: bool, from_git: bool, now: datetime) -> list[Text | str]:
    row: list[Text | str] = [
        cluster.name,
        status_text(cluster.status),
        generation_words(cluster),
        cluster.kafka_version,
        f"{cluster.brokers}/{cluster.desired_brokers}",
        f"{cluster.controllers}/{cluster.desired_controllers}",
    ]
    if wide:
        row += [moment(cluster.declared_at) if cluster.declared_at else "-", cluster.uid, cluster.paused or "-"]
    if from_git:
        source = cluster.source
        row += [sync_text(source.sync)]
        row += [source.source, source.commit[:7] or "-", source.path or "-"] if wide else []
    return [*row, cluster.sentence or "-"]


def _instance_row(instance: InstanceOut, now: datetime) -> list[Text | str]:
    return [
        instance.key,
        instance.rack,
        f"{instance.service} {instance.service_id}",
        instance.kafka_version,
        phase_text(instance),
        ago(instance.since, now),
        instance.address or "-",
        _agent_words(instance),
        _note(instance, now),
    ]


def _agent_words(instance: InstanceOut) -> str:
    if instance.report_age_s is None:
        return "nothing yet"
    said, beside = instance.reported_state or "nothing", instance.beside
    if beside is not None:
        said += f" (zookeeper {beside.service_id} {beside.reported_state or 'nothing'})"
    return f"{said}, {human_seconds(round(instance.report_age_s))} ago"


def _note(instance: InstanceOut, now: datetime) -> str:
    notes = ["VM is gone"] if instance.lost else []
    notes += ["pre-emptible"] if instance.spot else []
    notes += ["IPv6"] if instance.ipv6 else []
    notes += ["public address"] if instance.public_address else []
    notes += [f"replaces {instance.replaces}"] if instance.replaces else []
    notes += [instance.asked] if instance.asked else []
    if instance.credential_overdue and instance.credential_since:
        notes.append(f"credential is from {ago(instance.credential_since, now)}")
    notes += ["no certificate"] if instance.uncertified else []
    if instance.outdated_credential_at:
        notes.append(f"outdated credential shown {ago(instance.outdated_credential_at, now)}")
    return "; ".join(notes) or "-"
