"""The key agents are signed by: Ed25519. Every VM knows its public half, and runs nothing that is signed by another."""

import base64
import hmac
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import SecretBytes

from agent.wire import signed_text

_PURPOSE = b"kedge: agents are signed by this key"


class SigningKeyRefused(Exception):
    """The file of `agents.signing_key` holds no usable key. What now: a person puts it right; nothing is published."""


class AgentSigner:
    """Signs what is published. The key is that of the file, else one that follows from the server's own key: the same
    on every server of the installation, and after a restart."""

    def __init__(self, server_key: SecretBytes, file: Path | None = None) -> None:
        self._server_key = server_key
        self._file = file

    def sign(self, version: str, platform: str, sha256: str) -> str:
        """Base64. Raises `SigningKeyRefused`."""
        return base64.b64encode(self._key().sign(signed_text(version, platform, sha256))).decode()

    def public_key(self) -> str:
        """Raw, base64. Raises `SigningKeyRefused`."""
        raw = self._key().public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        return base64.b64encode(raw).decode()

    def _key(self) -> Ed25519PrivateKey:
        if self._file is None:
            return Ed25519PrivateKey.from_private_bytes(
                hmac.digest(self._server_key.get_secret_value(), _PURPOSE, "sha256")
            )
        try:
            found = serialization.load_pem_private_key(self._file.read_bytes(), password=None)
        except (OSError, ValueError, TypeError) as error:
            raise SigningKeyRefused(f"agents.signing_key {self._file} cannot be read: {error}") from error
        if not isinstance(found, Ed25519PrivateKey):
            raise SigningKeyRefused(
                f"agents.signing_key {self._file} is not an Ed25519 key: `openssl genpkey -algorithm ed25519`"
            )
        return found
