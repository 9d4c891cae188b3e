"""The agent's packages for another processor than this machine's: pip fetches wheels, held to `requirements.lock`.

Nothing of them is run or built here: wheels alone, and only those whose SHA-256 is in the lock.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from packaging.utils import canonicalize_name

import controlplane

NEWEST_GLIBC = 36
"""VMs have glibc 2.36 or newer: that of Debian 12."""
_OLDEST_GLIBC = 17
"""That of manylinux2014, the oldest wheels are built for (PEP 599)."""

_GIVE_UP_S = 900.0
_LOCKED = re.compile(
    r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)[^\n]*(?P<hashes>(?:\n +--hash=\S+(?: \\)?)+)", re.M
)

Run = Callable[[list[str]], "subprocess.CompletedProcess[str]"]


class WheelsMissing(Exception):
    """No wheel for that processor could be had, or the lock does not name a package. What now: the message says it."""


def lock_file() -> Path:
    """`requirements.lock` of this installation. Raises `WheelsMissing`."""
    package = Path(controlplane.__file__).parent
    for candidate in (package.parent / "requirements.lock", package / "_requirements.lock"):
        if candidate.is_file():
            return candidate
    raise WheelsMissing(
        f"there is no requirements.lock beside {package}, which says which packages those are: reinstall Kedge"
    )


def locked(names: Iterable[str], lock: str) -> str:
    """What a lock file says of these packages, with their hashes. Raises `WheelsMissing` for one it does not name."""
    known = {canonicalize_name(one["name"]): one for one in _LOCKED.finditer(lock)}
    wanted = sorted(set(map(canonicalize_name, names)))
    if missing := [name for name in wanted if name not in known]:
        raise WheelsMissing(f"requirements.lock does not name {', '.join(missing)}, which the agent needs: `make lock`")
    return "".join(f"{name}=={known[name]['version']} \\{known[name]['hashes']}\n" for name in wanted)


def fetch_wheels(requirements: str, folder: Path, *, processor: str, python: str, run: Run | None = None) -> None:
    """Unpacks the wheels of a lock's lines into `folder`, with pip as it is set up here (index, proxy, CA).

    `processor` is Linux's word, as in `aarch64`; `python` as in `3.11`. Raises `WheelsMissing`, `OSError`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wanted = folder.with_name(f"{folder.name}.lock")
    wanted.write_text(requirements)
    command = [
        *(sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"),
        *("--target", str(folder), "--no-deps", "--no-compile", "--only-binary=:all:", "--require-hashes"),
        *("--implementation", "cp", "--python-version", python),
        *(part for tag in _platforms(processor) for part in ("--platform", tag)),
        *("--requirement", str(wanted)),
    ]
    try:
        ended = (run or _run)(command)
    except subprocess.TimeoutExpired:
        raise WheelsMissing(f"pip did not fetch them in {_GIVE_UP_S:.0f} s") from None
    if ended.returncode:
        raise WheelsMissing(_reason(ended.stderr or ended.stdout))


def _platforms(processor: str) -> Iterator[str]:
    """What wheels a VM can load are built for, newest first: pip takes these words to the letter (PEP 600)."""
    yield from (f"manylinux_2_{minor}_{processor}" for minor in range(NEWEST_GLIBC, _OLDEST_GLIBC - 1, -1))
    yield f"manylinux2014_{processor}"


def _run(command: list[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=_GIVE_UP_S)


def _reason(said: str) -> str:
    """pip's own error lines, in one."""
    if "No module named pip" in said:
        return f"pip fetches them, and {sys.executable} has none: `{sys.executable} -m ensurepip`"
    errors = [line.removeprefix("ERROR: ").strip() for line in said.splitlines() if line.startswith("ERROR: ")]
    return f"pip said: {'; '.join(dict.fromkeys(errors)) or said.strip()[-500:] or 'nothing'}"
