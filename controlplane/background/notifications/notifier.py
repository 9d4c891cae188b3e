"""The notifier of a binding of the settings."""

import json
import logging
from collections.abc import Callable, Sequence
from datetime import datetime

from pydantic import SecretStr

from controlplane.background.notifications.alertmanager import Alertmanager
from controlplane.background.notifications.binding import NotifierBinding, kept_secret
from controlplane.background.notifications.delivery import TIMEOUT_S, Notifier
from controlplane.background.notifications.http_post import HttpPost
from controlplane.background.notifications.kafka_topic import TopicNotifier
from controlplane.background.notifications.mail import Mail
from controlplane.background.notifications.notice import Notice
from controlplane.background.notifications.pagerduty import PagerDuty
from controlplane.background.notifications.slack import Slack
from controlplane.background.notifications.webhook import Webhook
from controlplane.runtime.egress import Egress

_log = logging.getLogger("kedge.notices")


def notifier_of(
    binding: NotifierBinding, clock: Callable[[], datetime], egress: Egress, *, timeout_s: float = TIMEOUT_S
) -> Notifier:
    """The notifier itself. Files are read at each delivery, so that a rotated secret needs no restart."""
    post = HttpPost(binding, egress, timeout_s)
    match binding.kind:
        case "webhook":
            return Webhook(binding, clock, post)
        case "slack":
            return Slack(post)
        case "pagerduty":
            return PagerDuty(post, _secret_of(binding))
        case "alertmanager":
            return Alertmanager(post, clock)
        case "kafka":
            return TopicNotifier(binding, timeout_s)
        case "smtp" if binding.smtp is not None:
            password = _secret_of(binding) if binding.secret_file is not None else None
            return Mail(binding.smtp, password, egress, timeout_s)
    return LogNotifier()


def _secret_of(binding: NotifierBinding) -> Callable[[], SecretStr]:
    """Reads it anew at each call, which raises NotifierUnusable."""
    path = binding.secret_file
    if path is None:
        raise ValueError(f"the notifier {binding.name} has no secret_file")
    return lambda: kept_secret(path, f"notifier {binding.name}")


class LogNotifier:
    """A `Notifier`: a line of the server's own log, JSON in it."""

    def tell(self, notices: Sequence[Notice]) -> None:
        for notice in notices:
            _log.warning("%s %s", notice.sentence, json.dumps(notice.document(), sort_keys=True))

    def close(self) -> None:
        """Nothing is held."""
