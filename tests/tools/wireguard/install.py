"""WireGuard for namespaces of a machine whose kernel has none: `wireguard-go`, and `wg` where the machine lacks it.

python -m tests.tools.wireguard.install --cache DIR
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.tools.gobuild import build

MODULE, PACKAGE = Path(__file__).parent, "golang.zx2c4.com/wireguard"


def install(cache: Path) -> Path:
    """The folder of both. What is missing afterwards was said: tests that need it are skipped, or fail."""
    folder = cache / "wireguard"
    folder.mkdir(parents=True, exist_ok=True)
    build(MODULE, PACKAGE, folder / "wireguard-go")
    if shutil.which("wg") is None and not (folder / "wg").exists():
        _fetch_wg(folder / "wg")
    return folder


def _fetch_wg(output: Path) -> None:
    """Out of Debian's package, which is not installed."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        print("no `wg` here, and no Debian to fetch it from: install wireguard-tools", flush=True)
        return
    with tempfile.TemporaryDirectory() as name:
        subprocess.run(["apt-get", "-qq", "download", "wireguard-tools"], cwd=name, check=True)
        (package,) = Path(name).glob("*.deb")
        subprocess.run(["dpkg-deb", "--extract", str(package), name], check=True)
        shutil.copy2(Path(name) / "usr" / "bin" / "wg", output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, required=True)
    print(install(parser.parse_args(sys.argv[1:]).cache.absolute()))
