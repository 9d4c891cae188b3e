"""The commands that make root filesystems: an image's, and that of the programs its disk is made with."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from controlplane.server.machine_images.architecture import Architecture
from controlplane.server.machine_images.release import SUITE

TOOLS_SUITE = "trixie"
"""Debian 13: the first whose mke2fs fills a filesystem from a tar, with the tar's own times (1.47.1)."""
TOOLS = ("base-files", "dosfstools", "e2fsprogs", "fdisk", "libarchive13t64", "libc-bin", "mtools", "qemu-utils")
"""libc-bin brings C.UTF-8: a file of a CA has letters in its name that mke2fs reads from a tar only with it."""

_WITHOUT = ("/usr/share/man/*/*", "/usr/share/info/*", "/usr/share/locale/*", "/usr/share/doc/*")
"""The folders of manual pages stay: Java's links to its own are made there, and fail without them."""
_WITH = ("/usr/share/doc/*/copyright", "/usr/share/locale/locale.alias")
_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"


@dataclass(frozen=True, slots=True)
class Mirrors:
    """Where Debian's packages come from: addresses below which `dists` is."""

    main: str = "http://deb.debian.org/debian"
    security: str = "http://deb.debian.org/debian-security"

    def sources(self, suite: str) -> tuple[str, ...]:
        """Lines of apt's sources. Snapshots are past their date by nature, so that is not held against them."""
        said = f"deb [signed-by={_KEYS} check-valid-until=no]"
        lines = [f"{said} {self.main} {suite} main", f"{said} {self.main} {suite}-updates main"]
        return (*lines, f"{said} {self.security} {suite}-security main") if self.security else tuple(lines)


DEBIAN = Mirrors()
"""Debian's own."""


@dataclass(frozen=True, slots=True)
class Scratch:
    """Files beside the image while it is made."""

    folder: Path

    @property
    def root_tar(self) -> Path:
        return self.folder / "root.tar"

    @property
    def contents(self) -> Path:
        return self.folder / "contents.tar"

    @property
    def finish(self) -> Path:
        return self.folder / "finish.sh"

    @property
    def settle_cacerts(self) -> Path:
        return self.folder / "settle_cacerts.py"

    @property
    def preferences(self) -> Path:
        return self.folder / "preferences"

    @property
    def packages(self) -> Path:
        return self.folder / "packages"

    @property
    def tools_tar(self) -> Path:
        return self.folder / "tools.tar"

    @property
    def tools_list(self) -> Path:
        return self.folder / "tools.list"

    @property
    def tools(self) -> Path:
        return self.folder / "tools"


def root_command(architecture: Architecture, scratch: Scratch, mirrors: Mirrors) -> tuple[str, ...]:
    """mmdebstrap's, for the root of an image as a tar. Its own hooks carry files into a user namespace and back."""
    bios = "yes" if architecture.boots_by_bios else "no"
    return (
        *("mmdebstrap", "--quiet", "--variant=minbase", "--format=tar", f"--architectures={architecture.name}"),
        f"--include={','.join(architecture.packages)}",
        *(f"--dpkgopt=path-exclude={path}" for path in _WITHOUT),
        *(f"--dpkgopt=path-include={path}" for path in _WITH),
        "--dpkgopt=force-unsafe-io",
        f"--setup-hook=upload {scratch.preferences} /etc/apt/preferences.d/kedge",
        f"--customize-hook=tar-in {scratch.contents} /",
        f"--customize-hook=upload {scratch.finish} /tmp/kedge-finish",
        f"--customize-hook=upload {scratch.settle_cacerts} /tmp/kedge-settle-cacerts",
        f'--customize-hook=chroot "$1" sh /tmp/kedge-finish {bios}',
        f"--customize-hook=download /tmp/kedge-packages {scratch.packages}",
        '--customize-hook=rm "$1"/tmp/kedge-*',
        *(SUITE, str(scratch.root_tar), *mirrors.sources(SUITE)),
    )


def tools_command(scratch: Scratch, mirrors: Mirrors, own: str) -> tuple[str, ...]:
    """mmdebstrap's, for the programs: they are unpacked and not installed. `own`: this machine's architecture."""
    return (
        *("mmdebstrap", "--quiet", "--variant=extract", "--format=tar", f"--architectures={own}"),
        f"--include={','.join(TOOLS)}",
        '--extract-hook=ls "$1/var/cache/apt/archives" | grep "[.]deb$" > "$1/tmp/kedge-tools"',
        f"--extract-hook=download /tmp/kedge-tools {scratch.tools_list}",
        *(TOOLS_SUITE, str(scratch.tools_tar), *mirrors.sources(TOOLS_SUITE)),
    )


def in_tools(scratch: Scratch, command: Sequence[str], *, is_root: bool) -> tuple[str, ...]:
    """A program of theirs, in their root: this machine's own may be older. Paths are those from there."""
    changed = ("chroot",) if is_root else ("unshare", "--map-root-user", "chroot")
    return (*changed, str(scratch.tools), *command)
