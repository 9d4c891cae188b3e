"""An event of PagerDuty's Events API v2: an incident is triggered, and resolved when what it was about is over."""

import json
from collections.abc import Callable, Sequence

from pydantic import SecretStr

from controlplane.background.notifications.binding import NotifierUnusable
from controlplane.background.notifications.delivery import NotDelivered
from controlplane.background.notifications.http_post import HttpPost
from controlplane.background.notifications.notice import Notice

MOST_SUMMARY, MOST_KEY = 1024, 255
"""Characters."""


class PagerDuty:
    """See Notifier. `routing_key` reads the integration key anew at each event."""

    def __init__(self, post: HttpPost, routing_key: Callable[[], SecretStr]) -> None:
        self._post, self._routing_key = post, routing_key

    def tell(self, notices: Sequence[Notice]) -> None:
        """See Notifier. PagerDuty takes an event with 202, and one that comes twice once by its key."""
        try:
            key = self._routing_key()
        except NotifierUnusable as error:
            raise NotDelivered(str(error)) from error
        for notice in notices:
            self._post.send(json.dumps(event(notice, key)).encode())

    def close(self) -> None:
        self._post.close()


def event(notice: Notice, routing_key: SecretStr) -> dict[str, object]:
    """The body. The key of an anomaly stays, so that its changes are of one incident."""
    return {
        "routing_key": routing_key.get_secret_value(),
        "event_action": "resolve" if notice.is_over else "trigger",
        "dedup_key": notice.key[:MOST_KEY],
        "client": "Kedge",
        "payload": {
            "summary": notice.sentence[:MOST_SUMMARY],
            "source": notice.cluster,
            "severity": notice.severity,
            "timestamp": notice.at.isoformat(),
            "component": notice.subject,
            "group": notice.owner or notice.cluster,
            "class": notice.kind,
            "custom_details": notice.document(),
        },
    }
