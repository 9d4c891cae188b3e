"""The architectures images are built for: names of Debian's packages and of the firmware's files."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from controlplane.server.machine_images.refusal import ImageRefused
from providers.software import ARCHITECTURES

_COMMON = (
    "systemd systemd-sysv systemd-resolved systemd-timesyncd libpam-systemd dbus udev kmod initramfs-tools zstd "
    "netplan.io iproute2 nftables ca-certificates openssh-server sudo cloud-init cloud-guest-utils "
    "python3 openjdk-17-jre-headless xfsprogs e2fsprogs util-linux grub-common"
)


@dataclass(frozen=True, slots=True)
class Architecture:
    """One of Debian's. `processor` is Linux's word for it, `efi` the firmware's, as in `BOOTX64.EFI`."""

    name: str
    processor: str
    efi: str
    efi_folder: str
    root_type: str
    """The type of a root partition (GUID of the Discoverable Partitions Specification)."""
    kernel: str
    loader: tuple[str, ...]
    boots_by_bios: bool

    @property
    def packages(self) -> tuple[str, ...]:
        """What an image is made of, without what these need, sorted."""
        return tuple(sorted((*_COMMON.split(), self.kernel, *self.loader)))


_ALL: Mapping[str, Architecture] = MappingProxyType(
    {
        "amd64": Architecture(
            "amd64",
            "x86_64",
            "x64",
            "x86_64-efi-signed",
            "4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709",
            "linux-image-cloud-amd64",
            ("grub-pc-bin", "grub-efi-amd64-signed", "shim-signed"),
            boots_by_bios=True,
        ),
        "arm64": Architecture(
            "arm64",
            "aarch64",
            "aa64",
            "arm64-efi-signed",
            "B921B045-1DF0-41C3-AF44-4C6F280D3FAE",
            "linux-image-cloud-arm64",
            ("grub-efi-arm64-signed", "shim-signed"),
            boots_by_bios=False,
        ),
    }
)


def architecture_named(name: str) -> Architecture:
    """`amd64` for `x86_64`, too. Raises `ImageRefused` for one no cloud sells."""
    known = {"x86_64": "amd64", "arm64": "arm64"}.get(ARCHITECTURES.get(name, ""))
    if known is None:
        raise ImageRefused(f"there is no machine of the architecture {name!r}", next_step="`--arch amd64` or `arm64`")
    return _ALL[known]
