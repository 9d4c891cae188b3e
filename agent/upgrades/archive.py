"""An agent's archive: fetched to its very bytes, signed by whom this VM has known from the first, unpacked whole."""

import base64
import binascii
import hashlib
import os
import re
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import httpx

from agent.durable import sync_directory, sync_tree, write_durably
from agent.identity import is_loopback
from agent.platforms import MARK, marked_platform
from agent.upgrades.choice import InstalledBundle
from agent.wire import AgentBuild, AgentOrder, signed_text

_VERSION = re.compile(r"""^__version__ = ["']([^"']+)["']$""", re.MULTILINE)
_KEY_FILE = "key"
_TIMEOUT_S = 30.0
_MOST_BYTES = 1024 * 1024 * 1024
"""Unpacked. An agent with its packages is some 60 MB."""


class ArchiveRefused(Exception):
    """What came is not what was ordered, or nobody may order it. Nothing of it was run, and no other try helps."""


class FetchFailed(Exception):
    """The mirror does not answer, or not with all of it. What now: ask again later."""


def build_for(order: AgentOrder, platform: str) -> AgentBuild:
    """The build of this VM's platform. Raises `ArchiveRefused`."""
    found = next((b for b in order.builds if b.platform == platform), None)
    if found is None:
        there = ", ".join(sorted(b.platform for b in order.builds)) or "none"
        raise ArchiveRefused(f"agent {order.version} has no build for {platform}; there is {there}")
    return found


def check_signature(order: AgentOrder, build: AgentBuild, bundles: Path) -> None:
    """By the key this VM heard of first, which is kept. Raises `ArchiveRefused`, `OSError`."""
    known = bundles / _KEY_FILE
    if known.exists() and known.read_text().strip() != order.key:
        raise ArchiveRefused(
            f"agent {order.version} is signed by another key than the one this VM knows ({known}); nothing was fetched"
        )
    if not _is_signed(order, build):
        raise ArchiveRefused(
            f"the signature of agent {order.version} for {build.platform} is not one by the server's key; nothing was"
            " fetched"
        )
    if not known.exists():
        bundles.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_durably(known, f"{order.key}\n".encode(), mode=0o600)


def fetch(build: AgentBuild, beside: Path, *, transport: httpx.BaseTransport | None = None) -> None:
    """Writes the archive to `beside`. Raises `FetchFailed`, and `ArchiveRefused` for other bytes than those signed."""
    digest, left = hashlib.sha256(), build.size_bytes
    try:
        with (
            httpx.Client(timeout=_TIMEOUT_S, transport=transport, trust_env=not is_loopback(build.url)) as http,
            http.stream("GET", build.url) as answer,
            beside.open("wb") as sink,
        ):
            answer.raise_for_status()
            for block in answer.iter_bytes():
                left -= len(block)
                if left < 0:
                    raise ArchiveRefused(f"{build.url} has more than the {build.size_bytes} bytes that were published")
                digest.update(block)
                sink.write(block)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise FetchFailed(f"{build.url} could not be fetched: {error!r}") from error
    if digest.hexdigest() != build.sha256:
        raise ArchiveRefused(
            f"{build.url} has SHA-256 {digest.hexdigest()}, published is {build.sha256}; nothing of it was used"
        )


def unpack(archive: Path, bundle: InstalledBundle, bundles: Path, *, platform: str = "") -> None:
    """Makes the bundle's directory, whole or not at all. One that says it is for another machine than `platform` is
    refused, whatever it was published for. Raises `ArchiveRefused`, `OSError`."""
    target, beside = bundle.home(bundles), bundles / ".unpacked"
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(mode=0o700)
    try:
        with tarfile.open(archive) as tar:
            for member, path in _plain_files(tar):
                source = tar.extractfile(member)
                if source is None:
                    raise ArchiveRefused(f"{member.name} in the archive has no content")
                (beside / path).parent.mkdir(parents=True, exist_ok=True)
                with source, (beside / path).open("wb") as sink:
                    shutil.copyfileobj(source, sink)
                    os.fchmod(sink.fileno(), 0o755 if member.mode & 0o100 else 0o644)
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise ArchiveRefused(f"the archive of agent {bundle.version} cannot be unpacked: {error}") from error
    said = version_in(beside)
    if said != bundle.version:
        raise ArchiveRefused(f"the archive of agent {bundle.version} holds agent {said or 'of no version'}")
    built_for = marked_platform(beside / MARK)
    if platform and built_for not in ("", platform):
        raise ArchiveRefused(
            f"the archive of agent {bundle.version} for {platform} was built for {built_for}; nothing of it is run"
        )
    sync_tree(beside)
    shutil.rmtree(target, ignore_errors=True)
    beside.rename(target)
    sync_directory(bundles)


def keep_only(bundles: Path, *kept: InstalledBundle | None) -> None:
    """Removes the directories of other agents, and what an interrupted fetch left."""
    names = {b.home(bundles).name for b in kept if b is not None}
    for entry in bundles.iterdir():
        if entry.is_dir() and entry.name not in names:
            shutil.rmtree(entry, ignore_errors=True)
        elif entry.name.endswith(".part"):
            entry.unlink()


def version_in(folder: Path) -> str:
    """What an unpacked agent calls itself, "" where it is none."""
    try:
        found = _VERSION.search((folder / "agent" / "__init__.py").read_text())
    except OSError:
        return ""
    return found.group(1) if found else ""


def knows_tls(folder: Path) -> bool:
    """Whether an unpacked agent is of a release whose nodes may speak TLS: it has this file."""
    return (folder / "agent" / "node_certificate.py").is_file()


def knows_certificates(folder: Path) -> bool:
    """Whether an unpacked agent is of a release that has certificates: it has this file."""
    return (folder / "agent" / "certification.py").is_file()


def _plain_files(tar: tarfile.TarFile) -> Iterator[tuple[tarfile.TarInfo, PurePosixPath]]:
    size = 0
    for member in tar:
        path = PurePosixPath(member.name)
        if path.is_absolute() or ".." in path.parts or not (member.isfile() or member.isdir()):
            raise ArchiveRefused(f"{member.name} in the archive is not a plain file inside it")
        size += member.size
        if size > _MOST_BYTES:
            raise ArchiveRefused(f"the archive unpacks to more than {_MOST_BYTES} bytes")
        if member.isfile():
            yield member, path


def _is_signed(order: AgentOrder, build: AgentBuild) -> bool:
    # 12 MiB of memory that an agent does without until it is upgraded.
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(order.key, validate=True))
        signature = base64.b64decode(build.signature, validate=True)
        key.verify(signature, signed_text(order.version, build.platform, build.sha256))
    except (InvalidSignature, ValueError, binascii.Error):
        return False
    return True
