"""A rebuilt history in a real database: all of it or none, into an empty one only, above every epoch agents know."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Engine

from controlplane.cluster.commands import CommandRefused, DeleteCluster, ResumeCluster
from controlplane.cluster.fold import fold
from controlplane.cluster.view import empty_view
from controlplane.commands.handler import CommandHandler
from controlplane.runtime.process_lock import LeaderLock
from controlplane.server.rebuild.conclude import Rebuild, conclude
from controlplane.server.rebuild.write import RebuildRefused, set_states_aside, write_rebuild
from controlplane.storage.lease import SqlLeaseStore
from controlplane.storage.lease_holder import CONVERGE
from controlplane.storage.streams import cluster_stream
from events.envelope import NewEvent, Origin
from events.ids import ClusterUid
from events.sql_store import SqlEventStore
from providers.tf.state_file import state_file
from tests.builders import NOW, a_document
from tests.fakes.cloud import FakeCloud
from tests.unit.controlplane.server.rebuild.rebuild_evidence import (
    PLACE,
    UID,
    a_spec_file,
    a_vm,
    evidence,
    found,
    what_ran,
)

OTHER = ClusterUid("beef" * 8)


@pytest.fixture
def lock(tmp_path: Path) -> Iterator[LeaderLock]:
    held = LeaderLock(tmp_path / "leader.lock")
    assert held.take()
    yield held
    held.give_back()


def leases(engine: Engine) -> SqlLeaseStore:
    return SqlLeaseStore(engine, longest_call_s=10)


def two_clusters() -> Rebuild:
    """`orders` and `payments`, both as their specs say."""
    payments = replace(found(), uid=OTHER, name="payments")
    specs = (a_spec_file(), a_spec_file(a_document(name="payments"), "payments.yaml"))
    return conclude(evidence(found(), payments, specs=specs), now=NOW)


def test_every_cluster_is_written_held_and_folds_to_the_report(engine: Engine, lock: LeaderLock) -> None:
    report = two_clusters()
    assert write_rebuild(report, engine, lock=lock) == SqlEventStore(engine).verify()
    store = SqlEventStore(engine)
    for cluster in report.clusters:
        view = fold(empty_view(cluster.uid), store.read_stream(cluster_stream(cluster.uid)))
        assert (view.instances.keys(), view.requests.held, view.roll.converged) == (
            cluster.view.instances.keys(),
            cluster.view.requests.held,
            1,
        )
        assert view.requests.held


def test_a_held_cluster_is_found_by_name_resumed_and_not_deleted_before(engine: Engine, lock: LeaderLock) -> None:
    write_rebuild(conclude(evidence(), now=NOW), engine, lock=lock)
    commands = CommandHandler(SqlEventStore(engine))
    with pytest.raises(CommandRefused, match="held"):
        commands.handle(DeleteCluster(name="orders", actor="anna", command_id="1", confirm="orders", reason=""))
    assert commands.handle(ResumeCluster(name="orders", actor="anna", command_id="2", reason="")).changed
    assert commands.current("orders").requests.held == ""
    assert commands.current("orders").uid == UID
    assert commands.handle(
        DeleteCluster(name="orders", actor="anna", command_id="3", confirm="orders", reason="")
    ).changed


def test_a_database_with_a_history_is_refused_and_left_alone(engine: Engine, lock: LeaderLock) -> None:
    store = SqlEventStore(engine)
    store.append("a", [NewEvent("1", "t", 1, {})], expected_version=0, origin=Origin("converger"))
    with pytest.raises(RebuildRefused, match="table event has 1 rows"):
        write_rebuild(two_clusters(), engine, lock=lock)
    assert store.head() == 1


def test_nothing_is_written_of_a_report_that_refuses(engine: Engine, lock: LeaderLock) -> None:
    report = conclude(evidence(found(), replace(found(), uid=OTHER, name="payments")), now=NOW)
    with pytest.raises(RebuildRefused):
        write_rebuild(report, engine, lock=lock)
    assert SqlEventStore(engine).head() == 0


def test_nothing_is_written_while_a_server_of_the_home_may_lead(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(RebuildRefused, match="stop it first"):
        write_rebuild(two_clusters(), engine, lock=LeaderLock(tmp_path / "leader.lock"))


def test_nothing_is_written_while_somebody_elses_lease_lasts(engine: Engine, lock: LeaderLock) -> None:
    held = leases(engine).acquire(CONVERGE, "beta:1:aa", term_s=30)
    assert held is not None
    with pytest.raises(RebuildRefused, match="beta:1:aa leads"):
        write_rebuild(two_clusters(), engine, lock=lock)
    lock.name_leader("beta:1:aa", held.epoch)
    assert write_rebuild(two_clusters(), engine, lock=lock), "the lock proves that its last leader is dead"


def test_the_next_leader_is_above_every_epoch_agents_have_heard_of(engine: Engine, lock: LeaderLock) -> None:
    write_rebuild(conclude(evidence(), now=NOW), engine, lock=lock)
    lease = leases(engine).acquire(CONVERGE, "alpha:1:aa", term_s=30)
    assert lease is not None
    assert lease.epoch == 7 + 1000 + 1
    assert lease.acts_after <= leases(engine).time(), "nobody to wait for"


def test_an_agent_that_could_not_be_read_is_outrun_by_far(engine: Engine, lock: LeaderLock) -> None:
    ran = what_ran()
    vms = tuple(a_vm(ran, i, document=i.key != "brokers-a-0.g1") for i in ran.alive())
    write_rebuild(conclude(evidence(found(ran, vms=vms)), now=NOW), engine, lock=lock)
    lease = leases(engine).acquire(CONVERGE, "alpha:1:aa", term_s=30)
    assert lease is not None
    assert lease.epoch > 29_000_000


class Repeats(FakeCloud):
    """A cloud that adopts by creating again."""

    def creates_are_repeatable(self) -> bool:
        return True


def test_old_states_are_set_aside_where_they_can_be_made_anew(tmp_path: Path) -> None:
    report = conclude(evidence(), now=NOW)
    state = state_file(tmp_path, UID, PLACE)
    state.directory.mkdir(parents=True)
    state.path.write_text("{}")
    assert set_states_aside(report.clusters, state_root=tmp_path, cloud=lambda _: FakeCloud(), now=NOW) == []
    assert state.path.exists(), "a cloud that cannot adopt keeps its state"
    aside = set_states_aside(report.clusters, state_root=tmp_path, cloud=lambda _: Repeats(), now=NOW)
    assert aside == [str(state.directory)]
    assert [p.name for p in state.directory.glob("terraform*")] == ["terraform.tfstate.before-rebuild-20260101T120000"]
