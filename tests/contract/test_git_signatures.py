"""Signed commits as the real git and ssh-keygen make them, read out of a real clone."""

import subprocess
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from controlplane.background.git_sync.binding import GitBinding
from controlplane.background.git_sync.clone import Clone
from controlplane.background.git_sync.signing import BAD, NOT_SIGNED, OTHER_SIGNATURE, UNKNOWN_KEY, Signature
from controlplane.runtime.egress import Egress
from tests.contract.git_repositories import Upstream, git

NOW = datetime(2026, 6, 1, tzinfo=UTC)


class Scene:
    """A repository, keys of two people, and the list of those that count."""

    def __init__(self, folder: Path, *, ids: str = "sha1") -> None:
        self.folder = folder
        self.upstream = Upstream(folder, ids=ids)
        self.signers = folder / "signers"
        self.keys = {name: self._made(name) for name in ("ada", "bob")}

    def list(self, *lines: str) -> None:
        self.signers.write_text("".join(f"{line}\n" for line in lines))

    def public(self, name: str) -> str:
        return self.keys[name].with_suffix(".pub").read_text().strip()

    def push(self, *, key: str = "", message: str = "change") -> str:
        signing = ["-c", "gpg.format=ssh", "-c", f"user.signingkey={self.keys[key]}"] if key else []
        self.upstream.write("kafka/a.yaml", message)
        self.upstream.git("add", "--all")
        self.upstream.git(*signing, "commit", "--quiet", *(["-S"] if key else []), "--message", message)
        return self.upstream.force_push()

    def signature(self) -> Signature:
        """As a server finds it that lists these signers."""
        binding = GitBinding(name="teams", repository=str(self.upstream.bare), path="kafka", signers_file=self.signers)
        clone = Clone(
            binding,
            self.folder / "clone",
            local_paths=(self.folder,),
            stop=threading.Event(),
            egress=Egress(),
            clock=lambda: NOW,
        )
        return clone.tip(None).signature

    def _made(self, name: str) -> Path:
        file = self.folder / name
        made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(file)]
        subprocess.run(made, check=True, capture_output=True, timeout=30)
        return file


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_the_author_is_signed_for_where_their_listed_key_signed_the_commit(scene: Scene) -> None:
    scene.list(f"ada@example.org {scene.public('ada')}")
    scene.push(key="ada")
    shown = subprocess.run(
        ["ssh-keygen", "-lf", str(scene.keys["ada"])], capture_output=True, text=True, check=True, timeout=30
    ).stdout
    assert scene.signature() == Signature(by=shown.split()[1])


def test_a_signed_commit_of_a_sha256_repository_is_read_like_any_other(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ids="sha256")
    scene.list(f"ada@example.org {scene.public('ada')}")
    commit = scene.push(key="ada")
    assert len(commit) == 64
    assert scene.signature().by.startswith("SHA256:")


def test_a_commit_nobody_signed_is_claimed_with_the_reason(scene: Scene) -> None:
    scene.list(f"ada@example.org {scene.public('ada')}")
    scene.push()
    assert scene.signature() == Signature(why_not=NOT_SIGNED)


def test_a_key_that_is_not_listed_and_one_that_is_over_make_no_author(scene: Scene) -> None:
    scene.push(key="ada")
    scene.list(f"bob@example.org {scene.public('bob')}")
    assert scene.signature() == Signature(why_not=UNKNOWN_KEY)
    scene.list(f'ada@example.org valid-before="20260101Z" {scene.public("ada")}')
    assert "time is over" in scene.signature().why_not
    scene.list(f'ada@example.org namespaces="file" {scene.public("ada")}')
    assert scene.signature().by == ""


def test_bob_cannot_sign_a_commit_that_names_ada(scene: Scene) -> None:
    scene.list(f"ada@example.org {scene.public('ada')}", f"bob@example.org {scene.public('bob')}")
    scene.push(key="bob")
    assert "bob@example.org" in scene.signature().why_not
    assert scene.signature().by == ""


def test_a_commit_that_was_changed_after_it_was_signed_is_found_out(scene: Scene) -> None:
    scene.list(f"ada@example.org {scene.public('ada')}")
    scene.push(key="ada", message="small")
    work = scene.upstream.work
    forged = subprocess.run(
        ["git", "-C", str(work), "cat-file", "commit", "HEAD"], capture_output=True, check=True, timeout=30
    ).stdout.replace(b"small", b"LARGE")
    (work / "forged").write_bytes(forged)
    commit = git("-C", str(work), "hash-object", "-t", "commit", "-w", str(work / "forged"))
    scene.upstream.git("reset", "--quiet", "--hard", commit)
    scene.upstream.force_push()
    assert scene.signature() == Signature(why_not=BAD)


def test_an_x509_signature_is_told_and_no_program_is_run_for_it(scene: Scene) -> None:
    scene.list(f"ada@example.org {scene.public('ada')}")
    scene.push()
    work = scene.upstream.work
    plain = subprocess.run(
        ["git", "-C", str(work), "cat-file", "commit", "HEAD"], capture_output=True, check=True, timeout=30
    ).stdout
    head, _, words = plain.partition(b"\n\n")
    block = b"\ngpgsig -----BEGIN SIGNED MESSAGE-----\n abc\n -----END SIGNED MESSAGE-----\n\n"
    (work / "signed").write_bytes(head + block + words)
    commit = git("-C", str(work), "hash-object", "-t", "commit", "-w", str(work / "signed"))
    scene.upstream.git("reset", "--quiet", "--hard", commit)
    scene.upstream.force_push()
    assert scene.signature() == Signature(why_not=OTHER_SIGNATURE)


def test_a_list_that_makes_no_sense_stops_nothing(scene: Scene) -> None:
    scene.push(key="ada")
    assert "signers_file" in scene.signature().why_not
    scene.list("nonsense")
    assert "line 1" in scene.signature().why_not
