"""Keys of an overlay that agents tell: which ones are believed, and why another one is not. Pure."""

from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from events import facts


@dataclass(frozen=True, slots=True)
class ReportedKeys:
    """`new` are to be recorded; `refused` says by instance key why what its agent tells does not count."""

    new: tuple[facts.OverlayKeyReported, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)


def reported_keys(view: ClusterView, reports: Mapping[str, ReportSeen], epoch: int, now: datetime) -> ReportedKeys:
    """Of the VMs that exist, by young reports of their own agents: a report is kept by the name its sender has proved,
    by its credential and, over TLS, its certificate. Of one that is revoked nothing counts."""
    holder_of = {key: holder for holder, keys in view.vms.overlay_keys.items() for key in keys.values()}
    new, refused = [], {}
    for instance in sorted(view.alive(), key=lambda i: i.key):
        public_key = _reported(view, instance, reports.get(instance.key), epoch, now)
        known = view.vms.overlay_keys.get(instance.key, {}).get(epoch, "")
        if not public_key or public_key == known:
            continue
        if problem := _problem(instance.key, public_key, known, holder_of.get(public_key, "")):
            refused[instance.key] = problem
            continue
        holder_of[public_key] = instance.key
        new.append(facts.OverlayKeyReported(instance.key, epoch, public_key))
    return ReportedKeys(tuple(new), refused)


def _reported(view: ClusterView, instance: InstanceView, seen: ReportSeen | None, epoch: int, now: datetime) -> str:
    if seen is None or not seen.is_young(now) or instance.key in view.vms.revoked:
        return ""
    report = seen.report
    if (report.cluster_uid, report.node, report.generation) != (view.uid, instance.node, instance.planned.generation):
        return ""
    return report.overlay.public_key if report.overlay is not None and report.overlay.epoch == epoch else ""


def _problem(key: str, public_key: str, known: str, holder: str) -> str:
    if not _is_key(public_key):
        return f"what the agent of {key} tells is no key of WireGuard: 32 bytes in base64"
    if known:
        return (
            f"the agent of {key} tells another key than before: its disk was made anew beneath it, or somebody else"
            " speaks for it. Its peers go by the one before; replace the node"
        )
    if holder and holder != key:
        return f"{key} has the key of {holder}, as a VM made from the same disk has: replace the node of one of them"
    return ""


def _is_key(text: str) -> bool:
    """In the one spelling that counts: values are compared as texts from here on."""
    try:
        raw = b64decode(text, validate=True)
    except (Error, ValueError):
        return False
    return len(raw) == 32 and any(raw) and b64encode(raw).decode() == text
