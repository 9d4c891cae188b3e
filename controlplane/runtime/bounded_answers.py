"""The body of an answer of somebody else's server, as long as it is not too long, and does not take too long."""

import time
from collections.abc import Iterable


class AnswerTooLong(Exception):
    """It writes and writes."""


def whole_answer(parts: Iterable[bytes], *, most_bytes: int, within_s: float) -> bytes:
    """All parts of a body, in one. Raises AnswerTooLong once it is larger, or its next part comes later than that: a
    client's own time-out is for each part alone."""
    until_s, found, size = time.monotonic() + within_s, [], 0
    for part in parts:
        found.append(part)
        size += len(part)
        if size > most_bytes or time.monotonic() > until_s:
            raise AnswerTooLong
    return b"".join(found)
