"""One line of the audit: who, by what proof, from where, did what to what, and what came of it. Never a secret."""

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum

FIRST = "0" * 64
"""What stands for the entry before the first."""


class Outcome(StrEnum):
    """What came of a call."""

    DONE = "done"
    DENIED = "denied"
    """They may not, or nobody knows them."""
    FAILED = "failed"
    """They may, and it was refused or went wrong for another reason."""


@dataclass(frozen=True, slots=True)
class Entry:
    """`via` is the proof: `session`, `token:ID`, `home token`, `git:BINDING`, `agent` or "". `call` has no query.

    `event_position`: the events of the call are at or before it; None where it recorded none.
    """

    at: datetime
    who: str
    via: str
    client: str
    call: str
    verb: str
    object: str
    outcome: Outcome
    status: int
    event_position: int | None = None
    note: str = ""
    request: str = ""
    """Its id; "" of what came by no request, and of entries of releases before ids."""


@dataclass(frozen=True, slots=True)
class Kept:
    """An entry as it is stored. `sha256` covers it and `previous`, so that a changed or missing row shows."""

    position: int
    entry: Entry
    previous: str
    sha256: str


def kept(entry: Entry, position: int, previous: str) -> Kept:
    """The entry in its place. Times count in microseconds UTC, as databases keep them. An entry without the id of a
    request has the hash that releases before ids gave it.
    """
    document = asdict(entry) | {"at": entry.at.astimezone(UTC).isoformat(timespec="microseconds"), "position": position}
    if not entry.request:
        del document["request"]
    text = json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return Kept(position, entry, previous, hashlib.sha256(f"{previous}\n{text}".encode()).hexdigest())
