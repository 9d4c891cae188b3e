"""Terraform's states and CAs' keys as rows are sealed: a dump of the database, or a backup, tells nobody what is in
them.

AES-256-GCM (NIST SP 800-38D), a random nonce of 96 bits for each version, under a key derived from the home's server
key (HKDF, RFC 5869). All homes that share a database have the same server key; without it no state is read.
"""

import os
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_MARK: Final = b"kedge-sealed-1\n"
"""What a sealed body begins with. A state is JSON: it never does."""
_NONCE_BYTES: Final = 12
_PURPOSE: Final = b"kedge terraform states 1"
_KEYS_PURPOSE: Final = b"kedge cluster authorities 1"


class WrongKey(Exception):
    """The body was sealed under another key, for another cluster, or was changed since."""


class StateSeal:
    """Thread-safe. `server_key` is that of the home."""

    def __init__(self, server_key: bytes) -> None:
        key = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE).derive(server_key)
        self._cipher = AESGCM(key)

    def seal(self, body: bytes, *, cluster_uid: str) -> bytes:
        """What may be written down. It opens for the same cluster alone."""
        nonce = os.urandom(_NONCE_BYTES)
        return _MARK + nonce + self._cipher.encrypt(nonce, body, cluster_uid.encode())

    def open(self, sealed: bytes, *, cluster_uid: str) -> bytes:
        """The body. What was written before there was a seal is given back as it is. Raises WrongKey."""
        if not sealed.startswith(_MARK):
            return sealed
        rest = sealed[len(_MARK) :]
        try:
            return self._cipher.decrypt(rest[:_NONCE_BYTES], rest[_NONCE_BYTES:], cluster_uid.encode())
        except (InvalidTag, ValueError) as error:
            raise WrongKey from error


class KeySeal:
    """Private keys of CAs as rows, sealed alike, under a key of their own. Thread-safe. Nothing unsealed is opened."""

    def __init__(self, server_key: bytes) -> None:
        key = HKDF(algorithm=SHA256(), length=32, salt=None, info=_KEYS_PURPOSE).derive(server_key)
        self._cipher = AESGCM(key)

    def seal(self, body: bytes, *, subject: str) -> bytes:
        """What may be written down. It opens for the same subject alone."""
        nonce = os.urandom(_NONCE_BYTES)
        return _MARK + nonce + self._cipher.encrypt(nonce, body, subject.encode())

    def open(self, sealed: bytes, *, subject: str) -> bytes:
        """The body. Raises WrongKey."""
        rest = sealed.removeprefix(_MARK)
        try:
            return self._cipher.decrypt(rest[:_NONCE_BYTES], rest[_NONCE_BYTES:], subject.encode())
        except (InvalidTag, ValueError) as error:
            raise WrongKey from error
