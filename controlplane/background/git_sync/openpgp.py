"""Whether a listed OpenPGP key stands behind the author a commit names: `gpg` checks, in a home of its own.

The list is a file of public keys as `gpg --export` writes it. The home is made for one look and removed after it: no
key, trust or setting of this machine is in it, nothing is fetched, and no agent is started.
"""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from controlplane.background.git_sync.child import Child, GitAnswer, refusal
from controlplane.background.git_sync.signing import BAD, UNKNOWN_KEY, Signature

GPG = "gpg"
NO_GPG = "its OpenPGP signature was not checked: install `gpg` (GnuPG 2.2 or later) where the server runs"
_CONFIG = "no-autostart\ndisable-dirmngr\nno-auto-key-retrieve\ntrust-model always\n"
"""Whether a key counts is the list's word, not that of a web of trust."""

_OVER = {"r": "is revoked", "e": "has expired", "d": "is disabled", "i": "is invalid"}
_ADDRESS = re.compile(r"<([^<>\s]+)>\Z|\A([^<>\s]+@[^<>\s]+)\Z", re.ASCII)
_ESCAPED = re.compile(r"\\x([0-9a-f]{2})", re.ASCII)
_SIGNED_WITH = {"R": "is revoked", "Y": "has expired"}
"""Letters of git that speak of the very key that signed: a subkey may be over while its primary key is not."""


@dataclass(frozen=True, slots=True)
class PgpKey:
    """A listed key: the fingerprint of its primary key, and the addresses its valid user ids name, in lower case.

    `over` says why it does not count any more, "" while it does.
    """

    fingerprint: str
    addresses: tuple[str, ...]
    over: str = ""

    @property
    def words(self) -> str:
        return ", ".join(self.addresses) or self.fingerprint


def pgp_signature(
    child: Child, log: Sequence[str], environ: Mapping[str, str], *, folder: Path, file: Path
) -> Signature:
    """What the OpenPGP signature of a commit comes to. `log` is a git command that tells grade, key and address.

    Raises SourceFault at a limit, Stopped.
    """
    if shutil.which(GPG, path=environ.get("PATH")) is None:
        return Signature(why_not=NO_GPG)
    if not file.is_file():
        return Signature(why_not=f"pgp_keys_file {file} is not there")
    with _home(folder) as home:
        asked = {**environ, "GNUPGHOME": str(home)}
        leading = ("--homedir", str(home), "--batch", "--no-tty")
        child.run([*leading, "--import", str(file)], asked, program=GPG)
        listed = keys_in(child.run([*leading, "--with-colons", "--list-keys"], asked, program=GPG).output.decode())
        if not listed:
            return Signature(why_not=f"pgp_keys_file {file} holds no public key: look with `gpg --show-keys`")
        return judged_pgp(child.run(log, asked), listed)


def keys_in(output: str) -> tuple[PgpKey, ...]:
    """The keys of `gpg --with-colons --list-keys` (GnuPG's doc/DETAILS): `pub`, then its `fpr`, then each `uid`."""
    found: list[PgpKey] = []
    over, fingerprint, addresses = "", "", list[str]()

    def close() -> None:
        if fingerprint:
            found.append(PgpKey(fingerprint, tuple(dict.fromkeys(addresses)), over))

    for line in output.splitlines():
        fields = line.split(":")
        if fields[0] == "pub":
            close()
            over, fingerprint, addresses = _OVER.get(fields[1], ""), "", []
        elif fields[0] == "fpr" and not fingerprint:
            fingerprint = fields[9]
        elif fields[0] == "uid" and fields[1] not in _OVER:
            name = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), fields[9])
            addresses += [next(filter(None, a.groups())).lower() for a in _ADDRESS.finditer(name)]
    close()
    return tuple(found)


def judged_pgp(answer: GitAnswer, listed: Sequence[PgpKey]) -> Signature:
    """What git's letter (`%G?`) comes to, with the primary key's fingerprint and the author's address."""
    grade, _, rest = answer.output.decode("utf-8", "replace").strip().partition("\0")
    primary, _, address = rest.partition("\0")
    if answer.code != 0 or grade in ("", "N"):
        return Signature(why_not=f"git cannot check its signature: {refusal(answer)}")
    key = next((key for key in listed if key.fingerprint == primary), None)
    if grade == "B":
        return Signature(why_not=BAD)
    if grade == "E" or key is None:
        return Signature(why_not=UNKNOWN_KEY)
    if key.over or grade in _SIGNED_WITH:
        return Signature(why_not=f"it is signed with a key of {key.words} that {key.over or _SIGNED_WITH[grade]}")
    if grade != "G":
        why_not = "its signature has expired" if grade == "X" else f"gpg does not vouch for it ({grade})"
        return Signature(why_not=why_not)
    if address.lower() not in key.addresses:
        return Signature(why_not=f"it is signed with the key of {key.words}, and names another author")
    return Signature(by=primary)


@contextmanager
def _home(folder: Path) -> Iterator[Path]:
    """A home for gpg that only this user reads, and that is gone afterwards; what a crash left is removed first."""
    home = folder / "gnupg"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(mode=0o700)
    try:
        (home / "gpg.conf").write_text(_CONFIG)
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)
