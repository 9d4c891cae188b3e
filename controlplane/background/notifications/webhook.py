"""A POST of the JSON to a URL, one for each notice, signed where a key is set."""

import hashlib
import hmac
import json
from collections.abc import Callable, Sequence
from datetime import datetime

from pydantic import SecretStr

from controlplane.background.notifications.binding import NotifierBinding, NotifierUnusable, kept_secret
from controlplane.background.notifications.delivery import NotDelivered
from controlplane.background.notifications.http_post import HttpPost
from controlplane.background.notifications.notice import Notice

SIGNATURE = "Kedge-Signature"
"""`t=<seconds>,v1=<hex>`: HMAC-SHA256 of `<seconds>.<body>` with the key of the notifier."""
NOTICE_ID = "Kedge-Notice"


class Webhook:
    """See Notifier."""

    def __init__(self, binding: NotifierBinding, clock: Callable[[], datetime], post: HttpPost) -> None:
        self._binding, self._clock, self._post = binding, clock, post

    def tell(self, notices: Sequence[Notice]) -> None:
        """See Notifier. An answer of 2xx is one that took it."""
        for notice in notices:
            body = json.dumps(notice.document(), sort_keys=True).encode()
            self._post.send(body, headers={NOTICE_ID: notice.id, **self._signature(body)})

    def close(self) -> None:
        self._post.close()

    def _signature(self, body: bytes) -> dict[str, str]:
        if self._binding.secret_file is None:
            return {}
        try:
            key = kept_secret(self._binding.secret_file, f"notifier {self._binding.name}")
        except NotifierUnusable as error:
            raise NotDelivered(str(error)) from error
        return {SIGNATURE: signature(key, body, int(self._clock().timestamp()))}


def signature(key: SecretStr, body: bytes, at_s: int) -> str:
    """What the header says for a body sent at this time (seconds since 1970)."""
    signed = hmac.new(key.get_secret_value().encode(), f"{at_s}.".encode() + body, hashlib.sha256)
    return f"t={at_s},v1={signed.hexdigest()}"
