"""Agents as people read them: versions a line each, then every VM that is not on the one it is to run."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from controlplane.api.schemas.agents import AgentClusterOut, AgentsOut
from controlplane.cli.tables import listing
from controlplane.runtime.quantities import ago
from controlplane.runtime.styled_text import styled

_STYLE = {"current": "green", "asked": "yellow", "behind": "", "failed": "red", "unable": "yellow", "silent": "red"}


def agent_lines(found: AgentsOut, *, now: datetime, everything: bool) -> Iterator[RenderableType]:
    """Versions, how many VMs are through, and the VMs that are not; all VMs with `everything`."""
    yield _releases(found, now)
    if not found.wanted:
        return
    states = Counter(vm.state for cluster in found.clusters for vm in cluster.vms)
    counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    yield ""
    yield f"every VM is to run {found.wanted}: {counts or 'there is none'}"
    if found.waits:
        yield styled(found.waits, "yellow")
    rows = [row for cluster in found.clusters for row in _rows(cluster, everything=everything)]
    if rows:
        yield ""
        yield listing(["CLUSTER", "STAGE", "INSTANCE", "AGENT", "STATE", "WHY"], rows)


def _releases(found: AgentsOut, now: datetime) -> Table:
    rows: list[list[Text | str]] = [
        [
            r.version,
            styled("withdrawn", "yellow") if r.withdrawn else "wanted" if r.version == found.wanted else "published",
            ago(r.published_at, now),
            ", ".join(r.platforms),
            r.withdrawn or r.notes or "-",
        ]
        for r in found.releases
    ]
    return listing(["VERSION", "STATE", "AGE", "FOR", "NOTES"], rows)


def _rows(cluster: AgentClusterOut, *, everything: bool) -> Iterator[list[Text | str]]:
    for vm in cluster.vms:
        if vm.state != "current" or everything:
            why = vm.why or (cluster.waits if vm.state == "behind" else "")
            state = styled(vm.state, _STYLE.get(vm.state, ""))
            yield [cluster.name, cluster.stage, vm.key, vm.version or "-", state, why or "-"]
