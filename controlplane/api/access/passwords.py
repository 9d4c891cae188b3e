"""Passwords: Argon2id with the library's defaults (RFC 9106, low-memory profile), and how often one may be guessed."""

import secrets
import threading
from collections import OrderedDict
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv6Network, ip_address

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

SHORTEST = 12
LONGEST = 256
_AT_A_TIME = 2
"""Each check takes 64 MiB: so many at once, the others wait."""
_FREE_TRIES = 5
_LONGEST_WAIT = timedelta(minutes=5)
_REMEMBERED = 10_000


class Passwords:
    """Makes, checks and renews hashes. `hasher` is a cheaper one in tests."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._turn = threading.BoundedSemaphore(_AT_A_TIME)
        self._dummy_hash = ""

    def hashed(self, password: str) -> str:
        """What is stored."""
        with self._turn:
            return self._hasher.hash(password)

    def matches(self, password_hash: str | None, password: str) -> bool:
        """Whether it is the password. None takes as long as a real one: nobody learns which users exist."""
        if password_hash is None:
            self._dummy_hash = self._dummy_hash or self.hashed(secrets.token_urlsafe(16))
        with self._turn:
            try:
                self._hasher.verify(password_hash or self._dummy_hash, password)
            except (VerificationError, InvalidHashError):
                return False
        return password_hash is not None


def made_password() -> str:
    """A random one for people to type: 5 groups of 5, 118 bits."""
    alphabet = "abcdefghijkmnpqrstuvwxyz23456789"  # no l, o, 0, 1
    return "-".join("".join(secrets.choice(alphabet) for _ in range(5)) for _ in range(5))


def refusal_of(password: str, name: str) -> str:
    """Why a password is not taken, "" when it is. Length counts, no rules about characters (NIST SP 800-63B)."""
    if len(password) < SHORTEST:
        return f"it has {len(password)} characters, {SHORTEST} are the least"
    if len(password) > LONGEST:
        return f"it has {len(password)} characters, {LONGEST} are the most"
    if name in password.lower() and len(password) < SHORTEST + len(name):
        return "it is little more than the name"
    return "one character again and again is none" if len(set(password)) < 4 else ""


def neighbourhood(address: str) -> str:
    """Who is counted as one by address: of IPv6 the /64 it is in, as one customer has all 2^64 of them."""
    try:
        known = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(known, IPv4Address):
        return str(known)
    return str(known.ipv4_mapped or IPv6Network((known, 64), strict=False))


class Guesses:
    """Wrong ones by name, in memory: after some in a row each one more doubles the wait, up to 5 minutes."""

    def __init__(self, free_tries: int = _FREE_TRIES) -> None:
        self._free_tries = free_tries
        self._lock = threading.Lock()
        self._failed: OrderedDict[str, tuple[int, datetime]] = OrderedDict()

    def wait_s(self, name: str, now: datetime) -> float:
        """How long that name has to wait before its next try, 0 when it may go on."""
        with self._lock:
            count, last = self._failed.get(name, (0, now))
        if count < self._free_tries:
            return 0.0
        wait = min(_LONGEST_WAIT, timedelta(seconds=2 ** min(10, count - self._free_tries)))
        return max(0.0, (last + wait - now).total_seconds())

    def failed(self, name: str, now: datetime) -> None:
        """One more."""
        with self._lock:
            count, _ = self._failed.pop(name, (0, now))
            self._failed[name] = (count + 1, now)
            while len(self._failed) > _REMEMBERED:
                self._failed.popitem(last=False)

    def forget(self, name: str) -> None:
        """It was right."""
        with self._lock:
            self._failed.pop(name, None)


class Remembered:
    """Words that were noted, the newest of them, in memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[str, None] = OrderedDict()

    def add(self, word: str) -> None:
        """Notes it, as the newest."""
        with self._lock:
            self._known.pop(word, None)
            self._known[word] = None
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)

    def has(self, word: str) -> bool:
        """Whether it is known still."""
        with self._lock:
            return word in self._known

    def drop(self, beginning: str) -> None:
        """Forgets all that begin so."""
        with self._lock:
            for word in [word for word in self._known if word.startswith(beginning)]:
                del self._known[word]
