"""Where passwords of users are written to: what every such place has in common."""

from dataclasses import dataclass
from typing import Protocol

from pydantic import SecretStr


@dataclass(frozen=True, slots=True)
class UserPassword:
    """One password that Kafka has. `number`: no other password of the cluster ever has it."""

    cluster: str
    user: str
    number: int
    password: SecretStr


class NotWritten(Exception):
    """A sink did not take a password. `reason` is a CamelCase word; the message says where, why and what next, has no
    secret in it, and is the same for the same fault. What now: put it right; it is tried again.

    `of_sink`: another password would meet the same, and after the same wait."""

    def __init__(self, reason: str, message: str, *, of_sink: bool = False) -> None:
        super().__init__(message)
        self.reason, self.of_sink = reason, of_sink


class PasswordSink(Protocol):
    """One place. Safe to call from one thread."""

    def put(self, one: UserPassword) -> None:
        """Writes it in place of the one before. The same one again changes nothing. Raises NotWritten."""
