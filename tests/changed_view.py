"""A view of a cluster with other values, whichever group of its fields they are in."""

from dataclasses import fields, replace
from typing import Any

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.declaration import DeclarationView
from controlplane.cluster.views.history import HistoryView
from controlplane.cluster.views.moves import MovesView
from controlplane.cluster.views.quorum import QuorumView
from controlplane.cluster.views.requests import RequestsView
from controlplane.cluster.views.roll import RollView
from controlplane.cluster.views.running_settings import SettingsView
from controlplane.cluster.views.vms import VmsView


def changed_view(view: ClusterView, **changes: Any) -> ClusterView:
    """A copy with other values, those of its groups by the names in `_VIEW_GROUPS`."""
    for group, names in _VIEW_GROUPS.items():
        own = {names[name]: changes.pop(name) for name in names.keys() & changes.keys()}
        if own:
            changes[group] = replace(getattr(view, group), **own)
    return replace(view, **changes)


def _named(group: type[Any], **renamed: str) -> dict[str, str]:
    return {f.name: f.name for f in fields(group) if f.name not in renamed.values()} | renamed


_VIEW_GROUPS: dict[str, dict[str, str]] = {
    "declaration": _named(DeclarationView),
    "history": _named(HistoryView),
    "moves": _named(MovesView),
    "quorum": _named(QuorumView, voter_change="change", voter_changes="changes"),
    "requests": _named(RequestsView),
    "settings": _named(SettingsView, setting_change="change", setting_changes="changes", setting_refusal="refusal"),
    "roll": _named(RollView),
    "vms": _named(VmsView),
}
"""Groups of a `ClusterView`: the names by which tests give their fields."""
