"""Alerts of Prometheus' Alertmanager, by its API v2: it groups, silences and routes them by their labels."""

import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from controlplane.background.notifications.http_post import HttpPost
from controlplane.background.notifications.notice import Notice

PATH = "/api/v2/alerts"
LASTS = timedelta(minutes=5)
"""An alert ends so long after it was last sent: what sends it has to live. Alertmanager's own default."""
EVERY = timedelta(seconds=60)
"""How often alerts are sent again: Alertmanager forgets them at its restart, and asks clients to resend them."""


class Alertmanager:
    """See Notifier."""

    def __init__(self, post: HttpPost, clock: Callable[[], datetime]) -> None:
        self._post, self._clock = post, clock

    def tell(self, notices: Sequence[Notice]) -> None:
        """See Notifier. All in one request; of one anomaly the newest notice counts."""
        newest = {notice.key: notice for notice in notices}
        alerts = [alert(notice, self._clock()) for notice in newest.values()]
        self._post.send(json.dumps(alerts).encode(), path=PATH)

    def close(self) -> None:
        self._post.close()


def alert(notice: Notice, now: datetime) -> dict[str, Any]:
    """One alert. Its labels say which one it is, so they do not change while it lasts."""
    labels = {
        "alertname": "KedgeAnomaly",
        "cluster": notice.cluster,
        "kind": notice.kind,
        "subject": notice.subject,
        "severity": notice.severity,
        "anomaly": notice.anomaly,
        "owner": notice.owner,
    }
    ends = notice.at if notice.is_over else now + LASTS
    return {
        "labels": {name: value for name, value in labels.items() if value},
        "annotations": {"summary": notice.sentence, "state": notice.state, "reason": notice.reason},
        "startsAt": notice.found_at.isoformat(),
        "endsAt": ends.isoformat(),
    }
