"""A folder in which Terraform finds stand-ins under the vendors' own names, as `plugins` in `<cloud>.yaml` names it."""

import atexit
import functools
import os
import platform
import re
import shlex
import subprocess
import uuid
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULES = ROOT / "terraform" / "modules"
ENVIRONMENT = ROOT / ".cache" / "standins"
"""The stand-ins' own virtual environment (`make setup`): what they need does not go together with Kedge's packages."""

HOST = "registry.terraform.io"

_HERE = Path(__file__).parent
_NURSERY = "nursery"
"""A file beside what Terraform looks at, with the name of the socket."""

_PINNED = re.compile(r'source\s*=\s*"(?P<source>[\w.-]+/[\w.-]+)"\s*version\s*=\s*"(?P<version>[\w.-]+)"')


def mirrored(folder: Path, *clouds: str, environment: Path = ENVIRONMENT) -> Path:
    """Puts the stand-in of each cloud below `folder`, under the name and version its module pins. Returns `folder`.

    Plugins found there are taken over by a process of this one's (`nursery.py`), but for those of another environment.
    A test whose id does not say that it has a stand-in fails: nobody is to read it as one of the vendor's provider.
    """
    test = os.environ.get("PYTEST_CURRENT_TEST", "")
    assert not test or re.search("stand.?in", test), f"say in the id of the test that it has a stand-in: {test}"
    python, packages = environment / "bin" / "python", next(environment.glob("lib/python*/site-packages"), None)
    if packages is None or not python.exists():
        raise FileNotFoundError(f"{python} is missing: `make setup` makes the environment of the stand-ins")
    if environment == ENVIRONMENT:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _NURSERY).write_text(_nursery(python, packages))
    for cloud in clouds:
        source, version = pinned(cloud)
        name = source.partition("/")[2]
        there = folder / "terraform" / "plugins" / HOST / source.lower() / version / _platform()
        there.mkdir(parents=True, exist_ok=True)
        executable = there / f"terraform-provider-{name}_v{version}"
        executable.write_text(_script(folder / _NURSERY, cloud, python, packages, environment))
        executable.chmod(0o755)
    return folder


def pinned(cloud: str) -> tuple[str, str]:
    """(source, version) of the provider that the module of a cloud pins."""
    found = _PINNED.search((MODULES / cloud / "versions.tf").read_text())
    assert found is not None, f"terraform/modules/{cloud}/versions.tf pins no provider"
    return found["source"], found["version"]


def by_themselves(folder: Path, yes: bool = True) -> None:
    """From here on each plugin of `mirrored` is the process that Terraform started and no other, to be killed.

    With `yes` false no more. Does nothing where it is so already.
    """
    here, away = folder / _NURSERY, folder / f"{_NURSERY}.away"
    with suppress(FileNotFoundError):
        (here if yes else away).rename(away if yes else here)


def _script(nursery: Path, cloud: str, python: Path, packages: Path, home: Path) -> str:
    """The home of a run is its own folder; the certificate `tf` makes for itself is kept with the environment."""
    arguments = (python, "-I", "-S", _HERE / "handed.py", nursery, cloud, packages)
    return (
        f"#!/bin/sh\n# A stand-in for the vendor's provider; see tests/standins/README.md.\n"
        f"HOME={shlex.quote(str(home))} exec {shlex.join(map(str, arguments))}\n"
    )


@functools.cache
def _nursery(python: Path, packages: Path) -> str:
    """The name at which plugins are taken over for as long as this process is there; it listens."""
    name = f"kedge-standins-{uuid.uuid4()}"
    code = f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(packages)!r}]; "
    code += f"from tests.standins.nursery import main; main({name!r})"
    # It ends when this end of its input is closed, by whatever ends this process.
    started = subprocess.Popen(
        [python, "-I", "-S", "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"HOME": str(python.parents[1])},  # nothing of the test's: processes are found, and ended, by that
        start_new_session=True,
    )
    assert started.stdin is not None
    assert started.stdout is not None
    atexit.register(started.wait, 10)
    atexit.register(started.stdin.close)
    assert started.stdout.readline() == b"listening\n", "the nursery of the stand-ins does not start"
    return name


def _platform() -> str:
    system = "darwin" if platform.system() == "Darwin" else "linux"
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return f"{system}_{machine}"
