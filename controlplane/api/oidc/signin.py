"""A sign-in by the provider: the way there, the way back, and who came back.

What a sign-in has to remember is one random seed in a cookie of the browser that began it, signed by us and valid for
ten minutes; state, nonce and the PKCE verifier are derived from it. So an answer counts only in that browser, and of
each answer the state is taken once, by whichever server it comes to. Nothing secret is stored.
"""

import base64
import hashlib
import hmac
import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from pydantic import SecretBytes

from controlplane.api.access.oidc_users import ATTEMPT_LIFE, OidcPeopleStore, OidcPerson
from controlplane.api.oidc.binding import OidcBinding
from controlplane.api.oidc.id_token import claims_of, logout_claims_of
from controlplane.api.oidc.provider import Provider, SignInFailed

_log = logging.getLogger(__name__)

CALLBACK = "/oidc/callback"
_MOST_GROUPS = 500
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class SignInAnswer:
    """What the provider sent the browser back with; empty parts were not there."""

    code: str = ""
    state: str = ""
    error: str = ""
    issuer: str = ""


@dataclass(frozen=True, slots=True)
class OidcSignIn:
    """`key` signs the cookie of an attempt."""

    provider: Provider
    people: OidcPeopleStore
    key: SecretBytes

    @property
    def binding(self) -> OidcBinding:
        return self.provider.binding

    def begin(self, base_url: str, now: datetime) -> tuple[str, str]:
        """Where the browser goes, and the cookie it keeps. `base_url` is ours, as it calls us. Raises ProviderAway."""
        seed = f"{int(now.timestamp())}.{secrets.token_urlsafe(32)}"
        asked = {
            "response_type": "code",
            "client_id": self.binding.client_id,
            "redirect_uri": base_url + CALLBACK,
            "scope": " ".join(self.binding.scopes),
            "state": _derived(seed, "state"),
            "nonce": _derived(seed, "nonce"),
            "code_challenge": _challenge(_derived(seed, "verifier")),
            "code_challenge_method": "S256",
        }
        return _with_query(self.provider.discovered().authorization, asked), f"{seed}.{self._signature(seed)}"

    def finish(self, answer: SignInAnswer, cookie: str, base_url: str, now: datetime) -> OidcPerson:
        """Who came back. Raises SignInFailed, ProviderAway, OidcRefused, StoreUnavailable."""
        seed = self._seed(cookie, now)
        state = _derived(seed, "state")
        if not hmac.compare_digest(answer.state.encode(), state.encode()):
            raise SignInFailed("the answer is to a sign-in that this browser did not begin")
        if not self.people.take(hashlib.sha256(state.encode()).hexdigest(), now):
            raise SignInFailed("this answer was used before")
        if answer.error:
            _log.info("the OIDC provider answers %r", answer.error[:60])
            raise SignInFailed("the provider did not let you in")
        # RFC 9207: another provider's answer is not brought to ours.
        if answer.issuer != self.binding.issuer and (answer.issuer or self.provider.discovered().says_issuer):
            raise SignInFailed("the answer is another provider's")
        redirect_uri = base_url + CALLBACK
        tokens = self.provider.exchange(answer.code, verifier=_derived(seed, "verifier"), redirect_uri=redirect_uri)
        access_token = str(tokens.get("access_token") or "")
        claims = claims_of(
            str(tokens.get("id_token") or ""),
            self.provider,
            nonce=_derived(seed, "nonce"),
            now=now,
            access_token=access_token,
        )
        return self._person(self._completed(claims, access_token), now)

    def signed_out(self, token: str, now: datetime) -> list[str]:
        """Whom the provider says it has signed out, as people are named here; each logout token counts once.

        Raises SignInFailed, ProviderAway, StoreUnavailable.
        """
        claims = logout_claims_of(token, self.provider, now=now)
        if not self.people.take(hashlib.sha256(f"logout {claims['jti']}".encode()).hexdigest(), now):
            raise SignInFailed("this logout token was used before")
        return [person.subject for person in self.people.all() if person.sub == claims["sub"]]

    def way_out(self, base_url: str) -> str:
        """Where one signs out at the provider too, "" where it does not offer that. Raises ProviderAway."""
        end = self.provider.discovered().end_session
        asked = {"client_id": self.binding.client_id, "post_logout_redirect_uri": f"{base_url}/login"}
        return _with_query(end, asked) if end else ""

    @property
    def session_life(self) -> timedelta:
        return timedelta(seconds=self.binding.session_s)

    def _completed(self, claims: Mapping[str, Any], access_token: str) -> Mapping[str, Any]:
        """With what only the userinfo endpoint tells. Its word counts for the same `sub` alone (Core 1.0 5.3.2)."""
        wanted = {self.binding.name_claim, self.binding.groups_claim}
        if self.binding.name_claim == "email" or self.binding.allowed_email_domains:
            wanted |= {"email", "email_verified"}
        if wanted <= set(claims) or not access_token:
            return claims
        more = self.provider.userinfo(access_token)
        if more and more.get("sub") != claims["sub"]:
            raise SignInFailed("the provider told of somebody else")
        return {**more, **claims}

    def _person(self, claims: Mapping[str, Any], now: datetime) -> OidcPerson:
        name = str(claims.get(self.binding.name_claim) or "")
        is_plain = name.isprintable() and not any(c.isspace() or c == ":" for c in name)
        if not name or not is_plain or len(name) > _LONGEST_NAME:
            raise SignInFailed(f"the provider tells no usable `{self.binding.name_claim}` of you")
        email, is_verified = str(claims.get("email") or "").lower(), claims.get("email_verified") is True
        if self.binding.name_claim == "email":
            name = email
        if (self.binding.name_claim == "email" or self.binding.allowed_email_domains) and not is_verified:
            raise SignInFailed("the provider has not verified your email address")
        domain = email.rpartition("@")[2]
        if self.binding.allowed_email_domains and domain not in self.binding.allowed_email_domains:
            raise SignInFailed("people of your email domain are not let in here")
        claimed = claims.get(self.binding.groups_claim, [])
        groups = [claimed] if isinstance(claimed, str) else claimed if isinstance(claimed, list) else []
        kept = tuple(sorted({g for g in groups if isinstance(g, str) and g}))[:_MOST_GROUPS]
        return OidcPerson(name, str(claims["sub"]), kept, now, now)

    def _seed(self, cookie: str, now: datetime) -> str:
        seed, _, signature = cookie.rpartition(".")
        began = seed.partition(".")[0]
        if not began.isdigit() or not hmac.compare_digest(signature.encode(), self._signature(seed).encode()):
            raise SignInFailed("the answer is to a sign-in that this browser did not begin")
        if not 0 <= now.timestamp() - int(began) + 1 <= ATTEMPT_LIFE.total_seconds():
            raise SignInFailed("the sign-in took too long")
        return seed

    def _signature(self, seed: str) -> str:
        return hmac.new(self.key.get_secret_value(), f"oidc attempt {seed}".encode(), hashlib.sha256).hexdigest()


def _derived(seed: str, purpose: str) -> str:
    """43 characters of base64url: what RFC 7636 asks of a verifier."""
    digest = hmac.new(seed.encode(), purpose.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _challenge(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _with_query(url: str, asked: Mapping[str, str]) -> str:
    return f"{url}{'&' if '?' in url else '?'}{urlencode(asked)}"
