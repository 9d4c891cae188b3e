"""When is an append a repetition? One answer for every store."""

from collections.abc import Sequence

from events.envelope import NewEvent, Recorded
from events.errors import EventIdTaken


def same_batch(stream: str, events: Sequence[NewEvent], found: Sequence[Recorded]) -> list[Recorded] | None:
    """The batch as it was recorded the first time, or None when none of its event ids is known.

    `found` are the recorded events, of any stream, that carry one of the ids. Raises EventIdTaken when only a part of
    the batch is known, or an id belongs to another stream: answering either way would hide a lost event.
    """
    if not found:
        return None
    by_id = {one.event_id: one for one in found if one.stream == stream}
    if all(event.event_id in by_id for event in events):
        return [by_id[event.event_id] for event in events]
    raise EventIdTaken(stream, [one.event_id for one in found])


def refuse_repeated_ids(stream: str, events: Sequence[NewEvent]) -> None:
    """Raises EventIdTaken when one batch carries an event id twice."""
    ids = [event.event_id for event in events]
    twice = sorted({event_id for event_id in ids if ids.count(event_id) > 1}) if len(set(ids)) < len(ids) else []
    if twice:
        raise EventIdTaken(stream, twice)
