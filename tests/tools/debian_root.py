"""The root of a plain Debian as clouds offer it, with what their images have and a Kedge VM needs: `--cache DIR`.

Made once by mmdebstrap from the machine's own Debian mirror, kept as `debian/root.tar`.
"""

import argparse
import subprocess
import sys
from pathlib import Path

SUITE = "bookworm"
PACKAGES = (
    "systemd",
    "systemd-sysv",
    "dbus",
    "udev",
    "cloud-init",
    "python3",
    "openjdk-17-jre-headless",
    "xfsprogs",
    "util-linux",
    "iproute2",
    "nftables",
    "ca-certificates",
)
"""Java and the filesystem's tools are there already: what install.py would do about them is tested without a mirror."""


def root_archive(cache: Path) -> Path:
    """The archive, made if it is not there yet, or of other packages. Raises CalledProcessError with mmdebstrap's own
    words above it."""
    archive = cache / "debian" / f"{SUITE}.tar"
    told, packages = archive.with_suffix(".packages"), "".join(f"{name}\n" for name in PACKAGES)
    if not (archive.exists() and told.exists() and told.read_text() == packages):
        archive.parent.mkdir(parents=True, exist_ok=True)
        beside = archive.with_suffix(".part.tar")
        command = ("mmdebstrap", "--quiet", "--variant=apt", f"--include={','.join(PACKAGES)}", SUITE, str(beside))
        subprocess.run(command, check=True)
        beside.rename(archive)
        told.write_text(packages)
    return archive


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, required=True)
    print(root_archive(parser.parse_args(sys.argv[1:]).cache))
