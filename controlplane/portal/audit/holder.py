"""Who has the turn to write the audit to its topic, and how a relay says it does: in the name of its session
(`application_name`), which every role of PostgreSQL reads and which needs no right to a table.
"""

import re
from dataclasses import dataclass
from typing import Final, Self

from sqlalchemy import Engine, text

from events.engine import reading

KEY: Final = 5241960019
"""The advisory lock that is the turn: any number, the same for all processes of an installation. That of entries is
another (`store`).
"""

_HOLDER = text("""
SELECT usename, application_name, coalesce(has_table_privilege(usesysid, to_regclass('event'), 'SELECT'), false) AS more
  FROM pg_locks JOIN pg_stat_activity USING (pid)
 WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND classid = :high AND objid = :low
   AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
""").bindparams(high=KEY >> 32, low=KEY & 0xFFFFFFFF)
"""pg_locks(1) has the halves of a key of 64 bits apart."""

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


def holder_of(engine: Engine) -> Holder | None:
    """Who has the turn now, for whatever role asks; None where nobody has it. Raises StoreUnavailable."""
    with reading(engine) as connection:
        row = connection.execute(_HOLDER).one_or_none()
    return None if row is None else Holder(row.usename, row.more, RelayWord.read(row.application_name))
