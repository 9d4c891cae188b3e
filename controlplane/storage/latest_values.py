"""The newest observation of each thing: agent reports, inventory, metadata. May be lost; the next one brings it back.

Agents repeat themselves, and networks reorder: a report carries (boot id, sequence). Within one boot only a higher
sequence is news; a boot id that another one has replaced is a ghost (a late packet, or a VM image started twice) and
is never news again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, Engine, Row, Select, bindparam, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from controlplane.storage.tables import LATEST
from events.engine import reading, writing
from events.ids import ClusterUid

# Reboots remembered per subject. Older ghosts than that are not expected, and the row must stay small.
_PAST_BOOTS = 16
_KEYS_PER_QUERY = 300

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Subject:
    """What an observation is about: `kind` is e.g. "agent-report", `name` a node, an instance or a place."""

    kind: str
    cluster_uid: ClusterUid
    name: str


@dataclass(frozen=True, slots=True)
class LatestValue:
    """One observed value. `observed_at` is when its source saw it; agent reports are ordered by `boot_id` and `seq`."""

    subject: Subject
    value: Mapping[str, Any]
    source: str
    observed_at: datetime
    boot_id: str | None = None
    seq: int | None = None


@dataclass(frozen=True, slots=True)
class Renewal:
    """A source said once more what is kept of a subject: the same boot, later. `digest` is that of the value."""

    subject: Subject
    observed_at: datetime
    boot_id: str
    seq: int
    digest: str


class LatestStore(Protocol):
    """Contract: tests/contract/test_latest_store.py."""

    def put(self, observation: LatestValue) -> bool:
        """Keeps it when it is news; False when something newer is known already."""

    def put_all(self, observations: Sequence[LatestValue]) -> int:
        """The same for many at once, in order and in one transaction; the number that were news."""

    def renew_all(self, renewals: Sequence[Renewal]) -> int:
        """What is kept of these subjects was observed again, in one transaction; of how many. Nothing where another
        boot, something later, or a value of another digest is kept: another process took it in."""

    def get(self, subject: Subject) -> LatestValue | None:
        """The newest about one subject."""

    def of_cluster(self, cluster_uid: ClusterUid, kind: str | None = None) -> list[LatestValue]:
        """The newest about each subject of a cluster, of one kind or of all."""

    def of_kind(self, kind: str) -> list[LatestValue]:
        """The newest of one kind for the whole fleet, in one read."""


@dataclass(frozen=True, slots=True)
class KeptObservation:
    observation: LatestValue
    past_boots: tuple[str, ...] = ()


def read_as(adapter: TypeAdapter[_T], row: LatestValue) -> _T | None:
    """The value of a row as this release writes it; None for what another one wrote, until it is written anew."""
    try:
        return adapter.validate_python(dict(row.value))
    except ValidationError:
        return None


def read_by_cluster(adapter: TypeAdapter[_T], rows: Iterable[LatestValue]) -> dict[ClusterUid, _T]:
    """Of a kind with one row a cluster, as `read_as`; what another release wrote is left out."""
    read = {row.subject.cluster_uid: read_as(adapter, row) for row in rows}
    return {uid: value for uid, value in read.items() if value is not None}


def supersede(kept: KeptObservation | None, new: LatestValue) -> KeptObservation | None:
    """What is kept once `new` has arrived, or None when `new` is no news."""
    if kept is None:
        return KeptObservation(new)
    old = kept.observation
    if new.boot_id is None or new.seq is None or old.boot_id is None or old.seq is None:
        return KeptObservation(new, kept.past_boots) if new.observed_at >= old.observed_at else None
    if new.boot_id == old.boot_id:
        return KeptObservation(new, kept.past_boots) if new.seq > old.seq else None
    if new.boot_id in kept.past_boots:
        return None
    return KeptObservation(new, (*kept.past_boots, old.boot_id)[-_PAST_BOOTS:])


class SqlLatestStore:
    """A `LatestStore` of rows. All verbs may raise StoreUnavailable.

    Two servers that hear of a new subject at the same moment may keep the older report; the next one settles it.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def put(self, observation: LatestValue) -> bool:
        return self.put_all([observation]) == 1

    def put_all(self, observations: Sequence[LatestValue]) -> int:
        with writing(self._engine) as transaction:
            subjects = sorted({_key(observation.subject) for observation in observations})
            kept = _locked(transaction, subjects)
            changed: dict[Subject, KeptObservation] = {}
            news = 0
            for observation in observations:
                newer = supersede(kept.get(observation.subject), observation)
                if newer is not None:
                    kept[observation.subject] = changed[observation.subject] = newer
                    news += 1
            _write(transaction, changed)
            return news

    def renew_all(self, renewals: Sequence[Renewal]) -> int:
        if not renewals:
            return 0
        rows = [
            {
                "of_kind": one.subject.kind,
                "of_cluster": one.subject.cluster_uid,
                "of_subject": one.subject.name,
                "of_boot": one.boot_id,
                "of_digest": one.digest,
                "new_seq": one.seq,
                "new_at": one.observed_at,
            }
            for one in sorted(renewals, key=lambda one: _key(one.subject))
        ]
        with writing(self._engine) as transaction:
            return transaction.execute(_RENEW, rows).rowcount

    def get(self, subject: Subject) -> LatestValue | None:
        with reading(self._engine) as connection:
            row = connection.execute(select(LATEST).where(_KEY.in_([_key(subject)]))).one_or_none()
            return None if row is None else _kept(row).observation

    def of_cluster(self, cluster_uid: ClusterUid, kind: str | None = None) -> list[LatestValue]:
        wanted = select(LATEST).where(LATEST.c.cluster_uid == cluster_uid)
        return self._select(wanted if kind is None else wanted.where(LATEST.c.kind == kind))

    def of_kind(self, kind: str) -> list[LatestValue]:
        return self._select(select(LATEST).where(LATEST.c.kind == kind))

    def _select(self, wanted: Select[Any]) -> list[LatestValue]:
        with reading(self._engine) as connection:
            return in_order(_kept(row).observation for row in connection.execute(wanted))


_KEY = tuple_(LATEST.c.kind, LATEST.c.cluster_uid, LATEST.c.subject)

_RENEW = (
    update(LATEST)
    .where(
        LATEST.c.kind == bindparam("of_kind"),
        LATEST.c.cluster_uid == bindparam("of_cluster"),
        LATEST.c.subject == bindparam("of_subject"),
        LATEST.c.boot_id == bindparam("of_boot"),
        LATEST.c.value["digest"].as_string() == bindparam("of_digest"),
        LATEST.c.seq < bindparam("new_seq"),
    )
    .values(observed_at=bindparam("new_at"), seq=bindparam("new_seq"))
)


def _key(subject: Subject) -> tuple[str, str, str]:
    return (subject.kind, subject.cluster_uid, subject.name)


def in_order(observations: Iterable[LatestValue]) -> list[LatestValue]:
    return sorted(observations, key=lambda observation: _key(observation.subject))


def _locked(transaction: Connection, keys: list[tuple[str, str, str]]) -> dict[Subject, KeptObservation]:
    """The rows of these keys, locked in one order so that two writers cannot wait for each other."""
    found: dict[Subject, KeptObservation] = {}
    for start in range(0, len(keys), _KEYS_PER_QUERY):
        wanted = select(LATEST).where(_KEY.in_(keys[start : start + _KEYS_PER_QUERY]))
        wanted = wanted.order_by(LATEST.c.kind, LATEST.c.cluster_uid, LATEST.c.subject).with_for_update()
        for row in transaction.execute(wanted):
            kept = _kept(row)
            found[kept.observation.subject] = kept
    return found


def _write(transaction: Connection, changed: dict[Subject, KeptObservation]) -> None:
    if not changed:
        return
    rows = [_values(changed[subject]) for subject in sorted(changed, key=_key)]
    # Both dialects know the same clause, by two classes.
    insert = sqlite_insert(LATEST) if transaction.dialect.name == "sqlite" else postgresql_insert(LATEST)
    fresh = {name: insert.excluded[name] for name in rows[0] if name not in ("kind", "cluster_uid", "subject")}
    transaction.execute(
        insert.on_conflict_do_update(index_elements=["kind", "cluster_uid", "subject"], set_=fresh), rows
    )


def _values(kept: KeptObservation) -> dict[str, Any]:
    observation = kept.observation
    return {
        "kind": observation.subject.kind,
        "cluster_uid": observation.subject.cluster_uid,
        "subject": observation.subject.name,
        "value": dict(observation.value),
        "source": observation.source,
        "observed_at": observation.observed_at,
        "boot_id": observation.boot_id,
        "seq": observation.seq,
        "past_boots": list(kept.past_boots),
    }


def _kept(row: Row[Any]) -> KeptObservation:
    observation = LatestValue(
        subject=Subject(row.kind, ClusterUid(row.cluster_uid), row.subject),
        value=row.value,
        source=row.source,
        observed_at=row.observed_at,
        boot_id=row.boot_id,
        seq=row.seq,
    )
    return KeptObservation(observation, tuple(row.past_boots))
