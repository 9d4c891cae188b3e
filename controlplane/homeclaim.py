"""Which home a database belongs to. Keys and Terraform's state are files of a home: a second home would lack both.

The first server that starts on a database claims it for its home. Servers of the same home share it; another home is
refused, and may take it over once the lease of whoever led is over by the database's own clock.
"""

from datetime import datetime

from sqlalchemy import Connection, Engine, insert, select, update
from sqlalchemy.exc import IntegrityError

from controlplane.home import HomeIdentity
from controlplane.leadership import lease_ends
from controlplane.tables import HOME
from events.engine import database_time, writing

_THE_ONE = "home"


class HomeRefused(Exception):
    """The database belongs to another home. What now: give up; the message says which, and the two ways on."""


def claim_home(engine: Engine, mine: HomeIdentity, *, take_over: bool = False) -> None:
    """Records this home as the database's own, or finds it there. Raises HomeRefused, StoreUnavailable."""
    try:
        _claim(engine, mine, take_over=take_over)
    except IntegrityError:
        # Two servers claim a new database at once: the other one's row was first, and is judged now.
        _claim(engine, mine, take_over=take_over)


def home_of(engine: Engine) -> HomeIdentity | None:
    """The home on record, None before the first claim. Raises StoreUnavailable."""
    with writing(engine) as transaction:
        return _recorded(transaction)


def _claim(engine: Engine, mine: HomeIdentity, *, take_over: bool) -> None:
    with writing(engine) as transaction:
        theirs = _recorded(transaction)
        if theirs == mine:
            return
        now = database_time(transaction)
        values = {
            "home_id": mine.home_id,
            "installation_id": mine.installation_id,
            "host": mine.host,
            "path": mine.path,
            "claimed_at": now,
        }
        if theirs is None:
            transaction.execute(insert(HOME).values(name=_THE_ONE, **values))
            return
        if theirs.home_id != mine.home_id:
            _refuse_stranger(theirs, mine, take_over=take_over)
        _refuse_while_led(theirs, mine, lease_ends(transaction, now), now)
        transaction.execute(update(HOME).where(HOME.c.name == _THE_ONE).values(**values))


def _recorded(transaction: Connection) -> HomeIdentity | None:
    row = transaction.execute(select(HOME).where(HOME.c.name == _THE_ONE).with_for_update()).one_or_none()
    return None if row is None else HomeIdentity(row.home_id, row.installation_id, row.host, row.path)


def _refuse_stranger(theirs: HomeIdentity, mine: HomeIdentity, *, take_over: bool) -> None:
    if not take_over:
        raise HomeRefused(
            f"this database belongs to the home {theirs.where}; this server's home is {mine.where}. Keys and "
            f"Terraform's state are files of the home, so a second home would act without them. Start the server with "
            f"the home the database knows, or move that home here (all files of it). If it is lost for good, put its "
            "installation-id into this home, stop every server of it and start once with --take-over-home"
        )
    if theirs.installation_id != mine.installation_id:
        raise HomeRefused(
            f"the VMs of this database carry installation {theirs.installation_id}, the home {mine.where} is "
            f"installation {mine.installation_id}: it would take them for a stranger's. Write "
            f"{theirs.installation_id} into {mine.path}/installation-id first"
        )


def _refuse_while_led(theirs: HomeIdentity, mine: HomeIdentity, until: datetime | None, now: datetime) -> None:
    if until is not None:
        left_s = max(1, round((until - now).total_seconds()))
        raise HomeRefused(
            f"a server of the home {theirs.where} holds the lease for {left_s} s more, so the home {mine.where} may "
            "not take its place: stop that server, or wait until its lease is over, and start again"
        )
