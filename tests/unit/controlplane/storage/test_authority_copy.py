"""The CAs of clusters in the home, beside the database that may be lost."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, delete

from controlplane.storage.certificates.authority_copy import (
    FILE,
    AuthorityCopy,
    CopyDamaged,
    copied_authorities,
    copied_rows,
    put_back,
)
from controlplane.storage.certificates.cluster_authorities import AuthorityLost, SqlClusterAuthorities
from controlplane.storage.tables import CLUSTER_AUTHORITY
from controlplane.storage.terraform_states.encryption import KeySeal
from events.engine import writing
from events.ids import ClusterUid
from tests.databases import sqlite_engine

KEY, UID = b"k" * 32, ClusterUid("c0ffee")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with sqlite_engine(tmp_path) as made:
        yield made


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def of(engine: Engine) -> SqlClusterAuthorities:
    return SqlClusterAuthorities(engine, KeySeal(KEY), lambda: NOW)


def test_what_was_copied_signs_as_the_rows_did_and_no_key_is_readable(engine: Engine, home: Path) -> None:
    made = of(engine).found(UID)
    AuthorityCopy(engine, home).poll()
    assert (home / FILE).stat().st_mode & 0o777 == 0o600
    text = (home / FILE).read_text()
    assert "PRIVATE KEY" not in text
    assert not [line for line in made.cluster.private_key_pem().decode().splitlines()[1:-1] if line in text]
    with copied_authorities(copied_rows(home), KEY) as copied:
        again = copied.of(UID)
        assert again is not None
        assert again.cluster.private_key_pem() == made.cluster.private_key_pem()
        assert again.clients.pem == made.clients.pem
        assert copied.of(ClusterUid("other")) is None


def test_a_home_with_another_key_opens_none(engine: Engine, home: Path) -> None:
    of(engine).found(UID)
    AuthorityCopy(engine, home).poll()
    with (
        copied_authorities(copied_rows(home), b"x" * 32) as copied,
        pytest.raises(AuthorityLost, match="does not open"),
    ):
        copied.of(UID)


def test_a_database_that_is_empty_takes_nothing_out_of_the_copy(engine: Engine, home: Path) -> None:
    of(engine).found(UID)
    copy = AuthorityCopy(engine, home)
    copy.poll()
    before = (home / FILE).read_bytes()
    with writing(engine) as transaction:
        transaction.execute(delete(CLUSTER_AUTHORITY))
    copy.poll()
    assert (home / FILE).read_bytes() == before
    of(engine).found(ClusterUid("another"))
    copy.poll()
    assert {row["cluster_uid"] for row in copied_rows(home)} == {UID, "another"}


def test_what_is_newer_counts_whichever_of_the_two_has_it(engine: Engine, home: Path) -> None:
    of(engine).found(UID)
    copy = AuthorityCopy(engine, home)
    copy.poll()
    (first,) = {row["certificate"] for row in copied_rows(home) if row["kind"] == "cluster"}
    with writing(engine) as transaction:
        transaction.execute(delete(CLUSTER_AUTHORITY))
    SqlClusterAuthorities(engine, KeySeal(KEY), lambda: NOW - timedelta(days=1)).found(UID)
    copy.poll()
    assert first in {row["certificate"] for row in copied_rows(home)}, "a database restored from an old backup"


def test_it_is_put_back_into_an_empty_database_for_the_clusters_that_are_rebuilt(engine: Engine, home: Path) -> None:
    made = of(engine).found(UID)
    of(engine).found(ClusterUid("another"))
    AuthorityCopy(engine, home).poll()
    with writing(engine) as transaction:
        transaction.execute(delete(CLUSTER_AUTHORITY))
        put_back(transaction, copied_rows(home), [UID])
    there = of(engine).of(UID)
    assert there is not None
    assert there.cluster.pem == made.cluster.pem
    assert of(engine).of(ClusterUid("another")) is None


@pytest.mark.parametrize("text", ["", "{}", '{"format": "kedge-cluster-authorities 1", "rows": [{"no": "column"}]}'])
def test_a_damaged_file_is_told_and_never_written_over(engine: Engine, home: Path, text: str) -> None:
    (home / FILE).write_text(text)
    of(engine).found(UID)
    with pytest.raises(CopyDamaged, match=f"{FILE} is damaged"):
        AuthorityCopy(engine, home).poll()
    assert (home / FILE).read_text() == text


def test_a_file_of_a_later_release_is_told_as_one(home: Path) -> None:
    (home / FILE).write_text(json.dumps({"format": "kedge-cluster-authorities 2", "rows": []}))
    with pytest.raises(CopyDamaged, match="another release"):
        copied_rows(home)
    assert copied_rows(home / "nowhere") == []


def test_a_key_that_was_replaced_goes_from_the_copy_and_two_of_a_kind_are_told(engine: Engine, home: Path) -> None:
    old = of(engine).found(UID).cluster
    copy = AuthorityCopy(engine, home)
    new = SqlClusterAuthorities(engine, KeySeal(KEY), lambda: NOW + timedelta(days=1)).succeed(UID, "cluster", "asked")
    copy.poll()
    with copied_authorities(copied_rows(home), KEY) as copied, pytest.raises(AuthorityLost, match="was being replaced"):
        copied.of(UID)
    of(engine).remove(UID, old.pem)
    copy.poll()
    assert _with_keys(home) == {new.pem, *_clients(home)}
    with copied_authorities(copied_rows(home), KEY) as copied:
        there = copied.of(UID)
        assert there is not None
        assert there.cluster.pem == new.pem


def test_a_ca_that_was_given_up_on_the_way_back_goes_from_the_copy_and_a_rebuild_finds_one(
    engine: Engine, home: Path
) -> None:
    old, copy = of(engine).found(UID).cluster, AuthorityCopy(engine, home)
    new = SqlClusterAuthorities(engine, KeySeal(KEY), lambda: NOW + timedelta(days=1)).succeed(UID, "cluster", "asked")
    copy.poll()
    assert new.pem in _with_keys(home)
    of(engine).remove(UID, new.pem)
    of(engine).remove(UID, new.pem)
    copy.poll()
    assert _with_keys(home) == {old.pem, *_clients(home)}
    with copied_authorities(copied_rows(home), KEY) as copied:
        there = copied.of(UID)
        assert there is not None
        assert there.cluster.pem == old.pem


def test_a_ca_that_a_restored_database_lacks_was_not_given_up(engine: Engine, home: Path) -> None:
    of(engine).found(UID)
    new = SqlClusterAuthorities(engine, KeySeal(KEY), lambda: NOW + timedelta(days=1)).succeed(UID, "cluster", "asked")
    copy = AuthorityCopy(engine, home)
    copy.poll()
    with writing(engine) as transaction:
        transaction.execute(delete(CLUSTER_AUTHORITY).where(CLUSTER_AUTHORITY.c.certificate == new.pem))
    copy.poll()
    assert new.pem in _with_keys(home)


def test_who_goes_back_twice_has_one_ca_in_the_end(engine: Engine, home: Path) -> None:
    old, copy = of(engine).found(UID).cluster, AuthorityCopy(engine, home)
    for day in (1, 2):
        later = SqlClusterAuthorities(engine, KeySeal(KEY), lambda day=day: NOW + timedelta(days=day))  # type: ignore[misc]
        new = later.succeed(UID, "cluster", f"asked-{day}")
        copy.poll()
        of(engine).remove(UID, new.pem)
        copy.poll()
    with copied_authorities(copied_rows(home), KEY) as copied:
        there = copied.of(UID)
        assert there is not None
        assert there.cluster.pem == old.pem


def _with_keys(home: Path) -> set[str]:
    return {row["certificate"] for row in copied_rows(home) if row["sealed_key"]}


def _clients(home: Path) -> set[str]:
    return {row["certificate"] for row in copied_rows(home) if row["kind"] == "clients"}
