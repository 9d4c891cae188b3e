"""Commits signed with OpenPGP as the real git and gpg make them, read out of a real clone."""

import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.background.git_sync.binding import GitBinding
from controlplane.background.git_sync.clone import Clone
from controlplane.background.git_sync.openpgp import NO_GPG
from controlplane.background.git_sync.signing import BAD, NO_PGP_KEYS, NO_SIGNERS, NOT_SIGNED, UNKNOWN_KEY, Signature
from controlplane.runtime.egress import Egress
from tests.contract.git_repositories import Upstream, git

LONG_AGO = "20200101T000000"


class People:
    """The keyring somebody signs with: a home of its own, whose agent is ended with the test."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.signing = home / "sign"

    def gpg(self, *arguments: str, given: str = "", at: str = "") -> str:
        then = ["--faked-system-time", at] if at else []
        command = ["gpg", "--homedir", str(self.home), "--batch", "--yes", "--quiet", *then, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, input=given).stdout

    def key(self, *, name: str, expires: str = "0", at: str = "") -> str:
        """Makes one for signing; its fingerprint."""
        who = f"{name.title()} <{name}@example.org>"
        self.gpg("--passphrase", "", "--quick-gen-key", who, "ed25519", "sign", expires, at=at)
        told = self.gpg("--with-colons", "--list-keys", f"{name}@example.org")
        return next(line.split(":")[9] for line in told.splitlines() if line.startswith("fpr:"))

    def program(self, *, at: str = "") -> str:
        """What git calls to sign: this home, and the time it is to be."""
        then = f" --faked-system-time {at}" if at else ""
        self.signing.write_text(f'#!/bin/sh\nexec gpg --homedir "{self.home}" --batch{then} "$@"\n')
        self.signing.chmod(0o700)
        return str(self.signing)

    def close(self) -> None:
        subprocess.run(["gpgconf", "--homedir", str(self.home), "--kill", "all"], check=True, timeout=30)


class Scene:
    """A repository, keys of people, and the list of those that count."""

    def __init__(self, folder: Path, people: People) -> None:
        self.folder = folder
        self.people = people
        self.upstream = Upstream(folder)
        self.listed = folder / "keys.asc"

    def list(self, *keys: str) -> None:
        self.listed.write_text(self.people.gpg("--armor", "--export", *keys))

    def push(self, *, key: str = "", at: str = "", message: str = "change") -> str:
        program = ["-c", f"gpg.program={self.people.program(at=at)}", "-c", f"user.signingkey={key}!"] if key else []
        self.upstream.write("kafka/a.yaml", message)
        self.upstream.git("add", "--all")
        self.upstream.git(*program, "commit", "--quiet", *(["-S"] if key else []), "--message", message)
        return self.upstream.force_push()

    def clone(self, *, keys: Path | None, signers: Path | None = None) -> Clone:
        binding = GitBinding(
            name="teams",
            repository=str(self.upstream.bare),
            path="kafka",
            pgp_keys_file=keys,
            signers_file=signers,
        )
        return Clone(
            binding, self.folder / "clone", local_paths=(self.folder,), stop=threading.Event(), egress=Egress()
        )

    def signature(self) -> Signature:
        """As a server finds it that lists these keys."""
        return self.clone(keys=self.listed).tip(None).signature


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    # A socket of the signer's agent lies in its home, and the path of one has at most 107 signs.
    people = People(Path(tempfile.mkdtemp(prefix="kedge-pgp-")))
    try:
        yield Scene(tmp_path, people)
    finally:
        people.close()
        shutil.rmtree(people.home)


def test_the_author_is_signed_for_where_their_listed_key_signed_the_commit(scene: Scene) -> None:
    ada = scene.people.key(name="ada")
    scene.list(ada)
    scene.push(key=ada)
    assert scene.signature() == Signature(by=ada)
    assert not (scene.folder / "clone" / "gnupg").exists(), "nothing of the look stays"


def test_a_subkey_signs_for_its_primary_key_until_it_is_revoked(scene: Scene) -> None:
    ada = scene.people.key(name="ada")
    scene.people.gpg("--passphrase", "", "--quick-add-key", ada, "ed25519", "sign", "0")
    told = scene.people.gpg("--with-colons", "--list-keys", ada)
    subkey = [line.split(":")[9] for line in told.splitlines() if line.startswith("fpr:")][1]
    scene.list(ada)
    scene.push(key=subkey)
    assert scene.signature() == Signature(by=ada)
    script = "key 1\nrevkey\ny\n3\n\ny\nsave\n"
    scene.people.gpg("--command-fd", "0", "--no-tty", "--edit-key", ada, given=script)
    scene.list(ada)
    assert scene.signature() == Signature(why_not="it is signed with a key of ada@example.org that is revoked")


def test_a_key_that_is_not_listed_is_not_believed_though_the_machine_has_it(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server's own keyring holds the key, trusted to the utmost: it is never asked."""
    ada, bob = scene.people.key(name="ada"), scene.people.key(name="bob")
    scene.people.gpg("--import-ownertrust", given=f"{ada}:6:\n")
    monkeypatch.setenv("GNUPGHOME", str(scene.people.home))
    scene.push(key=ada)
    scene.list(bob)
    assert scene.signature() == Signature(why_not=UNKNOWN_KEY)


def test_bob_cannot_sign_a_commit_that_names_ada(scene: Scene) -> None:
    ada, bob = scene.people.key(name="ada"), scene.people.key(name="bob")
    scene.list(ada, bob)
    scene.push(key=bob)
    assert scene.signature() == Signature(
        why_not="it is signed with the key of bob@example.org, and names another author"
    )


def test_an_address_that_was_revoked_of_a_key_is_no_author_any_more(scene: Scene) -> None:
    bob = scene.people.key(name="bob")
    scene.people.gpg("--quick-add-uid", bob, "Ada <ada@example.org>")
    scene.list(bob)
    scene.push(key=bob)
    assert scene.signature() == Signature(by=bob)
    scene.people.gpg("--quick-revoke-uid", bob, "Ada <ada@example.org>")
    scene.list(bob)
    assert "names another author" in scene.signature().why_not


def test_a_key_that_has_expired_or_is_revoked_by_now_is_not_believed(scene: Scene) -> None:
    over = scene.people.key(name="ada", expires="1y", at=LONG_AGO)
    scene.list(over)
    scene.push(key=over, at="20200601T000000", message="while it counted")
    assert scene.signature() == Signature(why_not=f"it is signed with a key of {over} that has expired")
    scene.people.gpg("--passphrase", "", "--quick-set-expire", over, "0")
    scene.list(over)
    assert scene.signature() == Signature(by=over), "its owner has prolonged it"
    revocation = (scene.people.home / "openpgp-revocs.d" / f"{over}.rev").read_text().replace(":-----", "-----")
    scene.people.gpg("--import", given=revocation)
    scene.list(over)
    assert scene.signature().why_not.endswith("that is revoked")


def test_a_commit_that_was_changed_after_it_was_signed_is_found_out(scene: Scene) -> None:
    ada = scene.people.key(name="ada")
    scene.list(ada)
    scene.push(key=ada, message="small")
    work = scene.upstream.work
    whole = subprocess.run(
        ["git", "-C", str(work), "cat-file", "commit", "HEAD"], capture_output=True, check=True, timeout=30
    ).stdout
    (work / "forged").write_bytes(whole.replace(b"\nsmall\n", b"\nLARGE\n"))
    commit = git("-C", str(work), "hash-object", "-t", "commit", "-w", str(work / "forged"))
    scene.upstream.git("reset", "--quiet", "--hard", commit)
    scene.upstream.force_push()
    assert scene.signature() == Signature(why_not=BAD)


def test_what_the_list_does_not_speak_of_is_claimed_with_the_reason(scene: Scene) -> None:
    ada = scene.people.key(name="ada")
    scene.list(ada)
    scene.push()
    assert scene.signature() == Signature(why_not=NOT_SIGNED)
    scene.push(key=ada, message="signed")
    signers = scene.folder / "signers"
    signers.write_text("")
    assert scene.clone(keys=None, signers=signers).tip(None).signature == Signature(why_not=NO_PGP_KEYS)
    assert scene.clone(keys=None).tip(None).signature == Signature()
    ssh = scene.folder / "ssh"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(ssh)], check=True, timeout=30)
    scene.upstream.write("kafka/a.yaml", "by ssh")
    scene.upstream.git("add", "--all")
    signing = ("-c", "gpg.format=ssh", "-c", f"user.signingkey={ssh}")
    scene.upstream.git(*signing, "commit", "--quiet", "-S", "--message", "by ssh")
    scene.upstream.force_push()
    assert scene.signature() == Signature(why_not=NO_SIGNERS)


def test_a_list_that_makes_no_sense_and_a_missing_program_stop_nothing(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = scene.people.key(name="ada")
    scene.push(key=ada)
    assert "is not there" in scene.signature().why_not
    scene.listed.write_text("nonsense")
    assert "holds no public key" in scene.signature().why_not
    scene.list(ada)
    without = scene.folder / "bin"
    without.mkdir()
    git_program = shutil.which("git")
    assert git_program is not None
    (without / "git").symlink_to(git_program)
    monkeypatch.setenv("PATH", str(without))
    assert scene.signature() == Signature(why_not=NO_GPG)


def test_a_file_of_private_keys_counts_as_their_public_halves_and_starts_no_agent(scene: Scene) -> None:
    ada = scene.people.key(name="ada")
    secret = scene.people.gpg("--pinentry-mode", "loopback", "--passphrase", "", "--armor", "--export-secret-keys", ada)
    scene.listed.write_text(secret)
    scene.push(key=ada)
    assert scene.signature() == Signature(by=ada)
    homes = [Path("/proc") / pid / "cmdline" for pid in os.listdir("/proc") if pid.isdigit()]
    running = [file.read_bytes() for file in homes if file.exists()]
    assert not [words for words in running if b"agent" in words and str(scene.folder).encode() in words]
