"""The way to one project: clients of the SDK, and the proof that they reach the project the place means.

The SDK takes two seconds to import, so that happens here and only when the first client is made.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypeGuard

import google.auth
from google.api_core.exceptions import GoogleAPICallError, from_http_response
from google.auth.credentials import Credentials
from google.auth.transport.requests import AuthorizedSession, Request
from google.oauth2.service_account import Credentials as ServiceAccount
from requests.exceptions import ConnectionError as NoConnection, Timeout

from events.secrets import secret
from providers.base import Place
from providers.call_budget import PATIENCE_S, CallBudget, TokenBucket
from providers.errors import AuthFailed, CloudUnavailable, RateLimited
from providers.google.errors import from_reason, reason_of, translated
from providers.google.settings import GoogleAccount, GoogleSettings
from providers.proofs import Proofs

CALL_S = 10.0
"""A call of the converger lasts at most that long, its attempts together."""

_TOKEN_S = 4.0
_LONGEST_PAUSE_S = 4.0
_SCOPES = ("https://www.googleapis.com/auth/compute", "https://www.googleapis.com/auth/userinfo.email")
_RESOURCE_MANAGER = "https://cloudresourcemanager.googleapis.com"
_BILLING = "https://cloudbilling.googleapis.com"
_BILLING_READ_ONLY = "https://www.googleapis.com/auth/cloud-billing.readonly"
_READ_ONLY = "https://www.googleapis.com/auth/cloud-platform.read-only"
_LASTS_A_RUN = timedelta(minutes=20)
"""A Terraform command may take 15 minutes (`providers.tf.execute`), and its token is not renewed."""


@dataclass(frozen=True, slots=True)
class Tries:
    """How often a call is made; the SDK takes it as `retry`. `Retry-After` is honoured; a long one ends it at once."""

    attempts: int
    bucket: TokenBucket
    sleep: Callable[[float], None] = time.sleep

    def __call__(self, call: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(call)
        def tried(*arguments: Any, **named: Any) -> Any:
            for made in range(1, self.attempts + 1):
                self.bucket.take(patience_s=PATIENCE_S)
                try:
                    return call(*arguments, **named)
                except (GoogleAPICallError, NoConnection, Timeout) as error:
                    pause_s = _pause_s(error, made)
                    if _is_throttle(error):
                        self.bucket.heard(getattr(error.response, "headers", {}), throttled=True)
                    if made == self.attempts or pause_s is None:
                        raise
                    self.sleep(pause_s)
            raise AssertionError("unreachable: the last attempt returns or raises")

        return tried


@dataclass(slots=True)
class GoogleAccess:
    """Clients by account. Thread-safe."""

    settings: GoogleSettings
    attempts: int
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _credentials: dict[str, "_Token"] = field(default_factory=dict)
    _clients: dict[tuple[str, str], Any] = field(default_factory=dict)
    budget: CallBudget = field(init=False)
    _proofs: Proofs = field(init=False)

    def __post_init__(self) -> None:
        self.budget = self.settings.call_budget("google")
        self._proofs = Proofs(self.clock)

    def how(self, place: Place) -> dict[str, Any]:
        """Arguments of every call of the SDK."""
        return {"timeout": CALL_S, "retry": Tries(self.attempts, self.budget.of(place), self.sleep)}

    def client(self, place: Place, kind: str) -> Any:
        """A client (`Instances`, `Disks`, `Addresses`) whose project is proved to be the place's.

        Raises `PlaceUnknown`, `AuthFailed`, and what a call may end with.
        """
        self.settings.leaves_network(place)  # refuses a place nobody told of
        self.prove(place)
        return self._client(place, kind)

    def prove(self, place: Place, *, afresh: bool = False) -> None:
        """Ask whose the project is, unless that was proved a short while ago. Raises `AuthFailed` for another one."""
        account = self.settings.account(place)
        if self._proofs.hold(place.account) and not afresh:
            return
        with translated(f"{place}: which project is {account.project}"):
            told = self._client(place, "Projects").get(request={"project": account.project}, **self.how(place))
        if (told.name, str(told.id)) != (account.project, account.number):
            raise AuthFailed(
                f"{place}: the credentials reach project {told.name} (number {told.id}), "
                f"the place is {account.project} (number {account.number})"
            )
        self._proofs.note(place.account)

    def permissions(self, place: Place, wanted: Sequence[str]) -> frozenset[str]:
        """Those of `wanted` that the credentials hold on the project, as Resource Manager tells; one call, no change.

        Raises `AuthFailed` where its API is not enabled in the project, and what a call may end with.
        """
        path = f"/v1/projects/{self.settings.account(place).project}:testIamPermissions"
        told = self._beside(place, "permissions", _RESOURCE_MANAGER, _READ_ONLY, path, body={"permissions": [*wanted]})
        return frozenset(str(one) for one in told.get("permissions", ()))

    def billing(self, place: Place, path: str, query: Mapping[str, str]) -> Mapping[str, Any]:
        """An answer of the Cloud Billing API. Raises as `permissions` does."""
        return self._beside(place, "prices", _BILLING, _BILLING_READ_ONLY, path, query=query)

    def _beside(
        self,
        place: Place,
        what: str,
        host: str,
        scope: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Mapping[str, Any]:
        """One call to an API beside Compute Engine's, which counts calls of its own; with a token for that alone."""
        account, endpoint = self.settings.account(place), self.settings.endpoint_url
        base = str(endpoint).rstrip("/") if endpoint else host
        with translated(f"{place}: {what}"):
            session = AuthorizedSession(_Token(_found(account.service_account_file, (scope,))))  # type: ignore[no-untyped-call]
            method = "GET" if body is None else "POST"
            given = {"params": query, "json": body, "timeout": CALL_S}
            answer = session.request(method, f"{base}{path}", **given)  # type: ignore[no-untyped-call]
            if answer.status_code != 200:
                raise from_http_response(answer)  # type: ignore[no-untyped-call]
            told: Mapping[str, Any] = answer.json()
        return told

    def environment(self, place: Place) -> Mapping[str, str]:
        """A token for Terraform, in the environment of its process and nowhere else; it lasts an hour at most."""
        with self._lock, translated(f"{place}: credentials"):
            credentials = self._token(place.account, self.settings.account(place))
            if credentials.ends_within(_LASTS_A_RUN):
                credentials.refresh(Request())
            token = credentials.token
        return {"GOOGLE_OAUTH_ACCESS_TOKEN": secret(str(token), passing=True).get_secret_value()}

    def _client(self, place: Place, kind: str) -> Any:
        from google.cloud import compute_v1

        key = (place.account, kind)
        with self._lock, translated(f"{place}: credentials"):
            if key not in self._clients:
                endpoint = self.settings.endpoint_url
                self._clients[key] = getattr(compute_v1, f"{kind}Client")(
                    credentials=self._token(place.account, self.settings.account(place)),
                    client_options={"api_endpoint": str(endpoint).rstrip("/")} if endpoint else None,
                )
            return self._clients[key]

    def _token(self, name: str, account: GoogleAccount) -> "_Token":
        if name not in self._credentials:
            self._credentials[name] = _Token(_found(account.service_account_file))
        return self._credentials[name]


class _Token(Credentials):
    """Credentials of whatever kind, renewed within the time of a call; the SDK and Terraform use the same token."""

    def __init__(self, source: Any) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._source = source
        self._renewing = threading.Lock()

    def refresh(self, request: Any) -> None:
        with self._renewing:
            self._source.refresh(partial(request, timeout=_TOKEN_S))
            self.token, self.expiry = self._source.token, self._source.expiry

    def ends_within(self, time_left: timedelta) -> bool:
        """Also true of a token that was never made."""
        return self.token is None or (
            self.expiry is not None and self.expiry - datetime.now(UTC).replace(tzinfo=None) < time_left
        )


def _is_throttle(error: Exception) -> TypeGuard[GoogleAPICallError]:
    if not isinstance(error, GoogleAPICallError):
        return False
    return isinstance(from_reason(reason_of(error), "", status=int(error.code or 0)), RateLimited)


def _pause_s(error: Exception, made: int) -> float | None:
    """Seconds before the next attempt; None when another one would get the same answer, or come too late."""
    pause_s = min(0.25 * 2.0**made, _LONGEST_PAUSE_S)
    if not isinstance(error, GoogleAPICallError):
        return pause_s
    kind = from_reason(reason_of(error), error.message, status=int(error.code or 0))
    if not isinstance(kind, RateLimited | CloudUnavailable):
        return None
    asked = getattr(error.response, "headers", {}).get("Retry-After", "")
    if not asked.isdecimal():
        return pause_s
    return float(asked) if float(asked) <= _LONGEST_PAUSE_S else None


def _found(service_account_file: Path | None, scopes: Sequence[str] = _SCOPES) -> Any:
    """Credentials for Compute Engine: of one kind of file, or whatever the environment of this process has."""
    if service_account_file is None:
        return google.auth.default(scopes=scopes)[0]
    try:
        return ServiceAccount.from_service_account_file(str(service_account_file), scopes=scopes)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise AuthFailed(f"{service_account_file} is not a key file of a service account: {error}") from None
