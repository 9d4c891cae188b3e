"""The report of `kedge rebuild`: for a frightened reader, so it says first what is safe and last what to type."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.console import RenderableType

from controlplane.cli.tables import listing
from controlplane.cluster.view import ClusterView
from controlplane.runtime.styled_text import styled
from controlplane.server.rebuild.clusters import RebuiltCluster
from controlplane.server.rebuild.conclude import Rebuild
from controlplane.server.rebuild.evidence import RebuildFinding, Weight
from events.quantities import counted

_STYLES = {Weight.REFUSES: "bold red", Weight.DIFFERS: "yellow", Weight.ASSUMED: "yellow", Weight.NOTED: ""}


def report_lines(rebuild: Rebuild) -> Iterator[RenderableType]:
    """Cluster by cluster, then what belongs to none."""
    for cluster in rebuild.clusters:
        yield styled(f"{cluster.name}  {_verdict(cluster)}", "bold")
        yield f"uid {cluster.uid}, spec {cluster.file}"
        if not cluster.refused:
            yield _instances(cluster.view)
        yield from _findings(cluster.findings)
        yield ""
    if rebuild.findings:
        yield styled("besides", "bold")
        yield from _findings(rebuild.findings)
        yield ""


def report_document(rebuild: Rebuild, *, written: bool, events: int) -> Mapping[str, Any]:
    """The same for machines."""
    return {
        "installation_id": rebuild.installation_id,
        "written": written,
        "events": events,
        "refused": rebuild.refused,
        "clusters": [
            {
                "name": c.name,
                "uid": c.uid,
                "file": c.file,
                "refused": c.refused,
                "next_broker_id": c.view.vms.next_broker_id,
                "instances": [
                    {
                        "key": i.key,
                        "service": i.planned.service,
                        "id": i.service_id,
                        "kafka_version": i.planned.kafka_version,
                        "phase": str(i.phase),
                        "address": c.view.address_of(i),
                    }
                    for i in c.view.instances.values()
                ],
                "findings": [_plain(f) for f in c.findings],
            }
            for c in rebuild.clusters
        ],
        "findings": [_plain(f) for f in rebuild.findings],
    }


def _verdict(cluster: RebuiltCluster) -> str:
    if cluster.refused:
        return "cannot be rebuilt yet"
    differs = sum(f.weight is Weight.DIFFERS for f in cluster.findings)
    return f"{counted(len(cluster.view.instances), 'VM')}, " + (
        counted(differs, "difference") if differs else "as its spec says"
    )


def _instances(view: ClusterView) -> RenderableType:
    return listing(
        ("INSTANCE", "RACK", "SERVICE", "KAFKA", "PHASE", "ADDRESS"),
        [
            (
                i.key,
                i.planned.rack,
                f"{i.planned.service} {i.service_id}",
                i.planned.kafka_version,
                str(i.phase),
                view.address_of(i) or "-",
            )
            for i in view.instances.values()
        ],
    )


def _findings(findings: Iterable[RebuildFinding]) -> Iterator[RenderableType]:
    order = list(Weight)
    for found in sorted(findings, key=lambda f: (order.index(f.weight), f.subject)):
        yield styled(f"  {found.weight:<8} {found.subject}: {found.message}", _STYLES[found.weight])
        if found.next_step:
            yield f"  {'':<8} -> {found.next_step}"


def _plain(found: RebuildFinding) -> dict[str, str]:
    return {
        "weight": str(found.weight),
        "subject": found.subject,
        "message": found.message,
        "next_step": found.next_step,
    }
