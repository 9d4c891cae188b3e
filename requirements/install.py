"""Installs what a lock file names into a virtual environment, with `uv` instead of pip: a quarter of the time.

    python requirements/install.py requirements/demo.lock .venv --project --trim requirements/demo.trim

Standard library only: it runs before set-up. `uv` itself, and what builds the project's own entry points, come by the
versions and hashes of `setup.lock` into a folder that is removed again. Registries are those pip is set up for, unless
`UV_...` variables say otherwise; packages are kept for other checkouts only where `UV_CACHE_DIR` names a folder.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent
TRIMMED = ".trimmed"
"""In an environment that lacks files: the packages they were of, one a line."""

OF_PIP = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
    "timeout": "UV_HTTP_TIMEOUT",
    "no-index": "UV_NO_INDEX",
}
"""Settings of pip, and the variable that says the same to uv."""


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status of the step that failed, 0 when all is installed."""
    parser = argparse.ArgumentParser(description="Install a lock file into a virtual environment.")
    parser.add_argument("lock", type=Path)
    parser.add_argument("venv", type=Path, help="made if it is not there")
    parser.add_argument("--project", action="store_true", help="this checkout too, editable: the command `kedge`")
    parser.add_argument("--trim", type=Path, metavar="FILE", help="lines `package: pattern of files to remove`")
    asked = parser.parse_args(argv)
    try:
        install(asked.lock.resolve(), asked.venv.absolute(), project=asked.project, trim=asked.trim)
    except subprocess.CalledProcessError as failed:
        print(f"not installed: `{Path(failed.cmd[0]).name} {failed.cmd[1]}` failed", file=sys.stderr)
        return failed.returncode
    return 0


def install(lock: Path, venv: Path, *, project: bool, trim: Path | None) -> None:
    """Raises `subprocess.CalledProcessError`; what failed has told why on stderr."""
    python = venv / "bin" / "python"
    if not python.exists():
        _run([sys.executable, "-m", "venv", str(venv)])
    with tempfile.TemporaryDirectory(prefix=".setup-", dir=venv) as folder:
        tools, cache = Path(folder) / "tools", Path(folder) / "cache"
        pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
        program = PROJECT / ".venv" / "bin" / "uv"  # there once all is installed; environments of tools come after that
        if project or not program.exists():
            wanted = ("--require-hashes", "--target", str(tools), "-r", str(HERE / "setup.lock"))
            _run([*pip, "install", "--quiet", *wanted])
            program = tools / "bin" / "uv"
        # In the environment's own folder: files are linked from there instead of written twice.
        environment = {"UV_CACHE_DIR": str(cache), **as_uv_says(_output([*pip, "config", "list"])), **os.environ}
        uv = [str(program), "pip", "install", "--quiet", "--python", str(python)]
        whole = [] if trim else [word for name in trimmed(venv) for word in ("--reinstall-package", name)]
        _run([*uv, *whole, "--require-hashes", "-r", str(lock)], environment)
        if project:
            build = {**environment, "PYTHONPATH": str(tools)}
            _run([*uv, "--no-deps", "--no-build-isolation", "--reinstall", "-e", str(PROJECT)], build)
    if trim:
        trim_files(venv, trim.read_text())
    else:
        (venv / TRIMMED).unlink(missing_ok=True)


def as_uv_says(config: str) -> Mapping[str, str]:
    """Variables for uv from `pip config list`: lines such as `global.index-url='https://...'`, the last one wins."""
    told: dict[str, str] = {}
    for line in config.splitlines():
        name, _, value = line.partition("=")
        if (variable := OF_PIP.get(name.rpartition(".")[2])) is not None:
            told[variable] = " ".join(value.strip("'\"").replace("\\n", " ").split())
    return told


def trimmed(venv: Path) -> list[str]:
    mark = venv / TRIMMED
    return mark.read_text().split() if mark.exists() else []


def trim_files(venv: Path, rules: str) -> None:
    """Removes files of installed packages. The environment remembers of which: installed whole, they come back."""
    pairs = [line.partition(":")[::2] for line in rules.splitlines() if line.strip() and not line.startswith("#")]
    (venv / TRIMMED).write_text("".join(f"{name}\n" for name in sorted({name for name, _ in pairs})))
    (site,) = venv.glob("lib/python3*/site-packages")
    for path in [path for _, pattern in pairs for path in site.glob(pattern.strip())]:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)  # one of ours may hold another
        else:
            path.unlink()


def _run(command: list[str], environment: Mapping[str, str] | None = None) -> None:
    subprocess.run(command, check=True, env=environment)


def _output(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
