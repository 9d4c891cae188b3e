"""`kedge images build`: a machine image from Debian's packages, on this machine."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from controlplane.cli.errors import CliError
from controlplane.cli.session import Session, session_of

if TYPE_CHECKING:
    from controlplane.server.machine_images.build import BuiltImage

_DEBIAN, _SECURITY = "http://deb.debian.org/debian", "http://deb.debian.org/debian-security"

KafkaFiles = Annotated[
    Path,
    typer.Option("--kafka-files", metavar="PATH", show_default=False, help="Apache's archive, or a folder with libs."),
]
SizeGib = Annotated[
    int, typer.Option("--size-gib", metavar="GIB", min=2, max=100, help="Size of its disk; the root grows at boot.")
]
Lock = Annotated[
    Path | None,
    typer.Option("--lock", metavar="FILE", show_default=False, help="Manifest of the image to make again."),
]


def build(
    context: typer.Context,
    kafka: Annotated[str, typer.Option("--kafka", metavar="VERSION", show_default=False, help="Its Kafka version.")],
    kafka_files: KafkaFiles,
    arch: Annotated[str, typer.Option("--arch", metavar="ARCH", help="amd64 or arm64.")] = "amd64",
    disk_format: Annotated[str, typer.Option("--format", metavar="FORMAT", help="raw, qcow2 or vhd.")] = "raw",
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where it is written.")] = Path(),
    size_gib: SizeGib = 3,
    mirror: Annotated[
        str, typer.Option("--mirror", metavar="URL", help="Debian's packages: below it is `dists`.")
    ] = _DEBIAN,
    security_mirror: Annotated[
        str, typer.Option("--security-mirror", metavar="URL", help="Debian's security updates.")
    ] = _SECURITY,
    lock: Lock = None,
) -> None:
    """Build a machine image with Kafka and the agent in it.

    It is made here, from Debian 12's packages, without a cloud: VMs made from it fetch nothing at their first boot.
    mmdebstrap and root, or a user with subordinate ids, are needed. Beside the image are written its SBOM
    (CycloneDX) and its manifest, which names every input by digest. Given back with --lock, the manifest makes the
    same image again, byte by byte, as long as the mirror has those packages. Files have the time of
    SOURCE_DATE_EPOCH, else of the lock, else the beginning of this day (UTC).

    \b
    Examples:
      kedge images build --kafka 4.2.0 --kafka-files kafka_2.13-4.2.0.tgz --out images/
      kedge images build --kafka 4.2.0 --kafka-files kafka_2.13-4.2.0.tgz --arch arm64 --format qcow2
      kedge images build --kafka 4.2.0 --kafka-files kafka_2.13-4.2.0.tgz --lock images/kedge-4.2.0-amd64.manifest.json
    """
    from controlplane.server.machine_images.build import ImageOrder, build as build_image
    from controlplane.server.machine_images.manifest import read_manifest
    from controlplane.server.machine_images.refusal import ImageRefused
    from controlplane.server.machine_images.root import Mirrors
    from controlplane.server.machine_images.steps import DiskFormat

    session = session_of(context)
    if disk_format not in tuple(DiskFormat):
        raise CliError("no image was built", why=f"there is no format {disk_format!r}: raw, qcow2 or vhd")
    try:
        locked = read_manifest(lock) if lock is not None else None
        order = ImageOrder(
            kafka=kafka,
            kafka_files=kafka_files,
            out=out,
            epoch=_epoch(session, locked.inputs.epoch if locked is not None else None),
            architecture=arch,
            format=DiskFormat(disk_format),
            size_mib=locked.inputs.size_mib if locked is not None else size_gib * 1024,
            mirrors=Mirrors(mirror.rstrip("/"), security_mirror.rstrip("/")),
            lock=locked,
        )
        _tell(session, build_image(order, tell=session.tell))
    except ImageRefused as error:
        raise CliError("no image was built", why=str(error), next_step=error.next_step) from None


def _tell(session: Session, made: "BuiltImage") -> None:
    """As `sha256sum -c` takes it."""
    inputs = made.manifest.inputs
    session.tell(f"{len(inputs.packages)} packages of Debian, {len(inputs.jars)} jars of Kafka")
    for one in made.manifest.files:
        session.write(f"{one.sha256}  {made.image.parent / one.name}")


def _epoch(session: Session, locked: int | None) -> int:
    """Seconds since 1970 (reproducible-builds.org's SOURCE_DATE_EPOCH)."""
    told = session.around.environ.get("SOURCE_DATE_EPOCH", "")
    if told and not told.isdecimal():
        raise CliError("no image was built", why=f"SOURCE_DATE_EPOCH is {told!r}, which is no number of seconds")
    if told or locked is not None:
        return int(told) if told else locked or 0
    now = session.around.utc_now().astimezone(UTC)
    return int(datetime(now.year, now.month, now.day, tzinfo=UTC).timestamp())
