"""Scheduled events of EC2: one filtered listing a place, whatever the fleet's size."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from providers.aws.errors import translated
from providers.base import Place
from providers.notices import MaintenanceNotice, NoticeKind, earliest

_KINDS = {
    "instance-reboot": NoticeKind.REBOOT,
    "system-reboot": NoticeKind.REBOOT,
    "system-maintenance": NoticeKind.OTHER,
    "instance-retirement": NoticeKind.STOP,
    "instance-stop": NoticeKind.STOP,
}
"""Values of `Events.Code` (EC2 API reference, InstanceStatusEvent)."""

_OVER = ("[Completed]", "[Canceled]")
"""A past event stays listed for a week with that before its description (EC2 API reference)."""

_PAGE = 1000


def read_notices(ec2: Any, place: Place) -> dict[str, MaintenanceNotice]:
    """By id of the VM; of foreign VMs too. Raises `ProviderError`."""
    found: dict[str, list[MaintenanceNotice]] = defaultdict(list)
    with translated(f"{place}: scheduled events"):
        pages = ec2.get_paginator("describe_instance_status").paginate(
            IncludeAllInstances=True,
            Filters=[{"Name": "event.code", "Values": sorted(_KINDS)}],
            PaginationConfig={"PageSize": _PAGE},
        )
        for page in pages:
            for status in page["InstanceStatuses"]:
                found[status["InstanceId"]] += [_notice(e) for e in status.get("Events", ()) if _is_ahead(e)]
    return earliest(found)


def _is_ahead(event: Mapping[str, Any]) -> bool:
    return not str(event.get("Description", "")).startswith(_OVER)


def _notice(event: Mapping[str, Any]) -> MaintenanceNotice:
    code = str(event.get("Code", ""))
    deadline = event.get("NotBeforeDeadline") or event.get("NotAfter")
    words = f"{code}: {event['Description']}" if event.get("Description") else code
    return MaintenanceNotice(_KINDS.get(code, NoticeKind.OTHER), _utc(event.get("NotBefore")), _utc(deadline), words)


def _utc(at: datetime | None) -> datetime | None:
    return at.astimezone(UTC) if at is not None else None
