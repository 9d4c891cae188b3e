"""Terraform's provider for Hetzner Cloud, built from its Go module, in a folder where Terraform finds it by itself.

    python -m tests.tools.hcloud.build --cache .cache

`go.mod` beside this file names the version, `go.sum` what its sources must be. The binary is built anew only when
`go.mod` changes. Users get the same provider from Terraform's registry; this is for machines that run the tests.
"""

import argparse
import os
import platform
import re
import subprocess
from pathlib import Path

from tests.tools import gobuild

HERE = Path(__file__).parent
MODULE = Path(__file__).parents[3] / "terraform" / "modules" / "hetzner"
PACKAGE = "github.com/hetznercloud/terraform-provider-hcloud"
SOURCE = "hetznercloud/hcloud"


def version() -> str:
    """The version `go.mod` names, without its `v`."""
    found = re.search(rf"^\s*{re.escape(PACKAGE)} v(\S+)", (HERE / "go.mod").read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit(f"{HERE / 'go.mod'} does not name {PACKAGE}")
    return found[1]


def default_host() -> str:
    """The host Terraform puts before a source without one, as it says itself: mirrors have a folder of that name."""
    environment = {"PATH": os.environ["PATH"], "CHECKPOINT_DISABLE": "1"}
    told = subprocess.run(
        ["terraform", "providers"], cwd=MODULE, env=environment, capture_output=True, text=True, check=True
    )
    found = re.search(rf"provider\[([^/\]]+)/{SOURCE}\]", told.stdout)
    if found is None:
        raise SystemExit(f"`terraform providers` in {MODULE} names no {SOURCE}")
    return found[1]


def target(cache: Path) -> Path:
    """Where the binary lies below a cache folder: `terraform/plugins/<host>/<source>/<version>/<platform>/`."""
    system = platform.system().lower()
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    folder = cache / "terraform" / "plugins" / default_host() / SOURCE / version() / f"{system}_{machine}"
    return folder / f"terraform-provider-hcloud_v{version()}"


def build(cache: Path) -> Path:
    """Build it, if it is not there. Says what to do where there is no `go`."""
    binary = target(cache.absolute())
    if binary.exists() and binary.stat().st_mtime >= (HERE / "go.mod").stat().st_mtime:
        return binary
    gobuild.build(HERE, PACKAGE, binary)
    return binary


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build Terraform's provider for Hetzner Cloud into a cache folder.")
    parser.add_argument("--cache", type=Path, required=True)
    print(build(parser.parse_args().cache))
