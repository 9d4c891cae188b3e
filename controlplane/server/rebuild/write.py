"""Writes a rebuilt history into an empty database: all clusters in one transaction, or none."""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection, Engine, func, insert, select, update

from controlplane.cluster.places import places_of
from controlplane.converger.tick.cluster_tick import new_events
from controlplane.fleet.cluster_names import name_stream
from controlplane.runtime.process_lock import LeaderLock
from controlplane.server.rebuild.clusters import RebuiltCluster
from controlplane.server.rebuild.conclude import Rebuild
from controlplane.server.rebuild.read import Cloud
from controlplane.storage.backup import EPOCH_LEAP
from controlplane.storage.certificates.authority_copy import AuthorityRow, put_back
from controlplane.storage.lease_holder import CONVERGE
from controlplane.storage.streams import cluster_stream
from controlplane.storage.tables import AGENT_CREDENTIAL, JOB, LEASE
from events import envelope, facts, sql_store, tables
from events.engine import database_time, writing
from providers.tf.abilities import RepeatsCreates
from providers.tf.state_file import state_file

ACTOR = "rebuild"


class RebuildRefused(Exception):
    """Nothing was written. What now: the message says what stands in the way."""


def write_rebuild(
    rebuild: Rebuild, engine: Engine, *, lock: LeaderLock, authorities: Iterable[AuthorityRow] = ()
) -> int:
    """Records every cluster of the report, held, and puts their CAs back. Returns the number of events.

    `lock` is the home's leader lock, held by the caller: no server of this home can lead meanwhile. Raises
    RebuildRefused, StoreUnavailable.
    """
    if rebuild.refused:
        raise RebuildRefused("the report has findings that refuse: mend them, or leave those clusters out")
    if not lock.is_held:
        raise RebuildRefused("a server of this home runs: stop it first")
    store = sql_store.SqlEventStore(engine)
    with writing(engine) as transaction:
        _refuse_history(transaction, engine)
        _raise_epoch(transaction, rebuild.highest_epoch, lock)
        for cluster in rebuild.clusters:
            taken = facts.NameTaken(cluster.name, cluster.uid)
            _record(store, transaction, name_stream(cluster.name), [taken])
            _record(store, transaction, cluster_stream(cluster.uid), cluster.facts)
        put_back(transaction, authorities, [c.uid for c in rebuild.clusters if c.view.nodes_speak_tls])
        return sql_store.verify_positions(transaction)


def set_states_aside(clusters: Iterable[RebuiltCluster], *, state_root: Path, cloud: Cloud, now: datetime) -> list[str]:
    """Renames Terraform's states of clouds that adopt by creating again; the next run makes them anew from what runs.

    An old state may name things that are gone, which every later run would want to delete. Nothing is deleted here.
    Raises RunInProgress while a run is at work.
    """
    name = f"before-rebuild-{now:%Y%m%dT%H%M%S}"
    aside = []
    for cluster in clusters:
        for place in places_of(cluster.view):
            provider = cloud(place.cloud)
            state = state_file(state_root, cluster.uid, place)
            if not (isinstance(provider, RepeatsCreates) and provider.creates_are_repeatable()):
                continue
            if not state.directory.exists():
                continue
            with state.locked(name):
                if state.set_aside(name):
                    aside.append(str(state.directory))
    return aside


def _record(store: sql_store.SqlEventStore, transaction: Connection, stream: str, recorded: Iterable[object]) -> None:
    events = new_events(stream, 0, recorded)
    store.append_within(transaction, stream, events, expected_version=0, origin=envelope.Origin(ACTOR))


def _refuse_history(transaction: Connection, engine: Engine) -> None:
    for table in (tables.EVENT, JOB, AGENT_CREDENTIAL):
        count: int = transaction.execute(select(func.count()).select_from(table)).scalar_one()
        if count:
            where = engine.url.render_as_string(hide_password=True)
            raise RebuildRefused(
                f"{where} is not empty: table {table.name} has {count} rows. A history that is there is never "
                "replaced: move that database away, or name another one with --database-url"
            )


def _raise_epoch(transaction: Connection, highest: int | None, lock: LeaderLock) -> None:
    """The next server's epoch must be above any an agent has heard of, or they take it for an old leader.

    Where an agent could not be read, minutes since 1970 are: no count of servers ever gets there.
    """
    now = database_time(transaction)
    row = transaction.execute(select(LEASE).where(LEASE.c.duty == CONVERGE).with_for_update()).one_or_none()
    if row is not None and not row.released and (row.owner, row.epoch) != lock.last_leader():
        left_s = row.term_s - (now - row.renewed_at).total_seconds()
        if left_s > 0:
            raise RebuildRefused(f"server {row.owner} leads on this database for {left_s:.0f} s more: stop it first")
    floor = highest + EPOCH_LEAP if highest is not None else int(now.timestamp() // 60)
    values = {
        "owner": ACTOR,
        "epoch": max(floor, row.epoch if row else 0),
        "term_s": 30.0,
        "renewed_at": now,
        "acts_after": now,
        "released": True,
    }
    if row is None:
        transaction.execute(insert(LEASE).values(duty=CONVERGE, **values))
    else:
        transaction.execute(update(LEASE).where(LEASE.c.duty == CONVERGE).values(**values))
