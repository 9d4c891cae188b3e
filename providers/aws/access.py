"""The way to one account in one region: a boto3 client, and the proof that it is the account the place means."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from botocore.config import Config

from events.secrets import remember
from providers.aws.errors import is_throttle, translated
from providers.aws.session import session_of
from providers.aws.settings import AwsSettings
from providers.base import Place
from providers.call_budget import PATIENCE_S, CallBudget, TokenBucket
from providers.errors import AuthFailed
from providers.proofs import Proofs

_CONNECT_S, _READ_S = 3.0, 7.0
"""A call of the converger lasts at most 10 s."""


@dataclass(slots=True)
class AwsAccess:
    """Clients by place. Thread-safe. `attempts` of each call are boto3's own, with its backoff and jitter."""

    settings: AwsSettings
    attempts: int
    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _sessions: dict[str, Any] = field(default_factory=dict)
    _clients: dict[tuple[str, str, str], Any] = field(default_factory=dict)
    _proofs: Proofs = field(init=False)
    budget: CallBudget = field(init=False)

    def __post_init__(self) -> None:
        self.budget = self.settings.call_budget("aws")
        self._proofs = Proofs(self.clock)

    def ec2(self, place: Place) -> Any:
        """A client of EC2 whose credentials are proved to be of the place's account.

        Raises `PlaceUnknown`, `AuthFailed`, and what a call to STS may end with.
        """
        self.settings.leaves_network(place)  # refuses a place nobody told of
        self.prove(place)
        return self._client("ec2", place)

    def limits(self, place: Place) -> Any:
        """A client of Service Quotas, which has throttles of its own. Raises as `ec2` does."""
        self.prove(place)
        return self._client("service-quotas", place)

    def prove(self, place: Place, *, afresh: bool = False) -> None:
        """Ask STS who we are, unless that was proved a short while ago. Raises `AuthFailed` for another account."""
        account = self.settings.account(place)
        if self._proofs.hold(place.account) and not afresh:
            return
        with translated(f"{place}: who am I"):
            told = str(self._client("sts", place).get_caller_identity()["Account"])
        if told != account.id:
            raise AuthFailed(f"{place}: the credentials are of account {told}, the place is account {account.id}")
        self._proofs.note(place.account)

    def environment(self, place: Place) -> Mapping[str, str]:
        """The same credentials for Terraform, in the environment of its process and nowhere else."""
        with self._lock, translated(f"{place}: credentials"):
            credentials = self._session(place).get_credentials()
            frozen = credentials.get_frozen_credentials() if credentials else None
        if frozen is None:
            raise AuthFailed(f"{place}: boto3 finds no credentials for this account profile")
        given = {
            "AWS_ACCESS_KEY_ID": frozen.access_key,
            "AWS_SECRET_ACCESS_KEY": frozen.secret_key,
            "AWS_SESSION_TOKEN": frozen.token or "",
        }
        for name in ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
            remember(given[name], passing=True)  # those of a role last an hour
        return {name: value for name, value in given.items() if value}

    def _client(self, service: str, place: Place) -> Any:
        key = (service, place.account, place.region)
        with self._lock, translated(f"{place}: credentials"):
            if key not in self._clients:
                endpoint = self.settings.endpoint_url
                client = self._session(place).client(
                    service,
                    region_name=place.region,
                    endpoint_url=str(endpoint) if endpoint else None,
                    config=Config(
                        connect_timeout=_CONNECT_S,
                        read_timeout=_READ_S,
                        retries={"mode": "standard", "total_max_attempts": self.attempts},
                    ),
                )
                if service == "ec2":
                    self._count_calls(client, self.budget.of(place))
                self._clients[key] = client
            return self._clients[key]

    def _count_calls(self, client: Any, bucket: TokenBucket) -> None:
        """Each call, each try of it too, takes a token; a throttled one makes all wait."""

        def before_send(**_: Any) -> None:
            bucket.take(patience_s=PATIENCE_S)

        def received(
            response_dict: dict[str, Any] | None = None, parsed_response: dict[str, Any] | None = None, **_: Any
        ) -> None:
            bucket.heard((response_dict or {}).get("headers", {}), throttled=is_throttle(parsed_response or {}))

        client.meta.events.register("before-send.ec2", before_send)
        client.meta.events.register("response-received.ec2", received)

    def _session(self, place: Place) -> Any:
        """Under the lock: sessions are not thread-safe while they make clients."""
        if place.account not in self._sessions:
            self._sessions[place.account] = session_of(self.settings.account(place).profile)
        return self._sessions[place.account]
