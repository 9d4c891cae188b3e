"""The CAs of clusters a second time, in the home: without them a lost database could not be rebuilt, as nodes believe
no other CA. Keys are sealed there as in the rows, under the home's server key.

Of a cluster that the database knows none of, the copy keeps what it has: a server that was started on an empty one
takes nothing out of it.
"""

import base64
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, LargeBinary, create_engine, insert, select
from sqlalchemy.pool import StaticPool

from controlplane.runtime.atomic_file import replacing
from controlplane.storage.certificates.cluster_authorities import GIVEN_UP, AuthorityLost, SqlClusterAuthorities
from controlplane.storage.certificates.cluster_authority import ClusterAuthorities
from controlplane.storage.tables import CLUSTER_AUTHORITY
from controlplane.storage.terraform_states.encryption import KeySeal
from events.engine import reading
from events.ids import ClusterUid
from events.tables import UtcDateTime

FILE = "cluster-authorities.json"
_FORMAT = "kedge-cluster-authorities 1"

AuthorityRow = Mapping[str, Any]
"""A row of the table, its columns as Python has them."""


class CopyDamaged(Exception):
    """The file is there and cannot be read. What now: give up; a person puts it back from a copy of the home."""


@dataclass(frozen=True, slots=True)
class AuthorityCopy:
    """`Polled`, of each server that may lead: its home has the CAs soon after they were made or replaced."""

    engine: Engine
    home: Path

    def poll(self) -> None:
        """See Polled. Raises StoreUnavailable, OSError, CopyDamaged."""
        with reading(self.engine) as connection:
            rows = [dict(row._mapping) for row in connection.execute(select(CLUSTER_AUTHORITY))]
        before = copied_rows(self.home)
        after = sorted(_merged(before, rows), key=_identity)
        if after != before:
            _write(self.home / FILE, after)


def copied_rows(home: Path) -> list[AuthorityRow]:
    """What the home has of them; nothing where there is no file. Raises CopyDamaged, OSError."""
    path = home / FILE
    try:
        told = json.loads(path.read_bytes())
        if told["format"] != _FORMAT:
            raise CopyDamaged(f"{path} is of another release ({told['format']}): rebuild with that one")
        return [_decoded(row) for row in told["rows"]]
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError) as error:
        raise CopyDamaged(f"{path} is damaged: put it back from a copy of the home") from error


@dataclass(frozen=True, slots=True)
class CopiedAuthorities:
    """The CAs of a copy, in memory alone."""

    rows: SqlClusterAuthorities
    undecided: frozenset[str]
    """Clusters of which the copy has two CAs of a kind."""

    def of(self, uid: ClusterUid, *, cluster: str = "", clients: str = "") -> ClusterAuthorities | None:
        """None where the copy has none of it. Raises AuthorityLost where they are of no use."""
        if uid in self.undecided and not cluster:
            raise AuthorityLost(
                "one of its CAs was being replaced, and which of the two its nodes believe was in the history alone: "
                "restore a backup"
            )
        return self.rows.of(uid, cluster=cluster, clients=clients)


@contextmanager
def copied_authorities(rows: Iterable[AuthorityRow], server_key: bytes) -> Iterator[CopiedAuthorities]:
    """Opened by the key of the home, as those of the database are."""
    kept = list(rows)
    kinds = Counter((row["cluster_uid"], _kind(row)) for row in kept if _kind(row) != GIVEN_UP)
    engine = create_engine("sqlite://", poolclass=StaticPool, hide_parameters=True)
    try:
        with engine.begin() as connection:
            CLUSTER_AUTHORITY.create(connection)
            put_back(connection, kept)
        undecided = frozenset(uid for (uid, _), count in kinds.items() if count > 1)
        yield CopiedAuthorities(SqlClusterAuthorities(engine, KeySeal(server_key)), undecided)
    finally:
        engine.dispose()


def put_back(transaction: Connection, rows: Iterable[AuthorityRow], uids: Iterable[ClusterUid] | None = None) -> None:
    """Writes those of these clusters, or all, into a database that has none."""
    wanted = set(uids) if uids is not None else None
    chosen = [dict(row) for row in rows if wanted is None or row["cluster_uid"] in wanted]
    if chosen:
        transaction.execute(insert(CLUSTER_AUTHORITY), chosen)


def _kind(row: AuthorityRow) -> str:
    return str(row["kind"]).partition(":")[0]


def _merged(copied: Iterable[AuthorityRow], rows: Iterable[AuthorityRow]) -> list[AuthorityRow]:
    """Cluster by cluster what was made last: a key that was replaced goes, and a database that was restored from an
    older backup brings none back. What was given up was made, too: the row that says so has its time."""
    sides = [defaultdict[str, list[AuthorityRow]](list) for _ in range(2)]
    for side, told in zip(sides, (copied, rows), strict=True):
        for row in told:
            side[row["cluster_uid"]].append(row)
    before, now = sides

    def newest(found: Iterable[AuthorityRow]) -> datetime:
        return max((row["made_at"] for row in found), default=datetime.min.replace(tzinfo=UTC))

    return [
        row
        for uid in {*before, *now}
        for row in (now[uid] if now[uid] and newest(now[uid]) >= newest(before[uid]) else before[uid])
    ]


def _identity(row: AuthorityRow) -> tuple[str, ...]:
    return tuple(str(row[column.name]) for column in CLUSTER_AUTHORITY.primary_key)


def _write(path: Path, rows: Iterable[AuthorityRow]) -> None:
    told = {"format": _FORMAT, "rows": [_encoded(row) for row in rows]}
    with replacing(path) as fresh:  # 0600
        fresh.write_text(json.dumps(told, indent=1))


def _encoded(row: AuthorityRow) -> dict[str, Any]:
    def text(value: Any) -> Any:
        if isinstance(value, datetime):
            return value.isoformat()
        return base64.b64encode(value).decode() if isinstance(value, bytes) else value

    return {name: text(value) for name, value in row.items()}


def _decoded(row: Mapping[str, Any]) -> AuthorityRow:
    """Raises KeyError for a column of another release."""

    def value(name: str, told: Any) -> Any:
        match CLUSTER_AUTHORITY.c[name].type:
            case UtcDateTime():
                return None if told is None else datetime.fromisoformat(told)
            case LargeBinary():
                return base64.b64decode(told)
            case _:
                return told

    return {name: value(name, told) for name, told in row.items()}
