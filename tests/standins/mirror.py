"""A folder in which Terraform finds stand-ins under the vendors' own names, as `plugins` in `<cloud>.yaml` names it."""

import platform
import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULES = ROOT / "terraform" / "modules"
ENVIRONMENT = ROOT / ".cache" / "standins"
"""The stand-ins' own virtual environment (`make setup`): what they need does not go together with Kedge's packages."""

HOST = "registry.terraform.io"

_PINNED = re.compile(r'source\s*=\s*"(?P<source>[\w.-]+/[\w.-]+)"\s*version\s*=\s*"(?P<version>[\w.-]+)"')


def mirrored(folder: Path, *clouds: str, environment: Path = ENVIRONMENT) -> Path:
    """Puts the stand-in of each cloud below `folder`, under the name and version its module pins. Returns `folder`."""
    python, packages = environment / "bin" / "python", next(environment.glob("lib/python*/site-packages"), None)
    if packages is None or not python.exists():
        raise FileNotFoundError(f"{python} is missing: `make setup` makes the environment of the stand-ins")
    for cloud in clouds:
        source, version = pinned(cloud)
        name = source.partition("/")[2]
        there = folder / "terraform" / "plugins" / HOST / source.lower() / version / _platform()
        there.mkdir(parents=True, exist_ok=True)
        executable = there / f"terraform-provider-{name}_v{version}"
        executable.write_text(_script(cloud, python, packages, environment))
        executable.chmod(0o755)
    return folder


def pinned(cloud: str) -> tuple[str, str]:
    """(source, version) of the provider that the module of a cloud pins."""
    found = _PINNED.search((MODULES / cloud / "versions.tf").read_text())
    assert found is not None, f"terraform/modules/{cloud}/versions.tf pins no provider"
    return found["source"], found["version"]


def _script(cloud: str, python: Path, packages: Path, home: Path) -> str:
    """The home of a run is its own folder; the certificate `tf` makes for itself is kept with the environment."""
    code = (
        f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(packages)!r}]; "
        "from tests.standins import lean; lean.before_imports(); "
        f"from tests.standins.provider import main; main([{cloud!r}])"
    )
    return (
        f"#!/bin/sh\n# A stand-in for the vendor's provider; see tests/standins/README.md.\n"
        f"HOME={shlex.quote(str(home))} exec {shlex.quote(str(python))} -I -S -c {shlex.quote(code)}\n"
    )


def _platform() -> str:
    system = "darwin" if platform.system() == "Darwin" else "linux"
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return f"{system}_{machine}"
