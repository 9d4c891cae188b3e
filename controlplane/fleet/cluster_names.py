"""Who holds a name: names are unique among the living, and two people may declare the same new one at once.

Each name has a stream of its own. Its last `name.taken` names the holder; the name is free when there is none, or when
the holder's own stream ends in a deletion. Taking it is an append with the version that was read, so of two first
declares exactly one mints the uid; the other reads again and finds the holder. A crash between taking a name and
declaring the cluster leaves a holder without a history: the next declare goes on with that very uid.
"""

from dataclasses import dataclass

from events.codec import decode, encode
from events.envelope import Origin, Recorded
from events.facts import NameTaken
from events.ids import ClusterUid, derived_id
from events.store import EventStore


@dataclass(frozen=True, slots=True)
class Holding:
    """A name's stream as it was read: the uid that took it last, if any, and the stream's version."""

    name: str
    uid: ClusterUid | None
    version: int


def holding(store: EventStore, name: str) -> Holding:
    """Reads who took the name last. Raises StoreUnavailable."""
    history = store.read_stream(name_stream(name))
    return Holding(name, _uid(history[-1]) if history else None, len(history))


def take_name(store: EventStore, held: Holding, uid: ClusterUid, origin: Origin) -> ClusterUid:
    """Gives the name to `uid`; returns the holder. Raises StreamConflict when somebody was faster: read again.

    The same command again is answered with the holder it was answered with the first time.
    """
    stream = name_stream(held.name)
    event = encode(NameTaken(held.name, uid), derived_id("name", stream, str(held.version), uid))
    return _uid(store.append(stream, [event], expected_version=held.version, origin=origin)[0])


def name_stream(name: str) -> str:
    return f"name-{name}"


def _uid(recorded: Recorded) -> ClusterUid:
    fact = decode(recorded)
    if not isinstance(fact, NameTaken):
        raise TypeError(f"{recorded.stream} holds a {recorded.type}: it is not a stream of a name")
    return ClusterUid(fact.uid)
