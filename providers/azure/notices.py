"""Planned maintenance of Azure, as the listing of states has it (`instanceView.maintenanceRedeployStatus`).

That is what Resource Manager knows: maintenance with a self-service phase. Scheduled events of the last minutes are
told to a VM itself only, by its metadata service, which nothing here asks.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from providers.azure.access import Clients
from providers.azure.errors import translated
from providers.azure.inventory import views_of
from providers.base import Place
from providers.notices import MaintenanceNotice, NoticeKind

_Thing = Mapping[str, Any]


def read_notices(clients: Clients, place: Place, *, account_id: str) -> dict[str, MaintenanceNotice]:
    """By id of the VM, in one listing of the subscription's states. Raises `ProviderError`."""
    with translated(f"{place}: planned maintenance"):
        views = views_of(clients, place, account_id)
    told = {vm: view.get("maintenanceRedeployStatus") or {} for vm, view in views.items()}
    return {vm: _notice(status) for vm, status in told.items() if _at(status, "maintenanceWindowStartTime")}


def _notice(status: _Thing) -> MaintenanceNotice:
    words = "self-service until then" if status.get("isCustomerInitiatedMaintenanceAllowed") else ""
    deadline = _at(status, "preMaintenanceWindowEndTime") or _at(status, "maintenanceWindowEndTime")
    return MaintenanceNotice(NoticeKind.STOP, _at(status, "maintenanceWindowStartTime"), deadline, words)


def _at(status: _Thing, name: str) -> datetime | None:
    told = str(status.get(name) or "")
    return datetime.fromisoformat(told).astimezone(UTC) if told else None
