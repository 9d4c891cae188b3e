"""Credentials of users who sign in with a password. The password stays here: Kafka is given what is derived of it."""

import hashlib
import secrets
from dataclasses import dataclass, field
from typing import Final

from planner.rights.passwords import FEWEST

_SALT_BYTES: Final = 24


@dataclass(frozen=True, slots=True)
class ScramCredential:
    """What Kafka keeps of a password (SCRAM-SHA-512). Who has it can try passwords: it is shown to nobody."""

    iterations: int
    salt: bytes = field(repr=False)
    salted_password: bytes = field(repr=False)


def scram_credential(password: str, *, iterations: int = FEWEST, salt: bytes | None = None) -> ScramCredential:
    """`SaltedPassword` of RFC 5802 by SHA-512, as KIP-554 sends it: PBKDF2 over the password's UTF-8 (Kafka's
    `ScramFormatter` normalises nothing). A new salt each time, unless one is given. Takes some milliseconds."""
    own = secrets.token_bytes(_SALT_BYTES) if salt is None else salt
    return ScramCredential(iterations, own, hashlib.pbkdf2_hmac("sha512", password.encode(), own, iterations))
