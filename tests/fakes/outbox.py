"""Notices in memory."""

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from controlplane.background.notifications.outbox import MOST, NotifierStatus, WaitingNotice


@dataclass(slots=True)
class _Box:
    status: NotifierStatus
    waiting: dict[int, WaitingNotice] = field(default_factory=dict)
    again_at: dict[int, datetime] = field(default_factory=dict)


class MemoryOutbox:
    """The outbox of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._boxes: dict[str, _Box] = {}

    def begin(self, notifier: str, position: int) -> NotifierStatus:
        """See Outbox."""
        with self._lock:
            return self._boxes.setdefault(notifier, _Box(NotifierStatus(position))).status

    def keep(self, notifier: str, upto: int, notices: Sequence[WaitingNotice]) -> None:
        """See Outbox."""
        with self._lock:
            box = self._boxes[notifier]
            for one in notices:
                if one.position > box.status.position:
                    box.waiting[one.position] = one
            over = sorted(box.waiting)[: max(0, len(box.waiting) - MOST)]
            for position in over:
                del box.waiting[position]
            dropped = box.status.dropped + len(over)
            box.status = replace(box.status, position=max(upto, box.status.position), dropped=dropped)

    def waiting(self, notifier: str, now: datetime) -> Sequence[WaitingNotice]:
        """See Outbox."""
        with self._lock:
            box = self._boxes.get(notifier)
            if box is None or any(box.again_at.get(position, now) > now for position in box.waiting):
                return ()
            return [box.waiting[position] for position in sorted(box.waiting)]

    def drop(self, notifier: str, positions: Collection[int]) -> None:
        """See Outbox."""
        with self._lock:
            for position in positions:
                self._boxes[notifier].waiting.pop(position, None)

    def delivered(self, notifier: str, positions: Sequence[int], now: datetime) -> None:
        """See Outbox."""
        with self._lock:
            box = self._boxes[notifier]
            gone = [p for p in positions if box.waiting.pop(p, None) is not None]
            if not gone:
                return
            delivered = box.status.delivered + len(gone)
            box.status = replace(box.status, delivered=delivered, error="", failing_since=None, told_at=now)

    def failed(self, notifier: str, position: int, error: str, *, now: datetime, again_at: datetime) -> None:
        """See Outbox."""
        with self._lock:
            box = self._boxes[notifier]
            if position in box.waiting:
                box.waiting[position] = replace(box.waiting[position], attempts=box.waiting[position].attempts + 1)
                box.again_at[position] = again_at
            since = box.status.failing_since or now
            box.status = replace(box.status, error=error, failing_since=since)

    def statuses(self) -> Mapping[str, NotifierStatus]:
        """See Outbox."""
        with self._lock:
            return {name: replace(box.status, waiting=len(box.waiting)) for name, box in self._boxes.items()}
