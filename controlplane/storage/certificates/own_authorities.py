"""CAs of the user's own: files in a directory of the server's machine, read whenever something is to be signed.

    [kafka.own_cas] corporate = "/etc/kedge/corporate-ca"
        NAME.pem        the CA that signs, then those above it, up to a root that signed itself
        NAME-key.pem    its private key, 0600 or 0400, of the server's user

Several may lie beside each other while one takes the place of another: the one that began last is the one to be used.
A key is nowhere but in these files: no row, no event, no log and no backup has it.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from controlplane.storage.certificates.authority_chain import ChainUnusable, check_chain, usable_key
from controlplane.storage.certificates.building import AuthorityKey
from controlplane.storage.certificates.cluster_authority import ClusterAuthority
from events.clock import Clock, utc_now

_KEY = "-key.pem"
_LARGEST = 64 * 1024
"""Bytes of a file; ten certificates have some 20 KiB."""


class OwnAuthorityUnusable(Exception):
    """The files of a CA of the user's own are not there, or cannot be used: what, where and why. What now: retry later;
    a person puts them right, and they are read again at the next look."""


@dataclass(frozen=True, slots=True)
class OwnAuthorities:
    """Thread-safe. `directories`: by the names that specs have for them."""

    directories: Mapping[str, Path]
    clock: Clock = utc_now

    def wanted(self, name: str) -> ClusterAuthority:
        """The one that is to be used of that name, read now and held against all that a CA has to be. Raises
        OwnAuthorityUnusable."""
        folder = self.directories.get(name)
        if folder is None:
            raise OwnAuthorityUnusable(
                f"this server's settings have no CA called `{name}`: add `{name}` with its directory to "
                "[kafka.own_cas], and start the server anew"
            )
        newest = max(_chains(name, folder), key=lambda path: _begins(name, path), default=None)
        if newest is None:
            raise OwnAuthorityUnusable(
                f"CA `{name}`: its directory {folder} has no certificate with a key: put NAME.pem and NAME{_KEY} there"
            )
        return self._read(name, newest)

    def of(self, chain_pem: str) -> ClusterAuthority | None:
        """The one with this very chain, or one that was certified anew with the same key: whoever believes the first
        believes what that key signs under its chain. None where no directory has its key; files that cannot be read
        are none."""
        chain = tuple(x509.load_pem_x509_certificates(chain_pem.encode()))
        for name, folder in self.directories.items():
            try:
                paths = list(_chains(name, folder))
            except OwnAuthorityUnusable:
                continue
            for path in paths:
                try:
                    key = _key(name, path)
                except OwnAuthorityUnusable:
                    continue
                if key.public_key() == chain[0].public_key():
                    return ClusterAuthority(chain[0], key, chain[1:])
        return None

    def _read(self, name: str, path: Path) -> ClusterAuthority:
        """Raises OwnAuthorityUnusable."""
        key = _key(name, path)
        try:
            chain = check_chain(_chain_text(name, path), key, now=self.clock())
        except ChainUnusable as unusable:
            raise OwnAuthorityUnusable(f"CA `{name}`: {path}: {unusable}") from None
        return ClusterAuthority(chain[0], key, chain[1:])


NO_OWN_AUTHORITIES = OwnAuthorities({})
"""Of a server whose settings name none."""


def _chains(name: str, folder: Path) -> Iterator[Path]:
    """Raises OwnAuthorityUnusable."""
    try:
        there = sorted(path for path in folder.iterdir() if path.suffix == ".pem")
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise OwnAuthorityUnusable(f"CA `{name}`: its directory {folder} cannot be read: {why}") from None
    yield from (path for path in there if not path.name.endswith(_KEY))


def _begins(name: str, path: Path) -> datetime:
    """Of the CA in a file. Raises OwnAuthorityUnusable."""
    try:
        return x509.load_pem_x509_certificate(_chain_text(name, path).encode()).not_valid_before_utc
    except ValueError:
        raise OwnAuthorityUnusable(
            f"CA `{name}`: {path}: it holds no certificates (PEM): put that of the CA there, then those above it"
        ) from None


def _chain_text(name: str, path: Path) -> str:
    return _text(name, path, forbidden=0o022, why="can be written by others: chmod 644 it")


def _key(name: str, chain: Path) -> AuthorityKey:
    """Of the private key beside a chain; no word of what stands in it. Raises OwnAuthorityUnusable."""
    path = chain.with_name(f"{chain.stem}{_KEY}")
    text = _text(name, path, forbidden=0o077, why="can be read by others: chmod 600 it")
    try:
        key = serialization.load_pem_private_key(text.encode(), password=None)
    except TypeError:
        raise OwnAuthorityUnusable(f"CA `{name}`: {path} is encrypted: store it without a password, 0600") from None
    except ValueError:
        raise OwnAuthorityUnusable(f"CA `{name}`: {path} holds no private key (PEM)") from None
    try:
        return usable_key(key)
    except ChainUnusable as unusable:
        raise OwnAuthorityUnusable(f"CA `{name}`: {path}: {unusable}") from None


def _text(name: str, path: Path, *, forbidden: int, why: str) -> str:
    """Of a file of the server's user, or of root. Raises OwnAuthorityUnusable."""
    try:
        with path.open("rb") as file:
            seen = os.fstat(file.fileno())
            if stat.S_IMODE(seen.st_mode) & forbidden:
                raise OwnAuthorityUnusable(f"CA `{name}`: {path} {why}")
            if seen.st_uid not in (os.geteuid(), 0):
                raise OwnAuthorityUnusable(
                    f"CA `{name}`: {path} is of user {seen.st_uid}: chown it to the server's user, or to root"
                )
            content = file.read(_LARGEST + 1)
    except FileNotFoundError:
        raise OwnAuthorityUnusable(f"CA `{name}`: {path} is not there: put it there") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise OwnAuthorityUnusable(f"CA `{name}`: {path} cannot be read: {reason}") from None
    if len(content) > _LARGEST or not content.isascii():
        raise OwnAuthorityUnusable(f"CA `{name}`: {path} is no PEM file of a CA")
    return content.decode()
