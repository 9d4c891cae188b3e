"""The event store in memory: the plainest statement of its contract."""

import json
import threading
from collections.abc import Iterator, Sequence

from events.clock import Clock, utc_now
from events.envelope import NewEvent, Origin, Recorded
from events.errors import StreamConflict
from events.idempotence import refuse_repeated_ids, same_batch


class MemoryEventStore:
    """Thread-safe; loses everything with the process. `clock` stamps `recorded_at`."""

    def __init__(self, clock: Clock = utc_now) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._log: list[Recorded] = []
        self._streams: dict[str, list[Recorded]] = {}
        self._by_event_id: dict[str, Recorded] = {}
        self._by_command: dict[tuple[str, str], list[Recorded]] = {}

    def append(
        self, stream: str, events: Sequence[NewEvent], *, expected_version: int, origin: Origin
    ) -> list[Recorded]:
        """Records all events or none. Raises StreamConflict, EventIdTaken."""
        if not events:
            return []
        refuse_repeated_ids(stream, events)
        with self._lock:
            earlier = self._recorded_before(stream, events, origin)
            if earlier is not None:
                return earlier
            version = len(self._streams.get(stream, ()))
            if version != expected_version:
                raise StreamConflict(stream, expected_version, version)
            recorded = self._seal(stream, version, events, origin)
            self._log.extend(recorded)
            self._streams.setdefault(stream, []).extend(recorded)
            self._by_event_id.update((one.event_id, one) for one in recorded)
            if origin.command_id is not None:
                self._by_command[stream, origin.command_id] = recorded
            return list(recorded)

    def read_stream(self, stream: str, after_version: int = 0) -> list[Recorded]:
        """Events of one stream in order, after the given version."""
        with self._lock:
            return self._streams.get(stream, [])[max(0, after_version) :]

    def read_all(self, after_position: int = 0, limit: int = 1000) -> list[Recorded]:
        """Events of all streams in global order, after the given position, at most `limit`."""
        after = max(0, after_position)
        with self._lock:
            return self._log[after : after + limit]

    def iterate_all(self, after_position: int = 0) -> Iterator[Recorded]:
        """All events in global order up to the head at the time of the call."""
        with self._lock:
            page = self._log[max(0, after_position) :]
        return iter(page)

    def head(self) -> int:
        """Highest global position, 0 when empty."""
        with self._lock:
            return len(self._log)

    def _recorded_before(self, stream: str, events: Sequence[NewEvent], origin: Origin) -> list[Recorded] | None:
        if origin.command_id is not None and (stream, origin.command_id) in self._by_command:
            return list(self._by_command[stream, origin.command_id])
        found = [self._by_event_id[event.event_id] for event in events if event.event_id in self._by_event_id]
        return same_batch(stream, events, found)

    def _seal(self, stream: str, version: int, events: Sequence[NewEvent], origin: Origin) -> list[Recorded]:
        now = self._clock()
        position = len(self._log)
        return [
            Recorded(
                position=position + number,
                stream=stream,
                version=version + number,
                event_id=event.event_id,
                type=event.type,
                schema=event.schema,
                # Through JSON and back, as in a database: what cannot be stored fails here too, and nothing is shared.
                data=json.loads(json.dumps(dict(event.data), allow_nan=False)),
                actor=origin.actor,
                cause=origin.cause,
                command_id=origin.command_id,
                epoch=origin.epoch,
                recorded_at=now,
            )
            for number, event in enumerate(events, start=1)
        ]
