"""Online backup of what cannot be rebuilt, and its restore into an empty database.

One file of JSON lines: a header, one line per row, a footer with counts and a SHA-256 of everything above it. The
tables are read *before* the log: every job and every credential in the file then has its intent among the events,
because the intent was recorded first. Observations, checkpoints and plans are left out: they come back by themselves.
Of people there is who they are, what they may do, hashes of passwords and tokens, and the audit; sessions are left out.
"""

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import IO, Any

from sqlalchemy import ColumnElement, Connection, Engine, LargeBinary, Table, func, insert, select, update

from controlplane.runtime.atomic_file import replacing
from controlplane.storage.migrate import revision_of
from controlplane.storage.tables import (
    AGENT_CREDENTIAL,
    API_TOKEN,
    AUDIT_ENTRY,
    CLUSTER_AUTHORITY,
    JOB,
    LEASE,
    OIDC_PERSON,
    PORTAL_USER,
    ROLE_BINDING,
    TERRAFORM_PROVIDERS,
    TERRAFORM_STATE,
)
from controlplane.storage.terraform_states.versions import in_force_and_newest
from events.clock import Clock, utc_now
from events.engine import answered_within, reading, writing
from events.envelope import Recorded
from events.sql_store import verify_positions
from events.store import EventStore
from events.tables import COUNTER, EVENT, EVENT_COUNTER, UtcDateTime

FORMAT = "kedge-backup"
VERSION = 5
"""2: with the newest version of each of Terraform's states, where those are in the database. 3: with people, tokens and
the audit. 4: with Terraform's lock files, where those are in the database. 5: with the CAs of
clusters, their keys sealed.
"""

# Servers may have moved on after the backup was made; agents refuse epochs below one they have heard of.
EPOCH_LEAP = 1000

_TABLES = {table.name: table for table in (LEASE, JOB, AGENT_CREDENTIAL, TERRAFORM_STATE, TERRAFORM_PROVIDERS)}
_TABLES |= {CLUSTER_AUTHORITY.name: CLUSTER_AUTHORITY}
_TABLES |= {table.name: table for table in (PORTAL_USER, ROLE_BINDING, OIDC_PERSON, API_TOKEN, AUDIT_ENTRY)}
_BATCH = 1000


@dataclass(frozen=True, slots=True)
class BackupSummary:
    """What a backup holds: the highest position, which is also the number of events, and rows by table."""

    created_at: datetime
    head: int
    rows: Mapping[str, int]
    sha256: str


class BackupCorrupt(Exception):
    """The file is not a whole, unchanged backup. What now: use another one; nothing was written."""


class RestoreRefused(Exception):
    """The target is no place to restore to. What now: give an empty, migrated database."""


def backup(store: EventStore, engine: Engine, path: Path, *, clock: Clock = utc_now) -> BackupSummary:
    """Writes a backup while servers go on working. The file appears whole or not at all, readable by its owner only.

    Raises StoreUnavailable, OSError, and BackupCorrupt when the log itself has gaps.
    """
    with answered_within(None):  # whoever asks for it waits as long as there are rows
        header = {"format": FORMAT, "version": VERSION, "created_at": clock(), "revision": revision_of(engine)}
        tables = _dump_tables(engine)
        header["head"] = head = store.head()
        with replacing(path) as fresh:
            with fresh.open("wb") as file:
                _write(file, header, tables, islice(store.iterate_all(), head))
            return verify(fresh)


def verify(path: Path) -> BackupSummary:
    """Reads a backup to its end and checks it: checksum, positions 1..head, versions of each stream, counts.

    Raises BackupCorrupt, OSError.
    """
    lines = _Lines(path)
    header = lines.header()
    rows: Counter[str] = Counter(dict.fromkeys(_TABLES, 0))
    versions: Counter[str] = Counter()
    position = 0
    for line in lines.body():
        if "event" in line:
            event = line["event"]
            position += 1
            versions[event["stream"]] += 1
            if (event["position"], event["version"]) != (position, versions[event["stream"]]):
                raise BackupCorrupt(f"{path}: events are missing: {event['position']} stands where {position} should")
        else:
            rows[line["table"]] += 1
    if not header["head"] == position == lines.footer["events"] or dict.fromkeys(_TABLES, 0) | lines.footer[
        "rows"
    ] != dict(rows):
        raise BackupCorrupt(f"{path}: it holds {position} events, its header promises {header['head']}")
    return BackupSummary(
        created_at=datetime.fromisoformat(header["created_at"]),
        head=position,
        rows=dict(rows),
        sha256=lines.footer["sha256"],
    )


def restore(path: Path, engine: Engine) -> BackupSummary:
    """Checks a backup and writes it into an empty, migrated database in one transaction, positions and times unchanged.

    No server may run on the target. Leases come back with a leap in their epochs, so that the next owner's epoch is
    above any that agents heard of since the backup. Raises BackupCorrupt, RestoreRefused, StoreUnavailable.
    """
    summary = verify(path)
    if revision_of(engine) is None:
        raise RestoreRefused(f"{_where(engine)} has no tables: migrate it first")
    with writing(engine) as transaction:
        _refuse_non_empty(transaction, engine)
        for table, rows in _batches(_rows(path)):
            _refuse_unknown_columns(table, rows[0])
            transaction.execute(insert(table), rows)
        counted = update(COUNTER).where(COUNTER.c.name == EVENT_COUNTER)
        transaction.execute(counted.values(position=summary.head))
        transaction.execute(update(LEASE).values(epoch=LEASE.c.epoch + EPOCH_LEAP))
        head = verify_positions(transaction)
        if head != summary.head:
            raise BackupCorrupt(f"{path}: restored up to event {head} of {summary.head}; the target is left empty")
    return summary


class _Lines:
    """A backup file whose checksum was found right: nothing else of it is looked at before. Raises BackupCorrupt."""

    def __init__(self, path: Path) -> None:
        self._path = path
        digest = hashlib.sha256()
        last = b""
        with path.open("rb") as file:
            for encoded in file:
                digest.update(last)
                last = encoded
        self.footer = self._parse(last)
        if self.footer.get("end") != FORMAT:
            raise BackupCorrupt(f"{path} is not a backup of Kedge, or is cut off: its last line is missing")
        if self.footer.get("sha256") != digest.hexdigest():
            raise BackupCorrupt(f"{path} was changed after it was written: its checksum does not match")

    def header(self) -> dict[str, Any]:
        with self._path.open("rb") as file:
            header = self._parse(file.readline())
        if header["version"] > VERSION:
            raise BackupCorrupt(
                f"{self._path} has format {header['version']} of a newer release: restore with that one"
            )
        return header

    def body(self) -> Iterator[dict[str, Any]]:
        with self._path.open("rb") as file:
            file.readline()
            for encoded in file:
                line = self._parse(encoded)
                if "end" not in line:
                    yield line

    def _parse(self, encoded: bytes) -> dict[str, Any]:
        try:
            line = json.loads(encoded)
        except ValueError:
            raise BackupCorrupt(f"{self._path}: a line is not JSON: {encoded[:60]!r}") from None
        if not isinstance(line, dict):
            raise BackupCorrupt(f"{self._path}: a line is not a JSON object: {encoded[:60]!r}")
        return line


def _write(
    file: IO[bytes], header: Mapping[str, Any], tables: Mapping[str, list[dict[str, Any]]], events: Iterable[Recorded]
) -> None:
    digest = hashlib.sha256()
    written = 0

    def write(line: Mapping[str, Any]) -> None:
        encoded = json.dumps(line, ensure_ascii=False, separators=(",", ":"), default=_encode).encode() + b"\n"
        digest.update(encoded)
        file.write(encoded)

    write(header)
    for name, rows in tables.items():
        for row in rows:
            write({"table": name, "row": row})
    for recorded in events:
        write({"event": asdict(recorded)})
        written += 1
    counts = {name: len(rows) for name, rows in tables.items()}
    write({"end": FORMAT, "events": written, "rows": counts, "sha256": digest.hexdigest()})


def _dump_tables(engine: Engine) -> dict[str, list[dict[str, Any]]]:
    with reading(engine) as connection:
        return {
            name: [
                dict(row._mapping)
                for row in connection.execute(select(table).where(*_wanted(table)).order_by(*table.primary_key))
            ]
            for name, table in _TABLES.items()
        }


def _wanted(table: Table) -> list[ColumnElement[bool]]:
    """All rows, but of Terraform's states the newest version of each that is in force."""
    return [in_force_and_newest()] if table is TERRAFORM_STATE else []


def _rows(path: Path) -> Iterator[tuple[Table, dict[str, Any]]]:
    """The lines of a backup as rows of their tables."""
    before: tuple[str, str | None] | None = None
    part = 0
    for line in _Lines(path).body():
        if "event" not in line:
            yield _TABLES[line["table"]], _decode(_TABLES[line["table"]], line["row"])
            continue
        event = dict(line["event"])
        command = (event["stream"], event["command_id"])
        part = part + 1 if command == before and event["command_id"] is not None else 0  # a batch is never torn apart
        before = command
        event["schema_version"] = event.pop("schema")
        yield EVENT, _decode(EVENT, event | {"part": part})


def _batches(rows: Iterator[tuple[Table, dict[str, Any]]]) -> Iterator[tuple[Table, list[dict[str, Any]]]]:
    table: Table | None = None
    batch: list[dict[str, Any]] = []
    for its_table, row in rows:
        if table is not None and (its_table is not table or len(batch) == _BATCH):
            yield table, batch
            batch = []
        table = its_table
        batch.append(row)
    if table is not None:
        yield table, batch


def _refuse_non_empty(transaction: Connection, engine: Engine) -> None:
    for table in (EVENT, *_TABLES.values()):
        count: int = transaction.execute(select(func.count()).select_from(table)).scalar_one()
        if count:
            raise RestoreRefused(
                f"{_where(engine)} is not empty: table {table.name} has {count} rows. Nothing was changed."
            )
    verify_positions(transaction)


def _refuse_unknown_columns(table: Table, row: Mapping[str, Any]) -> None:
    unknown = sorted(set(row) - set(table.c.keys()))
    if unknown:
        raise RestoreRefused(
            f"the backup has columns of {table.name} this release does not know ({', '.join(unknown)}): "
            "a newer release made it. Restore with that release."
        )


def _encode(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(f"a backup cannot hold {type(value).__name__}")


def _decode(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(table, name, value) if value and name in table.c else value for name, value in row.items()}


def _value(table: Table, name: str, value: Any) -> Any:
    match table.c[name].type:
        case UtcDateTime():
            return datetime.fromisoformat(value)
        case LargeBinary():
            return base64.b64decode(value)
        case _:
            return value


def _where(engine: Engine) -> str:
    return engine.url.render_as_string(hide_password=True)
