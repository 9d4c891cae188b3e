"""Whether anomalies of a kind are healed by themselves: what a person said last, then the spec. Pure."""

from datetime import datetime

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.healing import SwitchView
from planner.anomalies.kinds import HEALED, Kind

EVERY_KIND = ""
"""The switch of all kinds at once."""


def heals(view: ClusterView, kind: Kind, now: datetime) -> bool:
    """Whether Kedge may do something about it by itself now."""
    return not why_not(view, kind, now)


def why_not(view: ClusterView, kind: Kind, now: datetime) -> str:
    """Why nothing is done about it, "" where something may be. A person's word counts before the spec's."""
    switch = in_force(view, kind, now)
    if switch is not None:
        return "" if switch.on else f"healing of {kind} is off{_until(switch)}: {switch.reason}"
    spec = view.document.spec.healing if view.document else None
    if spec is not None and kind is Kind.SLOW_BROKER and spec.slow_broker == "tell":
        return "the spec has `healing.slowBroker: tell`"
    if spec is not None and kind is Kind.HOT_BROKER and spec.hot_broker == "tell":
        return "the spec has `healing.hotBroker: tell`"
    return ""


def in_force(view: ClusterView, kind: Kind, now: datetime) -> SwitchView | None:
    """The switch that counts for the kind now, None where nobody said anything."""
    if not view.requests.switches:
        return None
    found = (view.requests.switches.get(name) for name in (kind, EVERY_KIND))
    return next((switch for switch in found if switch is not None and switch.in_force(now)), None)


def switched_off(view: ClusterView, now: datetime) -> tuple[Kind, ...]:
    """Kinds that a person switched off, for now or for good."""
    if not view.requests.switches:
        return ()
    return tuple(k for k in Kind if k in HEALED and (switch := in_force(view, k, now)) is not None and not switch.on)


def is_being_cured(view: ClusterView, node: str, key: str) -> bool:
    """Whether a cure wants the VM replaced: it asked for that in the same append."""
    return bool(findings_being_cured(view, node, key))


def findings_being_cured(view: ClusterView, node: str, key: str) -> frozenset[str]:
    """What that new VM is the cure of."""
    asked = view.requests.to_replace.get(key)
    if asked is None:
        return frozenset()
    return frozenset(c.finding for c in view.vms.cures if c.node == node and c.at == asked.requested_at)


def _until(switch: SwitchView) -> str:
    return f" until {switch.until:%Y-%m-%d %H:%M} UTC" if switch.until else ""
