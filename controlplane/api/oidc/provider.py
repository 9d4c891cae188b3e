"""The provider as we see it: its discovery document, its keys, and the two calls that a sign-in makes.

Sources: OpenID Connect Discovery 1.0 section 4, Core 1.0 sections 3.1.3 and 5.3, RFC 7636 (PKCE).
"""

import json
import logging
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from controlplane.api.oidc.binding import OidcBinding, is_safe
from controlplane.runtime.egress import Egress, EgressRefused

_log = logging.getLogger(__name__)

DISCOVERED_FOR_S = 3600.0
KEYS_AT_MOST_EVERY_S = 30.0
"""A token with an unknown key makes us fetch the keys again, but no stranger makes us do it all the time."""
_LARGEST_BYTES = 1024 * 1024
_TIMEOUT = httpx.Timeout(5.0)


class ProviderAway(Exception):
    """The provider does not answer, or not as one does. What now: try again; local users sign in meanwhile."""


class SignInFailed(Exception):
    """The provider vouches for nobody: the sign-in is refused. What now: begin it again, or ask an administrator."""


@dataclass(frozen=True, slots=True)
class Discovered:
    """What of the discovery document is used. `end_session` is "" where signing out there is not offered."""

    authorization: str
    token: str
    jwks: str
    userinfo: str
    end_session: str
    algorithms: tuple[str, ...]
    says_issuer: bool


@dataclass
class Provider:
    """Thread-safe. `transport` is another network in tests, `monotonic` another clock."""

    binding: OidcBinding
    transport: httpx.BaseTransport | None = None
    egress: Egress = field(default_factory=Egress)
    monotonic: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _discovered: tuple[float, Discovered] | None = field(default=None, init=False, repr=False)
    _keys: tuple[float, KeySet] | None = field(default=None, init=False, repr=False)

    def discovered(self) -> Discovered:
        """The provider's own description, an hour old at most. Raises ProviderAway."""
        with self._lock:
            if self._discovered is None or self.monotonic() - self._discovered[0] >= DISCOVERED_FOR_S:
                self._discovered = (self.monotonic(), self._discover())
            return self._discovered[1]

    def keys(self, *, kid: str = "") -> KeySet:
        """Its signing keys; fetched anew when `kid` is not among them, which is how keys are rotated.

        Raises ProviderAway.
        """
        url = self.discovered().jwks
        with self._lock:
            known = self._keys
            is_missing = known is None or (bool(kid) and kid not in {key.kid for key in known[1].keys})
            if known is None or (is_missing and self.monotonic() - known[0] >= KEYS_AT_MOST_EVERY_S):
                known = self._keys = (self.monotonic(), self._fetch_keys(url))
            return known[1]

    def exchange(self, code: str, *, verifier: str, redirect_uri: str) -> Mapping[str, Any]:
        """The code for tokens. Raises SignInFailed where the provider refuses it, ProviderAway, OidcRefused."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
            "client_id": self.binding.client_id,
        }
        secret = self.binding.client_secret().get_secret_value()
        # RFC 6749 2.3.1: both halves are form-encoded before they become a basic credential.
        login = httpx.BasicAuth(quote(self.binding.client_id, safe=""), quote(secret, safe="")) if secret else None
        if login is not None:
            del form["client_id"]
        return self._ask("POST", self.discovered().token, data=form, auth=login)

    def userinfo(self, access_token: str) -> Mapping[str, Any]:
        """What else it says of the person. Raises ProviderAway, SignInFailed."""
        url = self.discovered().userinfo
        return self._ask("GET", url, headers={"Authorization": f"Bearer {access_token}"}) if url else {}

    def _discover(self) -> Discovered:
        said = self._ask("GET", f"{self.binding.issuer.rstrip('/')}/.well-known/openid-configuration")
        if said.get("issuer") != self.binding.issuer:
            raise ProviderAway(
                f"the provider calls itself {said.get('issuer')!r}, the settings {self.binding.issuer!r}"
            )
        found = {name: str(said.get(name) or "") for name in _ENDPOINTS}
        for name, url in found.items():
            if url and not is_safe(url):
                raise ProviderAway(f"the provider names a {name} without https")
            if not url and name in _NEEDED:
                raise ProviderAway(f"the provider names no {name}")
        return Discovered(
            authorization=found["authorization_endpoint"],
            token=found["token_endpoint"],
            jwks=found["jwks_uri"],
            userinfo=found["userinfo_endpoint"],
            end_session=found["end_session_endpoint"],
            algorithms=tuple(str(a) for a in said.get("id_token_signing_alg_values_supported") or ("RS256",)),
            says_issuer=said.get("authorization_response_iss_parameter_supported") is True,
        )

    def _fetch_keys(self, url: str) -> KeySet:
        said = self._ask("GET", url)
        keys = [key for key in said.get("keys") or [] if isinstance(key, dict) and key.get("use", "sig") == "sig"]
        usable = []
        for key in keys:
            try:
                usable += KeySet.import_key_set({"keys": [key]}).keys
            except (JoseError, ValueError, TypeError, KeyError) as error:
                _log.warning("a key of %s is of a kind we do not know: %s", self.binding.issuer, error)
        return KeySet(usable)

    def _ask(
        self,
        method: str,
        url: str,
        *,
        data: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        auth: httpx.Auth | None = None,
    ) -> Mapping[str, Any]:
        try:
            with self._client() as http:
                answer = http.request(method, url, data=data, headers=headers, auth=auth)
        except (httpx.HTTPError, ssl.SSLError, OSError) as error:
            why = str(error) if isinstance(error, EgressRefused) else type(error).__name__
            raise ProviderAway(f"{self.binding.issuer} does not answer: {why}") from error
        document = _object(answer)
        if answer.status_code >= 500 or (document is None and answer.is_success):
            raise ProviderAway(f"{self.binding.issuer} answers {answer.status_code}, which is not understood")
        if not answer.is_success:
            code = str((document or {}).get("error", answer.status_code))[:60]
            raise SignInFailed(f"the provider refused it ({code})")
        return document or {}

    def _client(self) -> httpx.Client:
        verify: ssl.SSLContext | bool = True
        if self.binding.ca_file is not None:
            verify = ssl.create_default_context(cafile=str(self.binding.ca_file))
        if self.transport is not None:
            return httpx.Client(transport=self.transport, timeout=_TIMEOUT, follow_redirects=False)
        # Its own host stands in the settings; others are what its discovery document says.
        named = {urlsplit(self.binding.issuer).hostname or ""}
        return self.egress.client(named, timeout=_TIMEOUT, verify=verify)


_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint", "end_session_endpoint")
_NEEDED = ("authorization_endpoint", "token_endpoint", "jwks_uri")


def _object(answer: httpx.Response) -> dict[str, Any] | None:
    if len(answer.content) > _LARGEST_BYTES:
        return None
    try:
        document = json.loads(answer.content)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None
