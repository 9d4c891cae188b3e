"""Whether an ID token is what it says: signature, issuer, audience, times, nonce. Core 1.0 section 3.1.3.7.

And whether a logout token is: Back-Channel Logout 1.0, section 2.6.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError

from controlplane.api.access.oidc_users import ATTEMPT_LIFE
from controlplane.api.oidc.provider import Provider, SignInFailed

_LOGOUT = "http://schemas.openid.net/event/backchannel-logout"
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
"""Signatures by a key that only the provider has. Neither `none` nor a secret we share with it is one."""


def claims_of(
    token: str, provider: Provider, *, nonce: str, now: datetime, access_token: str = ""
) -> Mapping[str, Any]:
    """The claims of a token that is right in every respect. Raises SignInFailed, ProviderAway."""
    claims, algorithm = _signed_claims(token, provider, now)
    if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
        raise SignInFailed("the ID token answers another sign-in")
    if access_token and "at_hash" in claims and claims["at_hash"] != _half_hash(access_token, algorithm):
        raise SignInFailed("the access token is not the one the ID token is for")
    if not _tells(claims, "sub"):
        raise SignInFailed("the ID token does not say whom it is for")
    return claims


def logout_claims_of(token: str, provider: Provider, *, now: datetime) -> Mapping[str, Any]:
    """The claims of a logout token that is right in every respect and not older than ten minutes: `sub` and `jti` among
    them. Raises SignInFailed, ProviderAway.
    """
    claims, _ = _signed_claims(token, provider, now)
    events = claims.get("events")
    if not isinstance(events, Mapping) or not isinstance(events.get(_LOGOUT), Mapping) or "nonce" in claims:
        raise SignInFailed("this is not a logout token")
    if now.timestamp() - float(claims["iat"]) > provider.binding.leeway_s + ATTEMPT_LIFE.total_seconds():
        raise SignInFailed("the logout token is too old")
    if not _tells(claims, "jti"):
        raise SignInFailed("the logout token has no id")
    if not _tells(claims, "sub"):
        raise SignInFailed("the logout token names no person: sessions alone (`sid`) are not known here")
    return claims


def _signed_claims(token: str, provider: Provider, now: datetime) -> tuple[Mapping[str, Any], str]:
    """What the provider signed for us and that counts now, and by which algorithm."""
    binding, discovered = provider.binding, provider.discovered()
    header = _header(token)
    algorithm, kid = str(header.get("alg", "")), str(header.get("kid", ""))
    if algorithm not in ALGORITHMS or algorithm not in discovered.algorithms:
        raise SignInFailed(f"the ID token is signed by {algorithm or 'nothing'}, which is not believed")
    keys = provider.keys(kid=kid)
    if kid and kid not in {key.kid for key in keys.keys}:
        raise SignInFailed("the ID token is signed by a key the provider does not show")
    try:
        claims = jwt.decode(token, keys, algorithms=[algorithm]).claims
    except (JoseError, ValueError, TypeError) as error:
        raise SignInFailed(f"the signature of the ID token is not right ({type(error).__name__})") from error
    _judge_party(claims, issuer=binding.issuer, client_id=binding.client_id)
    _judge_times(claims, now.timestamp(), binding.leeway_s)
    return claims, algorithm


def _tells(claims: Mapping[str, Any], name: str) -> bool:
    """Whether there is such a claim: text, and not none."""
    return isinstance(claims.get(name), str) and bool(claims[name])


def _judge_party(claims: Mapping[str, Any], *, issuer: str, client_id: str) -> None:
    if claims.get("iss") != issuer:
        raise SignInFailed("the ID token is another provider's")
    audience = claims.get("aud")
    meant = [audience] if isinstance(audience, str) else audience
    if not isinstance(meant, Collection) or client_id not in meant:
        raise SignInFailed("the ID token is for another application")
    if claims.get("azp", client_id) != client_id or (len(meant) > 1 and "azp" not in claims):
        raise SignInFailed("the ID token was given to another application")


def _judge_times(claims: Mapping[str, Any], now_s: float, leeway_s: int) -> None:
    ends, began = claims.get("exp"), claims.get("iat")
    if not isinstance(ends, int | float) or now_s - leeway_s >= ends:
        raise SignInFailed("the ID token is over: are the clocks of this server and the provider apart?")
    if not isinstance(began, int | float) or began - leeway_s > now_s:
        raise SignInFailed("the ID token is from the future: are the clocks of this server and the provider apart?")
    starts = claims.get("nbf", began)
    if not isinstance(starts, int | float) or starts - leeway_s > now_s:
        raise SignInFailed("the ID token is not valid yet")


def _header(token: str) -> Mapping[str, Any]:
    encoded = token.split(".")[0]
    try:
        header = json.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
    except (ValueError, UnicodeError):
        header = None
    if not isinstance(header, dict) or token.count(".") != 2:
        raise SignInFailed("the provider sent no ID token")
    return header


def _half_hash(access_token: str, algorithm: str) -> str:
    """The left half of the hash that goes with the signature, base64url (Core 1.0 section 3.1.3.6)."""
    name = {"256": "sha256", "384": "sha384"}.get(algorithm[-3:], "sha512")
    digest = hashlib.new(name, access_token.encode("ascii", "replace")).digest()
    return base64.urlsafe_b64encode(digest[: len(digest) // 2]).rstrip(b"=").decode()
