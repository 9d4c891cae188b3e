"""The way to one subscription: the SDK's clients, and the proof that it is the subscription the place means."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from azure.core.credentials import AccessToken, TokenCredential
from azure.core.pipeline import PipelineRequest, PipelineResponse
from azure.core.pipeline.policies import RetryPolicy, SansIOHTTPPolicy
from azure.core.rest import HttpRequest
from azure.identity import ClientSecretCredential, ManagedIdentityCredential
from azure.mgmt.compute import ComputeManagementClient
from azure.mgmt.network import NetworkManagementClient
from pydantic import SecretStr

from events.secrets import secret
from providers.azure.errors import pause_s, translated
from providers.azure.settings import AzureAccount, AzureSettings
from providers.base import Place
from providers.call_budget import CallBudget
from providers.errors import AuthFailed
from providers.pipelines import CountedCalls
from providers.proofs import Proofs

_LIMITS: Mapping[str, Any] = {"connection_timeout": 3.0, "read_timeout": 7.0}
"""A call of the converger lasts at most 10 s."""

_LONGEST_PAUSE_S = 5.0
"""Azure's `Retry-After` may be minutes. A longer one is not slept through here: the converger's pause is for that."""

_SUBSCRIPTIONS_API = "2022-12-01"
_USABLE = ("Enabled", "Warned", "PastDue")
"""States of a subscription in which its resources answer as they are (Subscriptions - Get)."""


@dataclass(frozen=True, slots=True)
class Clients:
    """Of one subscription, all regions."""

    account_id: str
    compute: Any
    network: Any

    def listed(self, kind: str, version: str, query: str = "") -> Iterator[Mapping[str, Any]]:
        """Everything of a type in the subscription, page by page, as Azure wrote it.

        The SDK's own listings make an object of each part of each VM, which takes most of the time a large fleet's
        listing takes; these are its calls, its tries and its pages without that.
        """
        client = self.network if kind.startswith("Microsoft.Network/") else self.compute
        where = f"{{endpoint}}/subscriptions/{self.account_id}/providers/{kind}?api-version={version}{query}"
        while where:
            answer = client.send_request(HttpRequest("GET", where))
            answer.raise_for_status()
            page = answer.json()
            yield from page["value"]
            where = page.get("nextLink") or ""


@dataclass(slots=True)
class AzureAccess:
    """Clients by account. Thread-safe. `attempts` of each call, with the SDK's backoff or the pause Azure asks for."""

    settings: AzureSettings
    attempts: int
    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _clients: dict[str, Clients] = field(default_factory=dict)
    budget: CallBudget = field(init=False)
    _proofs: Proofs = field(init=False)

    def __post_init__(self) -> None:
        self.budget = self.settings.call_budget("azure")
        self._proofs = Proofs(self.clock)

    def clients(self, place: Place) -> Clients:
        """Clients whose credentials are proved to reach the place's subscription, in its tenant.

        Raises `PlaceUnknown`, `AuthFailed`, and what the call may end with.
        """
        self.settings.leaves_network(place)  # refuses a place nobody told of
        self.prove(place)
        return self._made(place)

    def prove(self, place: Place, *, afresh: bool = False) -> None:
        """Ask for the subscription, unless that was done a short while ago. Raises `AuthFailed` for another one."""
        account = self.settings.account(place)
        if self._proofs.hold(place.account) and not afresh:
            return
        asked = HttpRequest("GET", f"{{endpoint}}/subscriptions/{account.id}?api-version={_SUBSCRIPTIONS_API}")
        with translated(f"{place}: who am I"):
            answer = self._made(place).compute.send_request(asked)
            answer.raise_for_status()
            told = answer.json()
        found = (told.get("subscriptionId"), told.get("tenantId"))
        if found != (account.id, account.tenant_id):
            raise AuthFailed(
                f"{place}: Azure answered for subscription {found[0]} of tenant {found[1]}, the place is "
                f"{account.id} of {account.tenant_id}"
            )
        if told.get("state") not in _USABLE:
            raise AuthFailed(f"{place}: subscription {account.id} is {told.get('state')}; nothing it says is believed")
        self._proofs.note(place.account)

    def environment(self, place: Place) -> Mapping[str, str]:
        """The same credentials for Terraform, in the environment of its process and nowhere else."""
        account = self.settings.account(place)
        given = {
            "ARM_SUBSCRIPTION_ID": account.id,
            "ARM_TENANT_ID": account.tenant_id,
            "ARM_CLIENT_ID": account.client_id or "",
            "ARM_USE_CLI": "false",
        }
        if account.sign_in == "managed-identity":
            given["ARM_USE_MSI"] = "true"
        else:
            given["ARM_CLIENT_SECRET"] = _secret(place, account).get_secret_value()
        return {name: value for name, value in given.items() if value}

    def _made(self, place: Place) -> Clients:
        account = self.settings.account(place)
        with self._lock, translated(f"{place}: credentials"):
            if place.account not in self._clients:
                self._clients[place.account] = self._make(place, account)
            return self._clients[place.account]

    def _make(self, place: Place, account: AzureAccount) -> Clients:
        local = self.settings.is_on_loopback
        credential: TokenCredential = _LoopbackToken() if local else credential_of(place, account)
        more: dict[str, Any] = {**_LIMITS, "per_retry_policies": [CountedCalls(self.budget.of(place))]}
        if self.settings.endpoint_url is not None:
            more["base_url"] = str(self.settings.endpoint_url).rstrip("/")
        if local:
            more["authentication_policy"] = _PlainToken(_secret(place, account))

        def made(client: Callable[..., Any]) -> Any:
            again = self.attempts - 1
            retries = _Retries(retry_total=again, retry_connect=again, retry_read=again, retry_status=again)
            return client(credential, account.id, retry_policy=retries, **more)

        return Clients(account.id, made(ComputeManagementClient), made(NetworkManagementClient))


def credential_of(place: Place, account: AzureAccount) -> TokenCredential:
    """How an account signs in; asks nobody yet. Raises `AuthFailed` where the environment has no secret for it."""
    if account.sign_in == "managed-identity":
        return ManagedIdentityCredential(client_id=account.client_id, retry_total=1, **_LIMITS)
    shown = _secret(place, account).get_secret_value()
    return ClientSecretCredential(account.tenant_id, account.client_id or "", shown, retry_total=1, **_LIMITS)


class _Retries(RetryPolicy[Any, Any]):
    """The SDK's own, which would sleep through whatever pause a server names: a long one ends the tries."""

    def increment(self, settings: dict[str, Any], response: Any = None, error: Exception | None = None) -> bool:
        if isinstance(response, PipelineResponse) and pause_s(response.http_response.headers) > _LONGEST_PAUSE_S:
            return False
        return super().increment(settings, response=response, error=error)


class _LoopbackToken:
    """What the SDK's clients want to be given, where `_PlainToken` does the work."""

    def get_token(self, *scopes: str, **_: Any) -> AccessToken:
        raise AuthFailed("a stand-in on loopback is called with the secret itself, never with a token")


class _PlainToken(SansIOHTTPPolicy[Any, Any]):
    """A bearer over plain http, which the SDK refuses: for a stand-in on this machine only (settings see to that)."""

    def __init__(self, shown: SecretStr) -> None:
        self._shown = shown

    def on_request(self, request: PipelineRequest[Any]) -> None:
        request.http_request.headers["Authorization"] = f"Bearer {self._shown.get_secret_value()}"


def _secret(place: Place, account: AzureAccount) -> SecretStr:
    found = os.environ.get(account.secret_variable, "")
    if not found:
        raise AuthFailed(f"{place}: no credentials: the environment has no {account.secret_variable}")
    return secret(found)
