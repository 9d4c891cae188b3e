"""Loopback addresses: claimed machine-wide, the same owner gets the same one, nobody gets another's."""

import json
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from providers.errors import ResourceConflict
from providers.local.claimed_addresses import CLAIMS, ClaimedAddresses, claims_dir
from providers.local.ranges import RANGES


def claims(tmp_path: Path, name: str = "one", installation_id: str = "i") -> ClaimedAddresses:
    root = tmp_path / name
    root.mkdir(exist_ok=True)
    return ClaimedAddresses(root, installation_id, tmp_path / "claims")


def test_an_owner_gets_the_same_address_again(tmp_path: Path) -> None:
    first = claims(tmp_path).address_for("u/b-0.g1")
    assert IPv4Address(first) in RANGES["loopback"]
    assert claims(tmp_path).address_for("u/b-0.g1") == first


def test_owners_never_share(tmp_path: Path) -> None:
    one = claims(tmp_path)
    assert len({one.address_for(f"u/b-{n}") for n in range(20)}) == 20


def test_two_installations_never_share(tmp_path: Path) -> None:
    one, two = claims(tmp_path, "one"), claims(tmp_path, "two")
    assert {one.address_for("u/b-0"), one.address_for("u/b-1")}.isdisjoint({two.address_for("u/b-0")})


def test_a_claim_is_free_when_its_installation_is_gone(tmp_path: Path) -> None:
    one = claims(tmp_path, "one")
    address = one.address_for("u/b-0")
    (one.root / "addresses.json").unlink()
    one.root.rmdir()
    assert claims(tmp_path, "two").address_for("u/b-0") == address


def test_a_claim_stays_while_its_installation_is_there_even_without_its_record(tmp_path: Path) -> None:
    one = claims(tmp_path, "one")
    address = one.address_for("u/b-0")
    (one.root / "addresses.json").unlink()
    assert claims(tmp_path, "two").address_for("u/b-0") != address


def test_a_lost_record_gives_an_owner_its_claimed_address_back(tmp_path: Path) -> None:
    one = claims(tmp_path)
    kept = [one.address_for(f"u/b-{n}") for n in range(3)]
    (one.root / "addresses.json").unlink()
    assert one.address_for("u/b-2") == kept[2]
    assert one.address_for("u/b-0") == kept[0]


def test_a_claim_cut_short_is_free(tmp_path: Path) -> None:
    one = claims(tmp_path)
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / str(RANGES["loopback"][1])).touch()
    assert one.address_for("u/b-0") == str(RANGES["loopback"][1])


def test_a_claim_nobody_can_read_is_somebodys(tmp_path: Path) -> None:
    one = claims(tmp_path)
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / str(RANGES["loopback"][1])).write_text("{half")
    assert one.address_for("u/b-0") != str(RANGES["loopback"][1])


def test_a_recorded_address_is_adopted_and_kept(tmp_path: Path) -> None:
    one = claims(tmp_path)
    one.adopt("u/b-0.g1", "127.64.9.9")
    one.adopt("u/b-0.g1", "127.64.9.9")
    assert one.address_for("u/b-0.g1") == "127.64.9.9"
    assert json.loads((tmp_path / "claims" / "127.64.9.9").read_text())["owner"] == "u/b-0.g1"


def test_a_recorded_address_of_somebody_else_is_refused(tmp_path: Path) -> None:
    taken = claims(tmp_path, "one").address_for("u/b-0")
    with pytest.raises(ResourceConflict, match=taken):
        claims(tmp_path, "two").adopt("u/b-0", taken)


def test_the_folder_of_claims_can_be_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CLAIMS, "/somewhere/else")
    assert claims_dir() == Path("/somewhere/else")


def test_the_folder_of_claims_is_for_all_users(tmp_path: Path) -> None:
    claims(tmp_path).address_for("u/b-0")
    assert (tmp_path / "claims").stat().st_mode & 0o7777 == 0o1777
