"""Credentials of single runs: made when a run takes its state, handed to Terraform by environment, gone with the run.

They are in this process's memory alone, never in a file, a database or a log, and open one state to one run.
"""

import secrets
import threading
from dataclasses import dataclass

from pydantic import SecretStr

from events.secrets import forget, secret
from providers.tf.states import StateKey


@dataclass(frozen=True, slots=True)
class RunPass:
    """User name and password (HTTP basic) of one run, and what they open."""

    user: str
    password: SecretStr
    key: StateKey
    hold_id: str


class RunPasses:
    """The passes of the runs this server carries out. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._issued: dict[str, RunPass] = {}

    def issue(self, key: StateKey, hold_id: str) -> RunPass:
        """A new pass for the run with this hold."""
        fresh = RunPass(f"run-{secrets.token_hex(8)}", secret(secrets.token_urlsafe(32)), key, hold_id)
        with self._lock:
            self._issued[fresh.user] = fresh
        return fresh

    def check(self, user: str, password: str) -> RunPass | None:
        """The pass, None for a user nobody knows or a wrong password. Compares in constant time."""
        with self._lock:
            known = self._issued.get(user)
        right = known.password.get_secret_value() if known is not None else ""
        is_right = secrets.compare_digest(password.encode(), right.encode())
        return known if known is not None and is_right else None

    def revoke(self, issued: RunPass) -> None:
        """It opens nothing any more."""
        with self._lock:
            self._issued.pop(issued.user, None)
        forget(issued.password.get_secret_value())

    def in_hand(self, hold_id: str) -> bool:
        """Whether a run with that hold is under way in this process."""
        with self._lock:
            return any(issued.hold_id == hold_id for issued in self._issued.values())
