"""A provider of OpenID Connect without a network: its metadata, keys and tokens, and each of them wrong on demand."""

import base64
import hashlib
import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey

ISSUER = "https://id.example.com"
CLIENT, SECRET = "kedge", "the client secret"


@dataclass
class FakeOidcProvider:
    """`claims` replaces or, with None, removes what an ID token says; `header` does so with its header."""

    now: datetime
    claims: dict[str, Any] = field(default_factory=dict)
    userinfo: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    unsigned: bool = False
    signs_with_secret: bool = False
    shows_keys: bool = True
    away: bool = False
    calls: list[str] = field(default_factory=list)
    given: int = 0

    def __post_init__(self) -> None:
        self.key = ECKey.generate_key("P-256", {"kid": "one", "use": "sig"})
        self.signing_key = self.key
        self.codes: dict[str, dict[str, str]] = {}
        self.transport = httpx.MockTransport(self._answer)

    def rotate(self) -> None:
        """Another key signs from now on, and is shown."""
        self.key = self.signing_key = ECKey.generate_key("P-256", {"kid": "two", "use": "sig"})

    def authorize(self, url: str) -> dict[str, str]:
        """Somebody signs in there: what the browser is sent back with."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        self.given += 1
        code = f"code-{self.given}"
        self.codes[code] = asked
        return {"code": code, "state": asked["state"]}

    def _answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        self.calls.append(path)
        if self.away:
            raise httpx.ConnectError("refused")
        if path == "/.well-known/openid-configuration":
            return httpx.Response(200, json={**self._metadata(), **self.metadata})
        if path == "/jwks":
            return httpx.Response(200, json={"keys": [self.key.as_dict(private=False)] if self.shows_keys else []})
        if path == "/token":
            return self._token(request)
        assert path == "/me"
        return httpx.Response(200, json=self.userinfo)

    def _token(self, request: httpx.Request) -> httpx.Response:
        form = {name: values[0] for name, values in parse_qs(request.content.decode()).items()}
        login = base64.b64encode(f"{CLIENT}:{SECRET.replace(' ', '%20')}".encode()).decode()
        if request.headers.get("authorization") != f"Basic {login}":
            return httpx.Response(401, json={"error": "invalid_client"})
        asked = self.codes.pop(form["code"], None)
        if asked is None or asked["redirect_uri"] != form["redirect_uri"]:
            return httpx.Response(400, json={"error": "invalid_grant"})
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != asked["code_challenge"]:
            return httpx.Response(400, json={"error": "invalid_grant"})
        return httpx.Response(200, json={"access_token": "access", "id_token": self._id_token(asked["nonce"])})

    def _id_token(self, nonce: str) -> str:
        at = int(self.now.timestamp())
        told = {
            "iss": ISSUER,
            "aud": CLIENT,
            "sub": "sub-1",
            "nonce": nonce,
            "iat": at,
            "exp": at + 300,
            "email": "Ada@Example.com",
            "email_verified": True,
            "groups": ["platform", "everybody"],
            **self.claims,
        }
        told = {name: value for name, value in told.items() if value is not None}
        if self.unsigned:
            parts = (json.dumps(part).encode() for part in ({"alg": "none"}, told))
            return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts) + "."
        if self.signs_with_secret:
            return jwt.encode({"alg": "HS256"}, told, OctKey.import_key(SECRET.ljust(32)))
        return jwt.encode({"alg": "ES256", "kid": self.signing_key.kid}, told, self.signing_key)

    def logout_token(self, **changed: Any) -> str:
        """What it sends when somebody is signed out there; None takes a claim away."""
        at = int(self.now.timestamp())
        self.given += 1
        told = {
            "iss": ISSUER,
            "aud": CLIENT,
            "sub": "sub-1",
            "iat": at,
            "exp": at + 120,
            "jti": f"logout-{self.given}",
            "events": {"http://schemas.openid.net/event/backchannel-logout": {}},
            **changed,
        }
        told = {name: value for name, value in told.items() if value is not None}
        header = {"alg": "ES256", "kid": self.signing_key.kid, "typ": "logout+jwt"}
        return jwt.encode(header, told, self.signing_key)

    def _metadata(self) -> dict[str, Any]:
        return {
            "issuer": ISSUER,
            "authorization_endpoint": f"{ISSUER}/auth",
            "token_endpoint": f"{ISSUER}/token",
            "jwks_uri": f"{ISSUER}/jwks",
            "userinfo_endpoint": f"{ISSUER}/me",
            "end_session_endpoint": f"{ISSUER}/out",
            "id_token_signing_alg_values_supported": ["ES256", "RS256", "HS256", "none"],
        }
