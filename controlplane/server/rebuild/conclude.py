"""What the evidence says as a whole: which spec is which cluster, and what belongs to nobody. Pure."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from controlplane.server.rebuild.clusters import RebuiltCluster, rebuild_cluster
from controlplane.server.rebuild.evidence import DeclaredSpec, FoundCluster, RebuildEvidence, RebuildFinding, Weight


@dataclass(frozen=True, slots=True)
class Rebuild:
    """The whole report. `findings` are those that concern no matched cluster."""

    installation_id: str
    clusters: tuple[RebuiltCluster, ...]
    findings: tuple[RebuildFinding, ...]
    highest_epoch: int | None
    """Highest epoch any agent has heard of; None when one of them could not be read."""
    agent_addresses: tuple[tuple[str, str], ...] = ()
    """Where VMs were told to find the server, and the SHA-256 of the CA to believe ("" without TLS), newest first."""

    @property
    def refused(self) -> bool:
        return any(c.refused for c in self.clusters) or any(f.weight is Weight.REFUSES for f in self.findings)


def conclude(evidence: RebuildEvidence, *, leave_out: Collection[str] = (), now: datetime) -> Rebuild:
    """Matches specs with clusters by name, and clusters with VMs by uid. `leave_out` are uids to be left alone."""
    found = [c for c in evidence.clusters if c.uid not in leave_out]
    left = [c for c in evidence.clusters if c.uid in leave_out]
    specs = {s.name: s for s in evidence.specs}
    uids = Counter(c.name for c in found)
    matched = [c for c in found if c.name in specs and uids[c.name] == 1]
    findings = [
        *_keys(evidence),
        *_foreign_vms(evidence),
        *(
            RebuildFinding(Weight.NOTED, c.uid, f"{len(c.vms)} VMs of {c.name} are left out: never touched")
            for c in left
        ),
        *(_twins(c) for c in found if uids[c.name] > 1),
        *(_without_spec(c) for c in found if c.name not in specs and uids[c.name] == 1),
        *_same_names(evidence.specs),
        *(_without_vms(s) for s in evidence.specs if s.name not in uids),
    ]
    clusters = tuple(rebuild_cluster(c, specs[c.name], now=now) for c in sorted(matched, key=lambda c: c.name))
    return Rebuild(evidence.installation_id, clusters, tuple(findings), _highest_epoch(found), _agent_addresses(found))


def _twins(found: FoundCluster) -> RebuildFinding:
    message = f"{len(found.vms)} VMs carry the name {found.name} under this uid, others under another one"
    return RebuildFinding(Weight.REFUSES, found.uid, message, f"--leave-out {found.uid}, or the other one")


def _without_spec(found: FoundCluster) -> RebuildFinding:
    message = f"{len(found.vms)} VMs of cluster {found.name} run, and no spec declares it"
    return RebuildFinding(Weight.REFUSES, found.uid, message, f"Give its spec with -f, or --leave-out {found.uid}")


def _same_names(specs: Sequence[DeclaredSpec]) -> list[RebuildFinding]:
    names = Counter(s.name for s in specs)
    return [
        RebuildFinding(
            Weight.REFUSES, s.file, f"{s.name} is declared {names[s.name]} times", "Give each cluster's spec once."
        )
        for s in specs
        if names[s.name] > 1
    ]


def _keys(evidence: RebuildEvidence) -> list[RebuildFinding]:
    if evidence.key_fits is False:
        message = "not the one these VMs were born with: their agents go on with what they last heard, and hear no more"
        return [
            RebuildFinding(Weight.DIFFERS, "server-key", message, "Put the old one back if you can, before --write.")
        ]
    if evidence.key_fits is None and evidence.clusters:
        message = "whether it is the one these VMs were born with cannot be read from here"
        return [RebuildFinding(Weight.ASSUMED, "server-key", message)]
    return []


def _foreign_vms(evidence: RebuildEvidence) -> list[RebuildFinding]:
    return [
        RebuildFinding(Weight.NOTED, installation, f"{vms} VMs belong to another installation: never touched")
        for installation, vms in evidence.foreign_vms.items()
    ]


def _without_vms(spec: DeclaredSpec) -> RebuildFinding:
    message = f"{spec.name} has no VM in any place that was looked at: nothing is made of it"
    return RebuildFinding(Weight.NOTED, spec.file, message, "kedge apply it later, if it is a new one")


def _highest_epoch(found: Sequence[FoundCluster]) -> int | None:
    documents = [vm.document for cluster in found for vm in cluster.vms]
    if any(d is None for d in documents):
        return None
    return max((d.epoch for d in documents if d is not None), default=0)


def _agent_addresses(found: Sequence[FoundCluster]) -> tuple[tuple[str, str], ...]:
    newest = sorted((vm for c in found for vm in c.vms), key=lambda vm: -vm.seen.generation)
    return tuple(dict.fromkeys((vm.boot.server_url, vm.boot.ca_sha256) for vm in newest if vm.boot))
