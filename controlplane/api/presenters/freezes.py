"""Freezes as the API tells them."""

from datetime import datetime
from itertools import count
from typing import Any

from controlplane.api.schemas import freezes as api
from controlplane.fleet.freezes.commands import FreezeStatus
from controlplane.fleet.freezes.fold import DeclaredFreeze
from planner.rollout.windows import Freeze

ENDED = ("thawed", "over")
"""States of a freeze that holds nothing any more."""


def freezes_out(status: FreezeStatus, now: datetime, *, past: bool) -> api.FreezesOut:
    """Those that are not over, and with `past` the others too."""
    declared = [_declared_out(d, now) for d in status.declared if past or d.holds(now)]
    of_settings = [_settings_out(f, now) for f in status.of_settings if past or now < f.ends]
    return api.FreezesOut(items=[*declared, *of_settings])


def named_freezes(every: api.FreezesOut) -> list[tuple[str, api.FreezeOut]]:
    """Each with a name for pages to go by: its id, or for one of the settings, which has none, its place in them."""
    numbers = count()
    return [(freeze.id or f"settings/{next(numbers)}", freeze) for freeze in every.items]


def _declared_out(declared: DeclaredFreeze, now: datetime) -> api.FreezeOut:
    thaw = declared.thaw
    return _out(
        declared.freeze,
        source="people",
        state="thawed" if thaw else "in force" if declared.holds(now) else "over",
        since=declared.at,
        by=declared.by,
        thawed_at=thaw.at if thaw else None,
        thawed_by=thaw.by if thaw else "",
        thawed_why=thaw.reason if thaw else "",
    )


def _settings_out(freeze: Freeze, now: datetime) -> api.FreezeOut:
    return _out(
        freeze,
        source="settings",
        state="over" if freeze.ends <= now else "in force" if freeze.begins <= now else "to come",
        since=freeze.begins if freeze.begins.year > 1 else None,
        by="",
    )


def _out(freeze: Freeze, **rest: Any) -> api.FreezeOut:
    return api.FreezeOut(
        id=freeze.id,
        until=freeze.ends,
        reason=freeze.reason,
        everything=freeze.names_everything,
        clusters=sorted(freeze.clusters),
        teams=sorted(freeze.owners),
        labels=dict(freeze.labels),
        silence=freeze.silence,
        **rest,
    )
