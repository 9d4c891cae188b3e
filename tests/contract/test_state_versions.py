"""Versions of Terraform states in the database: the newest few always stay, and only the holder writes."""

import pytest
from sqlalchemy import Engine, text

from controlplane.storage.terraform_states.encryption import StateSeal
from controlplane.storage.terraform_states.lock_rows import SqlStateLocks, StateNotHeld, TerraformLocked
from controlplane.storage.terraform_states.versions import FEWEST_STATE_VERSIONS, SqlStateVersions
from events.engine import reading, writing
from providers.errors import StateUnreadable
from providers.tf.state_body import StateRefused
from tests.fakes.states import KEY, OTHER_KEY, SEAL, body, claim


@pytest.fixture
def locks(engine: Engine) -> SqlStateLocks:
    made = SqlStateLocks(engine)
    made.take(KEY, claim("one"))
    return made


@pytest.fixture
def versions(engine: Engine, locks: SqlStateLocks) -> SqlStateVersions:
    return SqlStateVersions(engine, seal=SEAL, keep=7)


def test_every_write_is_a_version_with_its_serial_lineage_size_and_run(versions: SqlStateVersions) -> None:
    for serial in (1, 2, 5):
        versions.put(KEY, body(serial), hold_id="one", lock_id=None)
    told = [(v.version, v.serial, v.lineage, v.size, v.run_id, v.epoch) for v in versions.versions(KEY)]
    assert told == [(n, s, "line-1", len(body(s)), "run-of-one", 1) for n, s in ((3, 5), (2, 2), (1, 1))]
    assert versions.read(KEY) == body(5)


def test_a_retry_of_a_write_whose_answer_was_lost_makes_no_second_version(versions: SqlStateVersions) -> None:
    first = versions.put(KEY, body(1), hold_id="one", lock_id=None)
    assert versions.put(KEY, body(1), hold_id="one", lock_id=None) == first
    assert len(versions.versions(KEY)) == 1


def test_old_versions_go_and_the_newest_few_stay(engine: Engine, versions: SqlStateVersions) -> None:
    for serial in range(1, 21):
        versions.put(KEY, body(serial), hold_id="one", lock_id=None)
    assert [v.version for v in versions.versions(KEY)] == list(range(20, 13, -1))
    stingy = SqlStateVersions(engine, seal=SEAL, keep=0)
    stingy.put(KEY, body(21), hold_id="one", lock_id=None)
    assert [v.version for v in versions.versions(KEY)] == list(range(21, 21 - FEWEST_STATE_VERSIONS, -1))


def test_pruning_one_state_leaves_the_others(engine: Engine, locks: SqlStateLocks, versions: SqlStateVersions) -> None:
    locks.take(OTHER_KEY, claim("two"))
    for serial in range(1, 8):
        versions.put(OTHER_KEY, body(serial), hold_id="two", lock_id=None)
    for serial in range(1, 15):
        versions.put(KEY, body(serial), hold_id="one", lock_id=None)
    assert len(versions.versions(OTHER_KEY)) == 7


@pytest.mark.parametrize("wrong", [body(4), body(5, instances=("x.g1",)), body(6, lineage="other"), b"[]", b"\xff"])
def test_what_is_no_later_version_is_refused_and_nothing_is_written(versions: SqlStateVersions, wrong: bytes) -> None:
    versions.put(KEY, body(5), hold_id="one", lock_id=None)
    with pytest.raises(StateRefused):
        versions.put(KEY, wrong, hold_id="one", lock_id=None)
    assert [v.serial for v in versions.versions(KEY)] == [5]


def test_only_the_run_that_holds_the_state_writes_it(locks: SqlStateLocks, versions: SqlStateVersions) -> None:
    versions.put(KEY, body(1), hold_id="one", lock_id=None)
    locks.take(KEY, claim("two", epoch=2), proved_dead="one")
    with pytest.raises(StateNotHeld):
        versions.put(KEY, body(2), hold_id="one", lock_id=None)
    versions.put(KEY, body(2, instances=("b-0.g1",)), hold_id="two", lock_id=None)
    locks.release(KEY, "two")
    with pytest.raises(StateNotHeld, match="nobody does"):
        versions.put(KEY, body(3), hold_id="two", lock_id=None)
    assert versions.read(KEY) == body(2, instances=("b-0.g1",))


def test_terraform_writes_under_its_own_lock_only(locks: SqlStateLocks, versions: SqlStateVersions) -> None:
    with pytest.raises(TerraformLocked):
        versions.put(KEY, body(1), hold_id="one", lock_id="lock-1")
    locks.lock(KEY, "one", {"ID": "lock-1"})
    for wrong in ("", "lock-2"):
        with pytest.raises(TerraformLocked):
            versions.put(KEY, body(1), hold_id="one", lock_id=wrong)
    assert versions.put(KEY, body(1), hold_id="one", lock_id="lock-1").version == 1


def test_damage_is_told_and_not_handed_out(engine: Engine, versions: SqlStateVersions) -> None:
    for serial in (1, 2):
        versions.put(KEY, body(serial), hold_id="one", lock_id=None)
    with writing(engine) as transaction:
        damaged = text("UPDATE terraform_state SET body = :body WHERE version = 2")
        transaction.execute(damaged, {"body": body(2)[:-9]})
    with pytest.raises(StateUnreadable, match=r"version 2 of state c0ffee/local\.default\.local-1"):
        versions.read(KEY)


def test_a_large_state_comes_back_whole(versions: SqlStateVersions) -> None:
    large = body(1, instances=tuple(f"b-{n}.g1" for n in range(200_000)))
    assert len(large) > 4_000_000
    versions.put(KEY, large, hold_id="one", lock_id=None)
    assert versions.read(KEY) == large


# --- sealed -----------------------------------------------------------------------------------------------------------


def test_what_is_in_a_state_is_not_to_be_read_in_the_database(engine: Engine, versions: SqlStateVersions) -> None:
    versions.put(KEY, body(1, instances=("brokers-a-0.g1",)), hold_id="one", lock_id=None)
    (row,) = _bodies(engine)
    assert b"brokers-a-0" not in row
    assert b"lineage" not in row
    assert versions.read(KEY) == body(1, instances=("brokers-a-0.g1",))


def test_the_same_state_is_sealed_in_another_way_each_time(engine: Engine, versions: SqlStateVersions) -> None:
    assert SEAL.seal(body(1), cluster_uid="c0ffee") != SEAL.seal(body(1), cluster_uid="c0ffee")


def test_a_home_with_another_key_is_told_which_file_it_needs(engine: Engine, versions: SqlStateVersions) -> None:
    versions.put(KEY, body(1), hold_id="one", lock_id=None)
    stranger = SqlStateVersions(engine, seal=StateSeal(b"the key of another home"), keep=7)
    with pytest.raises(StateUnreadable, match="`server-key` of another home"):
        stranger.read(KEY)


def test_a_state_that_was_moved_to_another_cluster_does_not_open(versions: SqlStateVersions, engine: Engine) -> None:
    versions.put(KEY, body(1), hold_id="one", lock_id=None)
    with writing(engine) as transaction:
        transaction.execute(text("UPDATE terraform_state SET cluster_uid = 'decaf'"))
    with pytest.raises(StateUnreadable, match="does not open"):
        versions.read(OTHER_KEY)


def test_what_was_written_before_there_was_a_seal_is_read_and_sealed_with_the_next_write(
    engine: Engine, versions: SqlStateVersions
) -> None:
    versions.put(KEY, body(1), hold_id="one", lock_id=None)
    with writing(engine) as transaction:
        transaction.execute(text("UPDATE terraform_state SET body = :body"), {"body": body(1)})
    assert versions.read(KEY) == body(1)
    versions.put(KEY, body(2), hold_id="one", lock_id=None)
    plain, sealed = _bodies(engine)
    assert (plain, sealed[:12]) == (body(1), b"kedge-sealed")


def _bodies(engine: Engine) -> list[bytes]:
    """As they are in the table, oldest first."""
    with reading(engine) as connection:
        rows = connection.execute(text("SELECT body FROM terraform_state ORDER BY version"))
        return [bytes(row.body) for row in rows]
