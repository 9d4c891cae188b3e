"""The agent and the packages it needs, as one archive that a plain VM unpacks: made from this very installation.

The same installation gives the same bytes, so its SHA-256 may stand in settings that are kept under version control.
It holds compiled packages: VMs need the Python version and the processor of the machine the archive was made on.
"""

import gzip
import hashlib
import io
import platform
import re
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from agent import __version__

ROOTS = ("confluent-kafka", "cryptography", "httpx", "nanoarrow", "pydantic")
"""What the agent's modules import; tests/unit/controlplane holds this to the modules themselves."""


class BundleRefused(Exception):
    """A package of the agent is not installed here: no archive is written."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """An archive as it was written."""

    path: Path
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ReadBundle:
    """What an archive holds, and what of VMs can run it, as in `cp311-x86_64`."""

    version: str
    platform: str
    sha256: str
    size_bytes: int


_NAME = re.compile(r"kedge-agent-(?P<version>.+)-(?P<platform>cp[0-9]+-[a-z0-9_]+)\.tar\.gz")
_VERSION = re.compile(r"""^__version__ = ["']([^"']+)["']$""", re.MULTILINE)


def read_bundle(path: Path) -> ReadBundle:
    """An archive that `write_bundle` made, here or elsewhere. Raises `BundleRefused`, `OSError`."""
    named = _NAME.fullmatch(path.name)
    if named is None:
        raise BundleRefused("its name does not say for whom it is: kedge-agent-VERSION-cp311-x86_64.tar.gz is expected")
    body = path.read_bytes()
    try:
        with tarfile.open(fileobj=io.BytesIO(body)) as tar:
            source = tar.extractfile("agent/__init__.py")
            found = _VERSION.search(source.read().decode()) if source is not None else None
    except (tarfile.TarError, KeyError, EOFError, OSError, UnicodeDecodeError) as error:
        raise BundleRefused(f"it is no archive of an agent: {error}") from None
    if found is None or found.group(1) != named["version"]:
        held = found.group(1) if found is not None else "of no version"
        raise BundleRefused(f"its name says agent {named['version']}, it holds agent {held}")
    return ReadBundle(named["version"], named["platform"], hashlib.sha256(body).hexdigest(), len(body))


def write_bundle(folder: Path) -> Bundle:
    """Writes `kedge-agent-<version>-cp3x-<processor>.tar.gz`. Raises `BundleRefused`, `OSError`."""
    name = f"kedge-agent-{__version__}-cp{sys.version_info.major}{sys.version_info.minor}-{platform.machine()}.tar.gz"
    entries = {**_agent_files(), **{k: v for d in _closure() for k, v in _files_of(d)}}
    body = _archive(entries)
    path = folder / name
    folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)
    return Bundle(path, hashlib.sha256(body).hexdigest(), len(body))


def _archive(entries: dict[str, Path]) -> bytes:
    """A tar of plain files, sorted, without times and owners."""
    sink = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=sink, mode="wb", mtime=0, compresslevel=6) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name, path in sorted(entries.items()):
            body = path.read_bytes()
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(body), 0o755 if path.stat().st_mode & 0o100 else 0o644
            tar.addfile(entry, io.BytesIO(body))
    return sink.getvalue()


def _agent_files() -> dict[str, Path]:
    root = Path(str(files("agent")))
    found = (p for p in root.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return {f"agent/{p.relative_to(root)}": p for p in found}


def _closure() -> list[Distribution]:
    """The roots and everything they need here, each once."""
    found: dict[str, Distribution] = {}
    left = list(ROOTS)
    while left:
        name = canonicalize_name(left.pop())
        if name in found:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            raise BundleRefused(f"the agent needs {name}, which is not installed here") from None
        needs = (Requirement(text) for text in found[name].requires or ())
        left += [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
    return list(found.values())


def _files_of(installed: Distribution) -> Iterator[tuple[str, Path]]:
    for file in installed.files or ():
        path = Path(str(file.locate()))
        if ".." not in file.parts and "__pycache__" not in file.parts and path.is_file():
            yield str(file), path
