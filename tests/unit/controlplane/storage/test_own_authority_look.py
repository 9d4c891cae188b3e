"""The files of a CA of the user's own at one look: what signs now, and what would sign from now on."""

from datetime import timedelta
from pathlib import Path

from controlplane.storage.certificates.own_authorities import OwnAuthorities
from controlplane.storage.certificates.own_authority_look import look_at
from tests.own_ca import BEGUN, Pki

NOW = BEGUN + timedelta(days=30)


def own(folder: Path) -> OwnAuthorities:
    return OwnAuthorities({"corporate": folder}, lambda: NOW)


def test_the_one_that_signs_is_there_and_no_other(tmp_path: Path) -> None:
    pki = Pki.root(days=400).below(days=90)
    seen = look_at(own(pki.put(tmp_path)), "corporate", pki.pem, is_own=True)
    assert (seen.problem, seen.is_other, seen.signs) == ("", False, True)
    assert (seen.since, seen.until) == (BEGUN, BEGUN + timedelta(days=90))


def test_one_that_was_certified_anew_with_the_same_key_is_another_one_and_the_first_still_signs(tmp_path: Path) -> None:
    root = Pki.root()
    before = root.below(days=60)
    root.below(key=before.key, since=BEGUN + timedelta(days=20), days=365).put(tmp_path)
    seen = look_at(own(tmp_path), "corporate", before.pem, is_own=True)
    assert (seen.is_other, seen.signs, seen.problem) == (True, True, "")
    assert seen.until == BEGUN + timedelta(days=60)
    assert seen.next_until == BEGUN + timedelta(days=385)


def test_another_key_in_place_of_the_one_that_signs_is_told_apart_from_one_beside_it(tmp_path: Path) -> None:
    before, later = Pki.root(), Pki.root("later", since=BEGUN + timedelta(days=20))
    later.put(tmp_path, "2027")
    assert not look_at(own(tmp_path), "corporate", before.pem, is_own=True).signs
    before.put(tmp_path, "2026")
    seen = look_at(own(tmp_path), "corporate", before.pem, is_own=True)
    assert (seen.is_other, seen.signs) == (True, True)


def test_files_that_are_away_or_open_to_others_sign_nothing_and_say_why(tmp_path: Path) -> None:
    pki = Pki.root()
    folder = pki.put(tmp_path / "ca")
    (folder / "ca-key.pem").chmod(0o644)
    seen = look_at(own(folder), "corporate", pki.pem, is_own=True)
    assert not seen.signs
    assert "can be read by others: chmod 600 it" in seen.problem
    away = look_at(own(tmp_path / "away"), "corporate", pki.pem, is_own=True)
    assert (away.signs, away.is_other) == (False, False)
    assert "cannot be read: No such file" in away.problem


def test_where_kedges_own_signs_the_files_are_another_one(tmp_path: Path) -> None:
    seen = look_at(own(Pki.root().put(tmp_path)), "corporate", Pki.root("kedge").pem, is_own=False)
    assert (seen.is_other, seen.signs, seen.until) == (True, True, None)
