"""What can go wrong when talking to a Kafka cluster, sorted by what the caller does next."""

from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Final

from kafka.errors import for_code

from controlplane.runtime.call_errors import ASK_DIFFERENTLY, LOOK_AGAIN, CallFault
from planner.rights.kedge import right_asked_for

AUTHORIZATION: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ClusterAuthorizationFailedError": "cluster",
        "TopicAuthorizationFailedError": "topic",
        "GroupAuthorizationFailedError": "group",
    }
)
"""Errors by which brokers say that the caller has no right to something, and to what."""
ASKED: Final[ContextVar[str]] = ContextVar("kafka_request", default="")
"""The request that this thread sent last, by its name in Kafka's protocol: answers do not say what they answer."""


class KafkaFault(CallFault):
    """A call to a Kafka cluster failed."""


class KafkaUnavailable(KafkaFault):
    """Nobody answered in time, or the answer was "not now". Retry later; a change may or may not have been
    taken."""

    def __init__(self, *, what: str, where: str, why: str, next_step: str = "") -> None:
        super().__init__(
            what=what,
            where=where,
            why=why,
            next_step=next_step or LOOK_AGAIN,
        )


class KafkaRefused(KafkaFault):
    """Kafka understood and said no. Repeating the same request will not help. `words` are the broker's
    own."""

    def __init__(self, *, what: str, where: str, words: str, error: str, next_step: str = "") -> None:
        super().__init__(
            what=what,
            where=where,
            why=f'Kafka said "{words}" ({error})',
            next_step=next_step or ASK_DIFFERENTLY,
        )
        self.words = words
        self.error = error


def fault_of(code: int, words: str | None, *, what: str, where: str) -> KafkaFault:
    """The fault for a non-zero Kafka error code; retriable codes become KafkaUnavailable."""
    kind = for_code(code)
    message = words or kind.description or kind.__name__
    if kind.retriable or code in _NOT_NOW:
        return KafkaUnavailable(what=what, where=where, why=f'Kafka said "{message}" ({kind.__name__})')
    message = with_right(kind.__name__, message)
    next_step = f"{_GIVE}{_MAKES}" if kind.__name__ in AUTHORIZATION else ""
    return KafkaRefused(what=what, where=where, words=message, error=kind.__name__, next_step=next_step)


def refusal_words(code: int, words: str | None) -> str:
    """What a part of an answer was refused for: the broker's words and the error's name, as in `denied (NameError)`."""
    kind = for_code(code).__name__
    return f"{with_right(kind, words or 'no words')} ({kind})"


def with_right(error: str, words: str) -> str:
    """The broker's words, with the right that is missing where they are about one."""
    right = right_asked_for(ASKED.get(), AUTHORIZATION.get(error, ""))
    return f"{words.rstrip('.')}: Kedge lacks the right {right}" if right else words


def require_ok(answer: Any, *, what: str, where: str) -> None:
    """Raise the fault of an answer (or a part of one) that carries an error code."""
    if answer.error_code:
        raise fault_of(answer.error_code, getattr(answer, "error_message", None), what=what, where=where)


_GIVE = "Give it to whoever Kedge is there, by an ACL (kedge acls list CLUSTER). "
_MAKES = "In clusters of its own whose nodes speak TLS it makes its ACLs itself, within a minute."
_NOT_NOW = frozenset({-1, 8, 77})
"""UNKNOWN_SERVER_ERROR, BROKER_NOT_AVAILABLE, STALE_BROKER_EPOCH: kafka-python does not call them
retriable."""
