"""A release as its users get it: what it is signed by, what it says of itself, and that two builds are the same."""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.tools.release.bill import ROOT, BillRefused, vendored
from tests.tools.release.files import BILL, SIGNATURE, SUMS, ReleaseRefused, make, packages

WHO = "releaser@example.org"


@pytest.fixture(scope="module")
def keyring() -> Iterator[Path]:
    """A releaser's key in a home of its own, whose agent ends with the tests."""
    # Not below pytest's folder: the agent's socket takes 107 characters of a path.
    home = Path(tempfile.mkdtemp(prefix="kedge-gpg-"))
    before, os.environ["GNUPGHOME"] = os.environ.get("GNUPGHOME"), str(home)
    try:
        key = ("gpg", "--batch", "--quiet", "--passphrase", "", "--quick-gen-key", WHO, "ed25519", "sign", "0")
        subprocess.run(key, check=True, capture_output=True)
        yield home
    finally:
        subprocess.run(["gpgconf", "--kill", "gpg-agent"], check=True, capture_output=True)
        os.environ.pop("GNUPGHOME")
        if before is not None:
            os.environ["GNUPGHOME"] = before
        shutil.rmtree(home, onerror=_unless_gone)


def _unless_gone(_function: object, _path: str, error: Any) -> None:
    """The agent that was told to end takes its sockets away itself, at the same time."""
    if not isinstance(error[1], FileNotFoundError):
        raise error[1]


@pytest.fixture(scope="module")
def released(keyring: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("released")
    # Of the other processor the index would be asked.
    make(ROOT, out, key=WHO, processors=(platform.machine(),))
    return out


@pytest.fixture
def copy(released: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(released, tmp_path / "copy"))


def said(*command: str) -> str:
    """Of the commit that is released, whatever lies uncommitted beside it."""
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def verified(folder: Path) -> bool:
    """What docs/security.md tells users to run."""
    command = f"gpg --verify {SIGNATURE} {SUMS} && sha256sum --check --strict {SUMS}"
    return subprocess.run(["sh", "-c", command], cwd=folder, check=False, capture_output=True).returncode == 0


def test_the_command_in_the_docs_accepts_a_release_as_it_was_made(released: Path) -> None:
    assert f"gpg --verify {SIGNATURE} {SUMS} && sha256sum --check --strict {SUMS}" in (
        (ROOT / "docs" / "security.md").read_text()
    )
    assert verified(released)


def test_the_sums_name_every_file_but_themselves_and_their_signature(released: Path) -> None:
    named = {line.split()[1] for line in (released / SUMS).read_text().splitlines()}
    assert named == {path.name for path in released.iterdir()} - {SUMS, SIGNATURE}
    assert {Path(name).suffix for name in named} == {".whl", ".gz", ".json"}
    assert sum(name.startswith("kedge-agent-") for name in named) == 1


@pytest.mark.parametrize("kind", ["kedge-*.whl", "kedge-0*.tar.gz", "kedge-agent-*", BILL])
def test_a_file_that_was_tampered_with_is_refused(copy: Path, kind: str) -> None:
    (file,) = copy.glob(kind)
    body = bytearray(file.read_bytes())
    body[len(body) // 2] ^= 1
    file.write_bytes(body)
    assert not verified(copy)


def test_a_file_and_its_sum_changed_together_are_refused(copy: Path) -> None:
    file = copy / BILL
    old = hashlib.sha256(file.read_bytes()).hexdigest()
    file.write_text("{}")
    sums = copy / SUMS
    sums.write_text(sums.read_text().replace(old, hashlib.sha256(b"{}").hexdigest()))
    subprocess.run(["sha256sum", "--check", "--strict", SUMS], cwd=copy, check=True, capture_output=True)
    assert not verified(copy)


def test_wheel_and_source_archive_are_the_same_bytes_wherever_and_whenever_built(
    released: Path, tmp_path: Path
) -> None:
    tree, out = tmp_path / "elsewhere", tmp_path / "out"
    tree.mkdir()
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "--touch"], cwd=tree, input=archive, check=True)  # times of now, not of the commit
    packages(tree, out, said("git", "log", "-1", "--format=%ct").strip())
    built = {path.name: path.read_bytes() for path in out.iterdir()}
    assert len(built) == 2
    assert all(body == (released / name).read_bytes() for name, body in built.items())


def test_the_bill_tells_what_runs_from_what_only_tests_use(released: Path) -> None:
    told = {one["name"]: one for one in json.loads((released / BILL).read_text())["components"]}
    assert told["fastapi"]["scope"] == "required"
    assert told["psycopg-binary"]["scope"] == "required", "by way of an extra"
    assert told["pytest"]["scope"] == "excluded"
    agent = {
        name for name, one in told.items() if {"name": "kedge:agent", "value": "true"} in one.get("properties", [])
    }
    assert {"pydantic", "cryptography", "pydantic-core"} <= agent
    assert "fastapi" not in agent


def test_the_bill_names_each_locked_package_with_its_hashes(released: Path) -> None:
    lines = said("git", "show", "HEAD:requirements.lock").splitlines()
    locked = {line.split("==")[0]: line.split("==")[1].split()[0] for line in lines if line[:1].isalnum()}
    told = {one["name"]: one for one in json.loads((released / BILL).read_text())["components"]}
    assert len(locked) > 100
    assert {name: told[name]["version"] for name in locked} == locked
    assert all(told[name]["externalReferences"][0]["hashes"] for name in locked)


def test_the_bill_names_what_is_vendored_by_the_hash_the_file_has() -> None:
    told = vendored(ROOT)
    assert {one["purl"].split("@")[0] for one in told} == {"pkg:npm/htmx.org", "pkg:npm/uplot"}
    for one in told:
        file = ROOT / "controlplane" / "portal" / "static" / "vendor" / one["name"]
        assert one["hashes"][0]["content"] == hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_vendored_file_that_nothing_is_said_of_is_in_no_bill_without_a_word(tmp_path: Path) -> None:
    folder = tmp_path / "controlplane" / "portal" / "static" / "vendor"
    shutil.copytree(ROOT / "controlplane" / "portal" / "static" / "vendor", folder)
    (folder / "stranger.min.js").write_text("//")
    with pytest.raises(BillRefused, match=r"stranger\.min\.js"):
        vendored(tmp_path)


def test_what_lies_in_the_folder_already_is_not_signed(tmp_path: Path) -> None:
    (tmp_path / "stranger.whl").write_text("")
    with pytest.raises(ReleaseRefused, match="not empty"):
        make(ROOT, tmp_path)
