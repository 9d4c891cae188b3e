"""Who has the turn to write the audit to its topic, who waits for it, and how a relay says it does: in the name of its
session (`application_name`), which every role of PostgreSQL reads and which needs no right to a table.

Any session may call itself what it likes. What is read here is told to people and decides nothing.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from sqlalchemy import Connection, Engine, text

from events.engine import reading

KEY: Final = 5241960019
"""The advisory lock that is the turn: any number, the same for all processes of an installation. That of entries is
another (`store`).
"""

WAITS: Final = "kedge-relay waits"
"""What a relay calls the session by which it waits. No word of one at work: that has a number or a dash there."""

_RELAYS = text("""
SELECT usename, application_name, held.pid IS NOT NULL AS holds,
       coalesce(has_table_privilege(usesysid, to_regclass('event'), 'SELECT'), false) AS more
  FROM pg_stat_activity
  LEFT JOIN (SELECT DISTINCT pid FROM pg_locks
              WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND classid = :high AND objid = :low
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS held USING (pid)
 WHERE datname = current_database() AND (held.pid IS NOT NULL OR application_name = :waits)
 ORDER BY pid
""").bindparams(high=KEY >> 32, low=KEY & 0xFFFFFFFF, waits=WAITS)
"""pg_locks(1) has the halves of a key of 64 bits apart. Foreign sessions could share the lock, so there may be
several."""

_LONGEST: Final = 63
"""Signs that PostgreSQL keeps of a session's name, and of them only ASCII."""
_WORD = re.compile(r"kedge-relay (-|\d{1,18})(?: (.*))?", re.ASCII | re.DOTALL)


@dataclass(frozen=True, slots=True)
class RelayWord:
    """How a relay does: the position of the last entry the topic has, None before it asked, and what stands in the way,
    "" where nothing does.
    """

    position: int | None
    problem: str = ""

    @property
    def spelled(self) -> str:
        """As the name of a session."""
        position = "-" if self.position is None else str(self.position)
        name = f"kedge-relay {position} {self.problem}".strip()
        return "".join(sign if sign.isascii() and sign.isprintable() else "?" for sign in name)[:_LONGEST]

    @classmethod
    def read(cls, name: str) -> Self | None:
        """What a session is called, where that is a word of a relay."""
        found = _WORD.fullmatch(name)
        if found is None:
            return None
        return cls(None if found[1] == "-" else int(found[1]), found[2] or "")


@dataclass(frozen=True, slots=True)
class Holder:
    """Who has the turn. `may_more`: its role reads events, so it is no role of a relay. `word` is None of a server."""

    role: str
    may_more: bool
    word: RelayWord | None

    @property
    def is_relay(self) -> bool:
        return self.word is not None and not self.may_more


@dataclass(frozen=True, slots=True)
class Relays:
    """Who has the turn, None where nobody has; and by role how many sessions say that they are relays which wait for
    it. Roles that read events are left out: they are no role of a relay.
    """

    holder: Holder | None = None
    waiting: Mapping[str, int] = field(default_factory=dict)


def relays_of(engine: Engine) -> Relays:
    """As it is now, for whatever role asks. Raises StoreUnavailable."""
    with reading(engine) as connection:
        return relays_by(connection)


def relays_by(connection: Connection) -> Relays:
    """The same by a connection that is there. Raises what the driver does."""
    rows = connection.execute(_RELAYS).all()
    holders = [Holder(row.usename, row.more, _word_of(row.application_name)) for row in rows if row.holds]
    waiting = Counter(row.usename for row in rows if not row.holds and not row.more)
    return Relays(holders[0] if holders else None, waiting)


def _word_of(name: str) -> RelayWord | None:
    """What the name of a session with the turn says: one that waited may have it for this very moment."""
    return RelayWord(None) if name == WAITS else RelayWord.read(name)
