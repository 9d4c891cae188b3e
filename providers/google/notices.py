"""Upcoming maintenance of Compute Engine: told with each VM, so one listing of the region has all.

Google tells it of the VMs it schedules maintenance for (some series, sole tenants, GPUs); others it moves live.
"""

from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

from providers import tags
from providers.base import Place
from providers.google.access import GoogleAccess
from providers.google.errors import translated
from providers.google.inventory import PAGE, id_of, in_all_zones
from providers.google.tags import REGION
from providers.notices import MaintenanceNotice, NoticeKind, earliest


def read_notices(access: GoogleAccess, place: Place, *, installation_id: str) -> dict[str, MaintenanceNotice]:
    """By id of this installation's VMs. Raises `ProviderError`."""
    found: dict[str, list[MaintenanceNotice]] = defaultdict(list)
    ours = f'(labels.{tags.INSTALLATION} = "{installation_id}") (labels.{REGION} = "{place.region}")'
    with translated(f"{place}: upcoming maintenance"):
        for machine in in_all_zones(access, place, "Instances", "instances", ours, PAGE):
            told = machine.resource_status.upcoming_maintenance
            if told.window_start_time or told.maintenance_status:
                found[id_of(machine)].append(_notice(machine, told))
    return earliest(found)


def _notice(machine: Any, told: Any) -> MaintenanceNotice:
    words = " ".join(str(w).lower() for w in (told.type_, told.maintenance_status) if w)
    # MIGRATE: the VM is moved without a stop, as far as its type can be.
    kind = NoticeKind.STOP if machine.scheduling.on_host_maintenance == "TERMINATE" else NoticeKind.OTHER
    deadline = told.latest_window_start_time or told.window_end_time
    return MaintenanceNotice(kind, _at(told.window_start_time), _at(deadline), words)


def _at(text: str) -> datetime | None:
    return datetime.fromisoformat(text).astimezone(UTC) if text else None
