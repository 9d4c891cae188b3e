"""What can go wrong with events. Each error answers "what now?": read again, retry later, upgrade, or call a person."""


class EventsError(Exception):
    """Base of all errors of this package."""


class StreamConflict(EventsError):
    """Somebody else wrote to the stream first. What now: read the stream again, decide again, append again."""

    def __init__(self, stream: str, expected: int, actual: int) -> None:
        super().__init__(
            f"stream {stream!r} is at version {actual}, the append expected {expected}: another writer was first. "
            "Read the stream again and decide on what it says now."
        )
        self.stream = stream
        self.expected = expected
        self.actual = actual


class EventIdTaken(EventsError):
    """An event id of the batch is recorded already, but not with this batch. What now: nothing, this is a bug."""

    def __init__(self, stream: str, event_ids: list[str]) -> None:
        super().__init__(
            f"append to {stream!r}: event ids {', '.join(event_ids)} are recorded already, in another batch or stream. "
            "An id names one event for ever; derive the ids from what makes the event unique."
        )
        self.stream = stream
        self.event_ids = event_ids


class StoreUnavailable(EventsError):
    """The database did not answer, is locked, or the reply of a commit was lost. What now: retry later.

    The write may or may not have happened. The same append again, with the same ids, is safe and tells which.
    """


class QueryTooLong(StoreUnavailable):
    """The database was told to give up: the answer took too long. What now: ask for less, or again when it is quiet."""


class PositionGap(EventsError):
    """The log breaks its own rule `max(position) = count(*)`. What now: stop, a person restores a backup."""

    def __init__(self, highest: int, count: int, counter: int) -> None:
        super().__init__(
            f"the event log is damaged: highest position {highest}, number of events {count}, counter {counter}; "
            "all three must be equal. Events were deleted or written by hand. "
            "Nothing is changed until a backup is restored (`kedge backup`, docs: operating it)."
        )
        self.highest = highest
        self.count = count
        self.counter = counter


class UnencodableFact(EventsError):
    """A fact holds something an event cannot carry. What now: fix the code that made it."""


class UnreadableEvent(EventsError):
    """Base: a recorded event that this release cannot turn into a fact. What now: freeze what depends on it."""


class UnknownEventType(UnreadableEvent):
    """The type, or the schema version of it, is not known here: a newer release wrote it, or code was removed."""


class UpcastError(UnreadableEvent):
    """The chain of upcasters from the recorded schema version to the current one is broken or failed."""


class MalformedEvent(UnreadableEvent):
    """The recorded data does not fit the class of its type and schema version."""
