"""The port for notifying somebody. One contract suite runs over all ways there are."""

from collections.abc import Sequence
from typing import Protocol

from controlplane.background.notifications.notice import Notice

TIMEOUT_S = 5.0


class NotDelivered(Exception):
    """It did not get there, or nobody knows whether it did. What now: retry later. Holds no secret."""


class Notifier(Protocol):
    """Contract: tests/contract/test_notifiers.py. At least once: whoever hears it twice sees the same id."""

    def tell(self, notices: Sequence[Notice]) -> None:
        """Notices of one cluster, oldest first. Returns once all are taken. At most a few seconds. Raises NotDelivered;
        then all of them are told again."""

    def close(self) -> None:
        """Gives back what is held."""
