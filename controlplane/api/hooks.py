"""Webhooks of forges: whether a delivery is signed with the secret of its binding. It only wakes the poll.

GitHub keys an HMAC-SHA256 of the raw body with the secret and sends it in hex (docs.github.com, "Validating webhook
deliveries"); GitLab shows the secret itself (docs.gitlab.com, "Webhooks", secret token). What the body says is never
read: a delivery that is forged, repeated or late can do no more than have a branch looked at.
"""

import hashlib
import hmac
import logging
import re
import secrets
from collections.abc import AsyncIterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from starlette.concurrency import run_in_threadpool

from controlplane.api.access.passwords import Guesses, neighbourhood
from controlplane.api.auth import same_secret
from controlplane.api.problems import ApiError
from controlplane.api.services import HeldLeadership
from controlplane.background.git_sync.binding import GitBinding
from controlplane.background.git_sync.faults import SourceFault
from controlplane.background.git_sync.service import SourceService
from controlplane.background.git_sync.tokens import kept_token

_log = logging.getLogger(__name__)

SIGNATURE_HEADER = "X-Hub-Signature-256"
TOKEN_HEADER = "X-Gitlab-Token"  # noqa: S105  the name of a header

_SIGNATURE = re.compile(r"sha256=([0-9a-f]{64})", re.ASCII)
_FREE_TRIES = 20


@dataclass(frozen=True, slots=True)
class Hooks:
    """The webhooks of this server's bindings. Wrong ones by address: after 20 in a row it waits, up to 5 minutes.

    Others of that address wait with it. That costs little: branches are looked at by themselves too.
    """

    sources: SourceService | None
    leadership: HeldLeadership
    _wrong: Guesses = field(default_factory=lambda: Guesses(_FREE_TRIES))
    _dummy_secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    """What is compared with where there is no secret: nobody learns from the time it takes which bindings exist."""

    async def deliver(
        self, name: str, headers: Mapping[str, str], body: AsyncIterable[bytes], *, client: str, now: datetime
    ) -> None:
        """Wakes the poll of a binding. Of `body` no more than a piece is held.

        Raises ApiError 401 unless the delivery is signed with the secret of that binding, 429 while the address waits.
        """
        near = neighbourhood(client)
        wait_s = self._wrong.wait_s(near, now)
        if wait_s:
            after = max(1, round(wait_s))
            title = "too many deliveries of this address were not signed as they should be"
            raise ApiError(429, "too-many-guesses", title, retry_after_s=after)
        secret = await run_in_threadpool(self._secret, name)
        if not await self._is_signed(secret, headers, body):
            self._wrong.failed(near, now)
            then = "Give the webhook at the forge the secret that webhook_secret_env or webhook_secret_file names."
            raise ApiError(401, "not-signed", "no binding of that name has this secret", next_step=then)
        self._wrong.forget(near)
        if self.sources is not None and (self.leadership.may_act or self.sources.reaches_leader):
            self.sources.ring(name)

    async def _is_signed(self, secret: bytes | None, headers: Mapping[str, str], body: AsyncIterable[bytes]) -> bool:
        key = secret or self._dummy_secret
        shown = headers.get(TOKEN_HEADER)
        if shown is not None:
            # Digests are of one length, so not even that of the secret is told.
            is_right = same_secret(_digest(shown.encode("latin-1")), _digest(key))
            return is_right and secret is not None
        found = _SIGNATURE.fullmatch(headers.get(SIGNATURE_HEADER, ""))
        if found is None:
            return False
        mac = hmac.new(key, digestmod=hashlib.sha256)
        async for piece in body:
            mac.update(piece)
        return same_secret(mac.hexdigest(), found[1]) and secret is not None

    def _secret(self, name: str) -> bytes | None:
        """None where there is no such binding, or none of its own."""
        status = self.sources.polled.of(name) if self.sources is not None else None
        if status is None:
            return None
        try:
            return webhook_secret(status.binding)
        except SourceFault as fault:
            _log.warning("webhook of git:%s is refused: %s. %s", name, fault, fault.next_step)
            return None


def webhook_secret(binding: GitBinding) -> bytes | None:
    """The secret of a binding's webhook, None where none is named. Raises SourceFault where it is named and away."""
    text = kept_token(binding.webhook_secret_env, binding.webhook_secret_file, key="webhook_secret")
    return text.get_secret_value().encode() or None


def _digest(secret: bytes) -> str:
    return hashlib.sha256(secret).hexdigest()
