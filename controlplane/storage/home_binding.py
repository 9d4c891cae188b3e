"""Which homes a database belongs to. Keys are files of a home, and Terraform's states may be: another home lacks them.

The first server that starts on a database claims it for its home, and servers of the same home share it. Another home
is refused, with one exception: on PostgreSQL, with Terraform's states in the database, homes that agree on what is
still a file of theirs (installation, server key, the address VMs are told) may share it. A home that is lost is taken
over once the lease of whoever led is over by the database's own clock.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from controlplane.storage.home import HomeIdentity
from controlplane.storage.lease import lease_ends
from controlplane.storage.tables import HOME
from events.engine import database_time, reading, writing

LOCAL, HTTP = "local", "http"
"""Where Terraform's states are: the words of the setting `terraform.state`."""

_FIRST = "home"
_ALL = select(HOME).order_by(HOME.c.claimed_at, HOME.c.name)


class HomeRefused(Exception):
    """The database belongs to another home. What now: give up; the message says which, and the ways on."""


@dataclass(frozen=True, slots=True)
class HomeRecord:
    """One home on record. `state` counts in the first one's row; `keys_print` and `agent_url` may not be known yet."""

    name: str
    home: HomeIdentity
    state: str
    keys_print: str
    agent_url: str
    claimed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Claimed:
    """How the claim ended. `state` is where the states are on record, `joined` that this home is new beside others."""

    state: str
    joined: bool


def claim_home(
    engine: Engine, mine: HomeIdentity, *, take_over: bool = False, state: str = LOCAL, keys_print: str = ""
) -> Claimed:
    """Records this home as one of the database's own, or finds it there. Raises HomeRefused, StoreUnavailable.

    `state` is where this server is set to keep Terraform's states; it is recorded by the first claim, and changed by
    `record_state` alone. `keys_print` stands for the keys of the home.
    """
    mine_now = HomeRecord("", mine, state, keys_print, "")
    try:
        return _claim(engine, mine_now, take_over=take_over)
    except IntegrityError:
        # Two servers claim a new database at once: the other one's row was first, and is judged now.
        return _claim(engine, mine_now, take_over=take_over)


def homes_of(engine: Engine) -> tuple[HomeRecord, ...]:
    """The homes on record, the first one first. Raises StoreUnavailable."""
    with reading(engine) as connection:
        return _members(connection.execute(_ALL))


def leave(engine: Engine, home_id: str) -> None:
    """Takes back a claim beside others; the first home's stays. Raises StoreUnavailable."""
    with writing(engine) as transaction:
        transaction.execute(delete(HOME).where(HOME.c.name == home_id, HOME.c.name != _FIRST))


def record_state(engine: Engine, state: str) -> None:
    """Says where Terraform's states are from now on. Raises StoreUnavailable."""
    with writing(engine) as transaction:
        transaction.execute(update(HOME).where(HOME.c.name == _FIRST).values(terraform_state=state))


def agree_on_agent_url(engine: Engine, home_id: str, url: str) -> None:
    """Records what this home's servers tell VMs. Raises HomeRefused when another home's tell another address."""
    with writing(engine) as transaction:
        for other in _recorded(transaction):
            if other.home.home_id != home_id and other.agent_url not in ("", url):
                raise HomeRefused(
                    f"VMs are told {url} by this home and {other.agent_url} by the home {other.home.where}. A VM knows "
                    "one address for ever, at which whoever leads answers: start the servers of all homes with the "
                    "same host and port, and give them the same file agent-url"
                )
        transaction.execute(update(HOME).where(HOME.c.home_id == home_id).values(agent_url=url))


def _claim(engine: Engine, mine: HomeRecord, *, take_over: bool) -> Claimed:
    with writing(engine) as transaction:
        homes = _recorded(transaction)
        now = database_time(transaction)
        if not homes:
            transaction.execute(insert(HOME).values(name=_FIRST, terraform_state=mine.state, **_columns(mine, now)))
            return Claimed(mine.state, joined=False)
        first, others = homes[0], [m for m in homes if m.home.home_id != mine.home.home_id]
        ours = next((m for m in homes if m.home.home_id == mine.home.home_id), None)
        if ours is not None:
            _refuse_other_keys_of_ours(ours, mine, others, until=lease_ends(transaction, now), now=now)
            if ours.home != mine.home:
                _refuse_while_led(ours.home, mine.home, lease_ends(transaction, now), now)
            if (ours.home, ours.keys_print) != (mine.home, mine.keys_print):
                transaction.execute(update(HOME).where(HOME.c.name == ours.name).values(**_columns(mine, now)))
        elif take_over:
            _refuse_other_installation(first.home, mine.home)
            if homes[1:]:
                _refuse_other_keys(_newest(homes[1:]), mine)
            _refuse_while_led(first.home, mine.home, lease_ends(transaction, now), now)
            transaction.execute(update(HOME).where(HOME.c.name == _FIRST).values(agent_url=None, **_columns(mine, now)))
        else:
            _refuse_foreign_home(first, mine, engine.dialect.name)
            _refuse_other_installation(first.home, mine.home)
            _refuse_other_keys(_newest(homes), mine)
            transaction.execute(insert(HOME).values(name=mine.home.home_id, **_columns(mine, now)))
        return Claimed(first.state, joined=ours is None and not take_over)


def _columns(mine: HomeRecord, now: datetime) -> dict[str, object]:
    identity = mine.home
    return {
        "home_id": identity.home_id,
        "installation_id": identity.installation_id,
        "host": identity.host,
        "path": identity.path,
        "claimed_at": now,
        "keys_print": mine.keys_print or None,
    }


def _recorded(transaction: Connection) -> tuple[HomeRecord, ...]:
    """The same, locked until the transaction ends."""
    return _members(transaction.execute(_ALL.with_for_update()))


def _members(rows: Iterable[Row[Any]]) -> tuple[HomeRecord, ...]:
    members = [
        HomeRecord(
            row.name,
            HomeIdentity(row.home_id, row.installation_id, row.host, row.path),
            row.terraform_state or LOCAL,
            row.keys_print or "",
            row.agent_url or "",
            row.claimed_at,
        )
        for row in rows
    ]
    return tuple(sorted(members, key=lambda member: member.name != _FIRST))


def _refuse_foreign_home(first: HomeRecord, mine: HomeRecord, database: str) -> None:
    """Another home may only join where the database is PostgreSQL and the states are in it, for both."""
    lacking = [
        *([] if database == "postgresql" else [f"PostgreSQL as the database (this one is {database})"]),
        *([] if first.state == HTTP else [f"Terraform's states in it (they are `{first.state}` to that home)"]),
        *([] if mine.state == HTTP else [f"the setting terraform.state = `http` here (it is `{mine.state}`)"]),
    ]
    if lacking:
        raise HomeRefused(
            f"this database belongs to the home {first.home.where}; this server's home is {mine.home.where}. Keys and "
            "Terraform's state are files of the home, so a second home would act without them. Start the server with "
            "the home the database knows, or move that home here (all files of it). Servers of several homes need "
            f"both PostgreSQL and the `http` state backend; what is missing: {'; '.join(lacking)}. If that home is "
            "lost for good, put its installation-id into this home, stop every server of it and start once with "
            "--take-over-home"
        )


def _refuse_other_keys_of_ours(
    ours: HomeRecord, mine: HomeRecord, others: Sequence[HomeRecord], *, until: datetime | None, now: datetime
) -> None:
    """A home beside others may change its keys while nobody leads; the others have to follow before they start."""
    if not others or _newest(others).keys_print == mine.keys_print:
        return
    if ours.keys_print != mine.keys_print:
        _refuse_while_led(ours.home, mine.home, until, now)
    elif _newest([*others, ours]) is not ours:
        _refuse_other_keys(_newest(others), mine)


def _refuse_other_keys(other: HomeRecord, mine: HomeRecord) -> None:
    """What stays a file of each home must say the same in all of them."""
    if not other.keys_print:
        raise HomeRefused(
            f"the keys of the home {other.home.where} are not on record yet, so those of the home {mine.home.where} "
            "cannot be compared with them: start a server of that home once with this release"
        )
    if other.keys_print != mine.keys_print:
        raise HomeRefused(
            f"the homes {other.home.where} and {mine.home.where} have different keys: a VM that one of them orders "
            "could not enrol while the other one leads. Copy the files installation-id, server-key, token, agent-url "
            "and, where agents are served over TLS, agent-ca, ca.pem and ca-key.pem from there to here. home-id must "
            "stay each home's own"
        )


def _newest(members: Sequence[HomeRecord]) -> HomeRecord:
    return max(members, key=lambda member: (member.claimed_at is not None, member.claimed_at))


def _refuse_other_installation(theirs: HomeIdentity, mine: HomeIdentity) -> None:
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
