"""The agent and the packages it needs, as archives that plain VMs unpack: one for each processor.

That of this machine is made from this very installation, offline; the same installation gives the same bytes, so its
SHA-256 may stand in settings that are kept under version control. Those of other processors hold the wheels that
`requirements.lock` names, which pip fetches. VMs need the Python version of the machine the archives were made on.
"""

import gzip
import hashlib
import io
import platform
import re
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from agent import __version__
from agent.platforms import MARK
from controlplane.server.agent_wheels import WheelsMissing, fetch_wheels, lock_file, locked

ROOTS = ("confluent-kafka", "cryptography", "httpx", "nanoarrow", "prometheus-client", "pydantic")
"""What the agent's modules import; tests/unit/controlplane holds this to the modules themselves."""


PROCESSORS = ("x86_64", "aarch64")
"""What clouds sell, in Linux's words."""

_SYNONYMS = {"amd64": "x86_64", "arm64": "aarch64"}
"""As others call them, the image catalogue among them."""

Fetch = Callable[[str, Path], None]
"""Lines of the lock file, and the folder their packages come into. Raises `WheelsMissing`."""


class BundleRefused(Exception):
    """A package of the agent cannot be had: no archive is written."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """An archive as it was written. `processor`: in Linux's word."""

    path: Path
    sha256: str
    size_bytes: int
    processor: str


@dataclass(frozen=True, slots=True)
class ReadBundle:
    """What an archive holds, and what of VMs can run it, as in `cp311-x86_64`."""

    version: str
    platform: str
    sha256: str
    size_bytes: int


_INIT = "agent/__init__.py"
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
            identity = _identity_files(tar)
    except (tarfile.TarError, KeyError, EOFError, OSError, UnicodeDecodeError) as error:
        raise BundleRefused(f"it is not an archive of an agent: {error}") from None
    found, built_for = _VERSION.search(identity.get(_INIT, "")), identity.get(MARK, "").strip()
    if found is None or found.group(1) != named["version"]:
        held = found.group(1) if found is not None else "of no version"
        raise BundleRefused(f"its name says agent {named['version']}, it holds agent {held}")
    if built_for not in ("", named["platform"]):
        raise BundleRefused(f"its name says it is for {named['platform']}, it was built for {built_for}")
    return ReadBundle(named["version"], named["platform"], hashlib.sha256(body).hexdigest(), len(body))


def _identity_files(tar: tarfile.TarFile) -> dict[str, str]:
    """The files that say which agent it is. They are among the first."""
    files: dict[str, str] = {}
    for member in tar:
        if member.name in (_INIT, MARK) and (source := tar.extractfile(member)) is not None:
            files[member.name] = source.read().decode()
        if len(files) == 2:
            break
    return files


def processor_named(name: str) -> str:
    """`aarch64` for `arm64`, too. Raises `BundleRefused` for one no cloud sells."""
    found = _SYNONYMS.get(name, name)
    if found not in PROCESSORS:
        raise BundleRefused(f"no VM has the processor {name!r}; there are {', '.join(PROCESSORS)}")
    return found


def write_bundle(folder: Path, processor: str = "", *, fetch: Fetch | None = None) -> Bundle:
    """Writes `kedge-agent-<version>-cp3x-<processor>.tar.gz`. `processor`: that of this machine unless told.

    Raises `BundleRefused`, `OSError`.
    """
    processor = processor_named(processor or platform.machine())
    if processor == platform.machine() and sys.platform == "linux":
        packages = {k: v for d in _closure({}) for k, v in _files_of(d)}
        return _written(folder, processor, packages)
    with tempfile.TemporaryDirectory(prefix="kedge-agent-bundle-") as beside:
        fetched = Path(beside) / "packages"
        needed = [d.metadata["Name"] for d in _closure(_environment(processor))]
        get = fetch or partial(fetch_wheels, processor=processor, python=f"{sys.version_info[0]}.{sys.version_info[1]}")
        try:
            get(locked(needed, lock_file().read_text()), fetched)
        except WheelsMissing as error:
            raise BundleRefused(f"the agent's packages for {processor}: {error}") from None
        return _written(folder, processor, _files_below(fetched))


def _written(folder: Path, processor: str, packages: dict[str, Path]) -> Bundle:
    built_for = f"cp{sys.version_info.major}{sys.version_info.minor}-{processor}"
    entries: dict[str, Path | bytes] = {**_agent_files(), **packages, MARK: f"{built_for}\n".encode()}
    body = _archive(entries)
    path = folder / f"kedge-agent-{__version__}-{built_for}.tar.gz"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)
    return Bundle(path, hashlib.sha256(body).hexdigest(), len(body), processor)


def _archive(entries: dict[str, Path | bytes]) -> bytes:
    """A tar of plain files, sorted, without times and owners."""
    sink = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=sink, mode="wb", mtime=0, compresslevel=6) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name, held in sorted(entries.items()):
            body = held if isinstance(held, bytes) else held.read_bytes()
            may_run = isinstance(held, Path) and held.stat().st_mode & 0o100
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(body), 0o755 if may_run else 0o644
            tar.addfile(entry, io.BytesIO(body))
    return sink.getvalue()


def _agent_files() -> dict[str, Path]:
    root = Path(str(files("agent")))
    found = (p for p in root.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return {f"agent/{p.relative_to(root)}": p for p in found}


def _files_below(folder: Path) -> dict[str, Path]:
    """Of unpacked wheels, without the programs some bring along."""
    found = (p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return {name: p for p in found if not (name := str(p.relative_to(folder))).startswith("bin/")}


def _environment(processor: str) -> dict[str, str]:
    """Of a VM with that processor, for the markers of packages."""
    return {"platform_machine": processor, "sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"}


def _closure(environment: dict[str, str]) -> list[Distribution]:
    """The roots and everything they need there, each once; what is not told of it is as it is here."""
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
        left += [
            need.name for need in needs if need.marker is None or need.marker.evaluate({**environment, "extra": ""})
        ]
    return list(found.values())


def _files_of(installed: Distribution) -> Iterator[tuple[str, Path]]:
    for file in installed.files or ():
        path = Path(str(file.locate()))
        if ".." not in file.parts and "__pycache__" not in file.parts and path.is_file():
            yield str(file), path
