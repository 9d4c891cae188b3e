"""What a cloud announces of its VMs: that their host goes down, and when. Not every cloud tells it by its API."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Protocol, runtime_checkable

from providers.base import Place


class NoticeKind(StrEnum):
    """What happens to the VM."""

    REBOOT = "reboot"
    STOP = "stop"
    """It is stopped, retired or moved with a pause: what is on its own disks may be gone."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class MaintenanceNotice:
    """One announcement, times in UTC. `not_before` is None where the cloud gives no date.

    `deadline` is until when the VM's owner may act of their own accord, else when the window ends.
    """

    kind: NoticeKind
    not_before: datetime | None
    deadline: datetime | None = None
    words: str = ""
    """The cloud's own."""

    @property
    def sentence(self) -> str:
        """For people: `stop not before 2026-12-01 03:00 UTC (instance-retirement)`."""
        when = f" not before {self.not_before:%Y-%m-%d %H:%M} UTC" if self.not_before else ", no date given"
        return f"{self.kind}{when}{f' ({self.words})' if self.words else ''}"


@runtime_checkable
class TellsMaintenance(Protocol):
    """Announcements can be listed, for a whole place at once."""

    def notices(self, place: Place) -> Mapping[str, MaintenanceNotice]:
        """By id of the VM, the earliest of each; never a call per VM. Raises `ProviderError`."""


_LAST = datetime.max.replace(tzinfo=UTC)


def earliest(notices: Mapping[str, list[MaintenanceNotice]]) -> dict[str, MaintenanceNotice]:
    """One for each VM: the first that has a date, else any."""
    return {
        vm: min(several, key=lambda n: (n.not_before is None, n.not_before or n.deadline or _LAST))
        for vm, several in notices.items()
        if several
    }
