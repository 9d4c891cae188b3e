"""The way to one team: a pydo client, and the proof that it is the team the place means."""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from azure.core.pipeline import PipelineRequest, PipelineResponse
from azure.core.pipeline.policies import RetryPolicy, SansIOHTTPPolicy
from pydantic import SecretStr
from pydo import Client

from events.secrets import secret
from providers import base, call_budget, errors, pipelines, proofs
from providers.digitalocean.errors import translated
from providers.digitalocean.settings import DigitaloceanSettings

_CONNECT_S, _READ_S = 3.0, 7.0
"""A call of the converger lasts at most 10 s, all its tries together."""

_LONGEST_WAIT_S = 2.0
"""A throttle that asks for more is told at once: the converger has better to do than to sleep in a call."""


@dataclass(slots=True)
class DigitaloceanAccess:
    """Clients by account. Thread-safe. `attempts` of each call, as DigitalOcean's `Retry-After` allows."""

    settings: DigitaloceanSettings
    attempts: int
    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    # By account and token, so never shown.
    _clients: dict[tuple[str, SecretStr], Any] = field(default_factory=dict, repr=False)
    budget: call_budget.CallBudget = field(init=False)
    _proofs: proofs.Proofs = field(init=False)

    def __post_init__(self) -> None:
        self.budget = self.settings.call_budget("digitalocean")
        self._proofs = proofs.Proofs(self.clock)

    def client(self, place: base.Place) -> Any:
        """A client whose token is proved to be of the place's team.

        Raises `PlaceUnknown`, `AuthFailed`, and what a call may end with.
        """
        self.settings.leaves_network(place)  # refuses a place nobody told of
        self.prove(place)
        return self._client(place)

    def prove(self, place: base.Place, *, afresh: bool = False) -> None:
        """Ask whose the token is, unless that was proved a short while ago. Raises `AuthFailed` for another's."""
        account, key = self.settings.account(place), (place.account, self.token(place))
        if self._proofs.hold(key) and not afresh:
            return
        with translated(f"{place}: whose is the token"):
            told = self._client(place).account.get()
        owner = _owner(told)
        if not owner:
            raise errors.CloudUnavailable(f"{place}: DigitalOcean does not tell whose the token is")
        if owner != account.id:
            raise errors.AuthFailed(f"{place}: the token is of {owner}, the place is {account.id}")
        self._proofs.note(key)

    def token(self, place: base.Place) -> SecretStr:
        """The token of an account. Raises `AuthFailed` when its variable is empty."""
        variable = self.settings.account(place).token_variable
        token = os.environ.get(variable, "").strip()
        if not token:
            raise errors.AuthFailed(f"{place}: the environment variable {variable} has no token")
        return secret(token)

    def _client(self, place: base.Place) -> Any:
        token = self.token(place)
        with self._lock:
            if (place.account, token) not in self._clients:
                self._clients[place.account, token] = _made(token, self.settings, self.attempts, self.budget.of(place))
            return self._clients[place.account, token]


def _made(token: SecretStr, settings: DigitaloceanSettings, attempts: int, bucket: call_budget.TokenBucket) -> Any:
    given: dict[str, Any] = {
        "retry_policy": _BoundedRetries(
            retry_total=attempts - 1, retry_backoff_factor=0.2, retry_backoff_max=1.0, timeout=_CONNECT_S + _READ_S
        ),
        "per_retry_policies": [pipelines.CountedCalls(bucket)],
        "connection_timeout": _CONNECT_S,
        "read_timeout": _READ_S,
    }
    if settings.endpoint_url is not None:
        endpoint = str(settings.endpoint_url).rstrip("/")
        given["endpoint"] = endpoint
        if _is_loopback(endpoint):
            given["authentication_policy"] = _BearerOnLoopback(token)
    return Client(token=token.get_secret_value(), **given)


class _BearerOnLoopback(SansIOHTTPPolicy[Any, Any]):
    """The SDK sends no token over plain HTTP, rightly; on the loopback interface nobody listens in."""

    def __init__(self, token: SecretStr) -> None:
        self._header = f"Bearer {token.get_secret_value()}"

    def on_request(self, request: PipelineRequest[Any]) -> None:
        request.http_request.headers["Authorization"] = self._header


class _BoundedRetries(RetryPolicy[Any, Any]):
    """The SDK's retries, but no longer than a call may last."""

    def increment(self, settings: Any, response: Any = None, error: Any = None, **more: Any) -> bool:
        answered = isinstance(response, PipelineResponse)  # without an answer this is the request
        if answered and (self.get_retry_after(response) or 0) > _LONGEST_WAIT_S:
            return False
        return bool(super().increment(settings, response=response, error=error, **more))


def _is_loopback(endpoint: str) -> bool:
    host = urlsplit(endpoint).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _owner(told: Any) -> str:
    account = told.get("account", {}) if isinstance(told, dict) else {}
    return str((account.get("team") or {}).get("uuid") or account.get("uuid") or "")
