"""What a person asks of a stream of the fleet: decided on what is recorded, and recorded once.

Of two who decide at the same time the second one decides anew, on what the first has recorded.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from events.codec import encode
from events.envelope import Origin, Recorded
from events.errors import StreamConflict
from events.store import EventStore

_TRIES = 5


class Versioned(Protocol):
    """What is folded from a stream, and up to which version of it."""

    @property
    def version(self) -> int: ...


V = TypeVar("V", bound=Versioned)
T = TypeVar("T")


def recorded_once(
    store: EventStore,
    stream: str,
    *,
    look: Callable[[], V],
    decide: Callable[[V], tuple[object | None, T]],
    event_id: str,
    origin: Origin,
    known: Callable[[Recorded], T],
    recorded: Callable[[Sequence[Recorded]], object] = lambda events: None,
) -> T:
    """The answer that `decide` gives beside its fact, None for nothing to record.

    `look` is the fold as of now; `known` the answer where the command of `origin` was recorded before (a command
    without an id never was); `recorded` is told what was. Raises what they raise, and StreamConflict after some tries.
    """
    for left in reversed(range(_TRIES)):
        seen = look()
        done = _recorded_as(store, stream, origin.command_id)
        if done is not None:
            return known(done)
        fact, answer = decide(seen)
        if fact is None:
            return answer
        try:
            events = store.append(stream, [encode(fact, event_id)], expected_version=seen.version, origin=origin)
        except StreamConflict:
            if not left:
                raise
            continue
        recorded(events)
        return answer
    raise AssertionError("unreachable")


def _recorded_as(store: EventStore, stream: str, command_id: str | None) -> Recorded | None:
    if command_id is None:
        return None
    return next((e for e in store.read_stream(stream) if e.command_id == command_id), None)
