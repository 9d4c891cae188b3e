"""An OpenID provider of programs (npm's `oidc-provider`), over https with a CA of its own, and tokens nobody should
take. Ended by its process id."""

import base64
import hashlib
import hmac
import ipaddress
import json
import shutil
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import httpx
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from joserfc import jwt
from joserfc.jwk import RSAKey

from tests.oidc_server import CACHE, free_port
from tests.tools.oidc.install import HERE, folder

AUDIENCE = "kafka-of-the-tests"
LOOPBACK = "127.0.0.1"


@dataclass
class TokenProvider:
    """It may be started again, with other keys, at the same address."""

    clients: Mapping[str, str]
    """Secrets by id: the `sub` of a client's tokens is its id."""
    port: int = field(default_factory=free_port)
    ttl_s: int = 600
    key: RSAKey = field(default_factory=lambda: signing_key("first"))

    @property
    def issuer(self) -> str:
        return f"https://{LOOPBACK}:{self.port}"

    @property
    def token_endpoint(self) -> str:
        return f"{self.issuer}/token"

    @cached_property
    def _tls(self) -> tuple[str, str, str]:
        return _certificates()

    @property
    def ca(self) -> str:
        return self._tls[0]

    def listener(self, name: str, port: int, **more: object) -> dict[str, object]:
        """A listener of a spec that takes its tokens."""
        asked = {"type": "oauth", "issuer": self.issuer, "jwks": f"{self.issuer}/jwks", "audience": AUDIENCE}
        return {"name": name, "port": port, "security": "tls", "authentication": {**asked, "ca": self.ca, **more}}

    @contextmanager
    def running(self) -> Iterator[None]:
        """While it listens."""
        node, there = shutil.which("node"), folder(CACHE)
        assert node is not None, "install Node.js 20: the tests' OpenID provider runs on it"
        assert (there / "node_modules").is_dir(), "`make setup` installs the tests' OpenID provider"
        _, key, certificate = self._tls
        told = {
            "port": self.port,
            "clients": self.clients,
            "audience": AUDIENCE,
            "ttl_s": self.ttl_s,
            "keys": [self.key.as_dict(private=True)],
            "tls": {"key": key, "cert": certificate},
        }
        script = (HERE / "tokens.mjs").read_text()
        command = [node, "--input-type=module", "--eval", script, "--", json.dumps(told)]
        process = subprocess.Popen(command, cwd=there, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("listening"), "the provider does not start"
            yield
        finally:
            process.terminate()
            process.wait(timeout=10)

    def token(self, client: str) -> str:
        """As a program gets it."""
        trust = ssl.create_default_context(cadata=self.ca)
        form = {"grant_type": "client_credentials", "scope": "kafka"}
        answer = httpx.post(self.token_endpoint, data=form, auth=(client, self.clients[client]), verify=trust)
        answer.raise_for_status()
        return str(answer.json()["access_token"])

    def claims(self, sub: str, *, ends_in_s: int = 300, **other: object) -> dict[str, object]:
        now = int(time.time())
        return {"iss": self.issuer, "aud": AUDIENCE, "sub": sub, "iat": now, "exp": now + ends_in_s, **other}

    def signed(self, sub: str, *, key: RSAKey | None = None, **other: Any) -> str:
        """A token of any content, by its own key or another."""
        own = key or self.key
        return jwt.encode({"alg": "RS256", "kid": own.kid}, self.claims(sub, **other), own)

    def unsigned(self, sub: str) -> str:
        """`alg: none` (RFC 7515, appendix A.5)."""
        return f"{_part({'alg': 'none'})}.{_part(self.claims(sub))}."

    def signed_by_its_public_key(self, sub: str) -> str:
        """HS256, with the text of the public key as the secret."""
        text = f"{_part({'alg': 'HS256', 'kid': self.key.kid})}.{_part(self.claims(sub))}"
        mac = hmac.new(self.key.as_pem(private=False), text.encode(), hashlib.sha256).digest()
        return f"{text}.{_base64(mac)}"


def signing_key(kid: str) -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig", "alg": "RS256"})


def _part(value: Mapping[str, object]) -> str:
    return _base64(json.dumps(value).encode())


def _base64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def _certificates() -> tuple[str, str, str]:
    """A CA, and a key and certificate of it for loopback; PEM."""
    ca_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    ca_name, name = (x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, n)]) for n in ("login's CA", "login"))
    now = datetime.now(UTC)
    usual = (
        x509.CertificateBuilder().issuer_name(ca_name).not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
    )  # fmt: skip
    usage = x509.KeyUsage(*(n in (5, 6) for n in range(9)))
    ca = (
        usual.subject_name(ca_name).public_key(ca_key.public_key()).serial_number(x509.random_serial_number())
        .add_extension(x509.BasicConstraints(True, None), True).add_extension(usage, True)
    )  # fmt: skip
    leaf = (
        usual.subject_name(name).public_key(key.public_key()).serial_number(x509.random_serial_number())
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(LOOPBACK))]), False)
    )  # fmt: skip
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    signed = [one.sign(ca_key, hashes.SHA256()).public_bytes(pem).decode() for one in (ca, leaf)]
    return signed[0], private.decode(), signed[1]
