"""Programs built from Go modules that a `go.mod` of ours names and a `go.sum` holds to their sources.

python -m tests.tools.gobuild --module FOLDER --package IMPORT/PATH --output FILE
"""

import argparse
import os
import shutil
import subprocess
import time
from pathlib import Path

_TRIES = 5
_TRY_S = 180
"""A proxy of modules that is busy refuses, or holds a connection for ever: another try gets on from what is there."""

_AT_A_TIME = 2
"""Packages compiled at once: the largest takes 0.45 GiB."""


def build(module: Path, package: str, output: Path) -> None:
    """Builds the package of the module in that folder. Says what to do where there is no `go`, or no modules come."""
    if shutil.which("go") is None:
        raise SystemExit(f"{package} is built from source and there is no `go` here: install Go 1.26 or later")
    output.parent.mkdir(parents=True, exist_ok=True)
    made = output.absolute().with_suffix(".new")
    _fetch(module)
    command = ["nice", "-n", "19", "go", "build", "-p", str(_AT_A_TIME), "-trimpath", "-ldflags", "-s -w"]
    environment = {**os.environ, "CGO_ENABLED": "0"}
    subprocess.run([*command, "-o", str(made), package], cwd=module, env=environment, check=True)
    made.rename(output)


def _fetch(module: Path) -> None:
    """Its modules, into Go's own cache."""
    for tried in range(1, _TRIES + 1):
        try:
            subprocess.run(["go", "mod", "download"], cwd=module, check=True, timeout=_TRY_S)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            print(f"Go's modules could not be fetched (try {tried} of {_TRIES}): {error}", flush=True)
            time.sleep(5 * tried)
        else:
            return
    raise SystemExit(f"Go's modules of {module / 'go.mod'} could not be fetched: what `go` said is above")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build a program from a Go module.")
    parser.add_argument("--module", type=Path, required=True, help="the folder of go.mod")
    parser.add_argument("--package", required=True, help="the import path of its main package")
    parser.add_argument("--output", type=Path, required=True, help="the file to make")
    told = parser.parse_args()
    build(told.module, told.package, told.output)
