"""The way to one project: a client of hcloud, and the proof that its token is of the project the place means."""

import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import requests
from hcloud import APIException, Client
from pydantic import SecretStr

from events.secrets import secret
from providers.base import Place
from providers.call_budget import PATIENCE_S, CallBudget, TokenBucket
from providers.errors import AuthFailed, PlaceUnknown
from providers.hetzner.errors import is_not_found, translated
from providers.hetzner.settings import HetznerSettings
from providers.networks import NetworkMissing
from providers.proofs import Proofs

CALL_S = 10.0
"""A call of the converger lasts at most so long, all its tries and pauses together."""

_CONNECT_S = 3.0
_PAUSE_S = 0.5
_THROTTLED = 429
_TRY_AGAIN = (_THROTTLED, 502, 503, 504)


@dataclass(slots=True)
class HetznerAccess:
    """Clients by account. Thread-safe. `attempts` are the tries of one call, bounded by `CALL_S` in all."""

    settings: HetznerSettings
    attempts: int
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _clients: dict[str, Client] = field(default_factory=dict)
    budget: CallBudget = field(init=False)
    _proofs: Proofs = field(init=False)

    def __post_init__(self) -> None:
        self.budget = self.settings.call_budget("hetzner")
        self._proofs = Proofs(self.clock)

    def client(self, place: Place) -> Client:
        """A client whose token is proved to be of the place's project.

        Raises `PlaceUnknown`, `AuthFailed`, and what a call to Hetzner may end with.
        """
        self.settings.leaves_network(place)  # refuses a place nobody told of
        self.prove(place)
        return self._client(place)

    def prove(self, place: Place, *, afresh: bool = False) -> None:
        """Ask for the networks of the place, unless that was done a short while ago.

        The API does not say whose a token is. An id is given once in all of Hetzner, and a token sees its own project
        only: whoever sees the networks of the settings is in their project. Raises `AuthFailed` for anybody else.
        While Kedge has still to make the network there is nothing to prove it by, and no VM either.
        """
        try:
            region = self.settings.region(place)
        except NetworkMissing:
            return
        if self._proofs.hold(place) and not afresh:
            return
        for network in (region.network, region.node_network):
            self._see(place, network)
        self._proofs.note(place)

    def environment(self, place: Place) -> Mapping[str, str]:
        """The same token for Terraform, in the environment of its process and nowhere else; proved just now."""
        self.prove(place, afresh=True)
        return {"HCLOUD_TOKEN": self._token(place).get_secret_value()}

    def _see(self, place: Place, network: int) -> None:
        with translated(f"{place}: network {network}"):
            try:
                found = self._client(place).request(method="GET", url=f"/networks/{network}")["network"]
            except APIException as error:
                if not is_not_found(error):
                    raise
                variable = self.settings.account(place).token_variable
                told = f"the token in {variable} sees no network {network}: it is of another project than the place"
                raise AuthFailed(f"{place}: {told}") from error
        there = {str(subnet["network_zone"]) for subnet in found["subnets"]}
        if place.region not in there:
            raise PlaceUnknown(f"{place}: network {network} has subnets in {', '.join(sorted(there)) or 'no zone'}")

    def _client(self, place: Place) -> Client:
        with self._lock:
            if place.account not in self._clients:
                endpoint = self.settings.endpoint_url
                given: dict[str, Any] = {"api_endpoint": str(endpoint).rstrip("/")} if endpoint else {}
                client = Client(token=self._token(place).get_secret_value(), application_name="kedge", **given)
                # hcloud's own tries pause up to a minute and know no Retry-After: these take their place.
                base = client._client
                base._retry_max_retries = 0
                base._session = _Patient(self.attempts, self.budget.of(place), clock=self.clock, sleep=self.sleep)
                self._clients[place.account] = client
            return self._clients[place.account]

    def _token(self, place: Place) -> SecretStr:
        variable = self.settings.account(place).token_variable
        token = os.environ.get(variable, "")
        if not token:
            raise AuthFailed(f"{place}: the environment has no {variable} with the token of its project")
        return secret(token)


class _Patient(requests.Session):
    """A session that asks again, as often and as late as it may. Safe to share: it keeps nothing but connections."""

    def __init__(
        self, attempts: int, bucket: TokenBucket, *, clock: Callable[[], float], sleep: Callable[[float], None]
    ) -> None:
        super().__init__()
        self.bucket = bucket
        self.attempts, self.clock, self.sleep = attempts, clock, sleep

    def request(self, method: str, url: str, **given: Any) -> requests.Response:  # type: ignore[override]
        """The last answer there was in time. What may have been done already is not asked for again."""
        deadline = self.clock() + CALL_S
        for attempt in range(1, self.attempts + 1):
            left = max(deadline - self.clock(), 0.1)
            last = attempt == self.attempts
            self.bucket.take(patience_s=PATIENCE_S)
            try:
                answer = super().request(method, url, **{**given, "timeout": (min(_CONNECT_S, left), left)})
            except (requests.ConnectionError, requests.Timeout):
                pause = _pause({}, attempt)
                if last or method != "GET" or self.clock() + pause >= deadline:
                    raise
            else:
                self.bucket.heard(answer.headers, throttled=answer.status_code == _THROTTLED)
                pause = _pause(answer.headers, attempt)
                harmless = method == "GET" or answer.status_code == _THROTTLED
                if last or not harmless or answer.status_code not in _TRY_AGAIN or self.clock() + pause >= deadline:
                    return answer
            self.sleep(pause)
        raise AssertionError("the last attempt returns")


def _pause(headers: Mapping[str, str], attempt: int) -> float:
    told = headers.get("Retry-After", "")
    return float(told) if told.isdecimal() else float(_PAUSE_S * 2 ** (attempt - 1))
