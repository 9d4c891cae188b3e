"""Builds a machine image: inputs, root filesystem, disk, SBOM, manifest, one after another.

Nothing is mounted and no device is needed. The same inputs give the same bytes: times are those of the inputs, lists
are sorted, identifiers follow from what the image is.
"""

import errno
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from controlplane.server.agent_bundle import BundleRefused, write_bundle
from controlplane.server.machine_images import contents, disk, root
from controlplane.server.machine_images.architecture import Architecture, architecture_named
from controlplane.server.machine_images.manifest import FileDigest, Inputs, Manifest, digest_of
from controlplane.server.machine_images.programs import RunProgram, run
from controlplane.server.machine_images.refusal import ImageRefused
from controlplane.server.machine_images.release import SUITE
from controlplane.server.machine_images.sbom import sbom, wheels_in
from controlplane.server.machine_images.steps import DiskFormat, Steps
from events.spec.releases import IN_ZOOKEEPER_MODE, SUPPORTED, is_supported

SIZE_MIB = 3072
"""Of the disk as it is uploaded. The root grows at the first boot to what the machine has."""
_LEAST_FREE_MIB = 6144

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ImageOrder:
    """What is asked for. `epoch`: the time files have at most. `lock`: the manifest of the image to make again."""

    kafka: str
    kafka_files: Path
    out: Path
    epoch: int
    architecture: str = "amd64"
    format: DiskFormat = DiskFormat.RAW
    size_mib: int = SIZE_MIB
    mirrors: root.Mirrors = root.DEBIAN
    lock: Manifest | None = None


@dataclass(frozen=True, slots=True)
class BuiltImage:
    """What was written."""

    image: Path
    sbom: Path
    manifest_path: Path
    manifest: Manifest


def build(order: ImageOrder, *, tell: Tell, run: RunProgram = run) -> BuiltImage:
    """Builds what was ordered. Raises `ImageRefused`; then nothing stands under the names an image would have."""
    wanted = _checked(order)
    try:
        order.out.mkdir(parents=True, exist_ok=True)
        _room(order.out)
        with tempfile.TemporaryDirectory(prefix=".kedge-image-", dir=order.out) as beside:
            return _built(order, wanted, Path(beside), tell, run)
    except BundleRefused as error:
        raise ImageRefused(f"the agent for {wanted.name}: {error}") from None
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise ImageRefused(f"{error.filename or order.out}: {error.strerror or error}") from None
        raise ImageRefused(f"the disk of {order.out} is full", next_step="make room, 6 GiB") from None


def _checked(order: ImageOrder) -> Architecture:
    if not (is_supported(order.kafka, "kraft") or is_supported(order.kafka, "zookeeper")):
        there = ", ".join((*IN_ZOOKEEPER_MODE, *SUPPORTED))
        raise ImageRefused(f"Kafka {order.kafka} is none that Kedge runs; there are the lines of {there}")
    if not order.kafka_files.exists():
        raise ImageRefused(
            f"{order.kafka_files} is not there",
            next_step="give Apache's archive (kafka_2.13-VERSION.tgz), or a folder with `libs`: `--kafka-files`",
        )
    return architecture_named(order.architecture)


def _room(folder: Path) -> None:
    free_mib = shutil.disk_usage(folder).free // 2**20
    if free_mib < _LEAST_FREE_MIB:
        raise ImageRefused(
            f"{folder} has {free_mib} MiB free, a build takes {_LEAST_FREE_MIB}",
            next_step="make room, or another `--out`",
        )


def _built(order: ImageOrder, wanted: Architecture, folder: Path, tell: Tell, run: RunProgram) -> BuiltImage:
    scratch = root.Scratch(folder)
    bundle = write_bundle(folder, wanted.processor)
    kafka = contents.kafka_entries(order.kafka, order.kafka_files, folder)
    jars = contents.jars_of(kafka)
    inputs = Inputs(
        kafka=order.kafka,
        architecture=wanted.name,
        suite=SUITE,
        epoch=order.epoch,
        size_mib=order.size_mib,
        agent=FileDigest(name=bundle.path.name, sha256=bundle.sha256),
        jars=tuple(FileDigest(name=jar.name, sha256=jar.sha256) for jar in jars),
    )
    if order.lock is not None:
        _same_files(order.lock.inputs, inputs)
    name = f"kedge-{order.kafka}-{wanted.name}"
    layout = disk.layout(wanted, order.size_mib, f"{name}/{bundle.sha256}")
    steps = Steps(scratch, order.mirrors, wanted, layout, order.epoch, run)
    tell("unpacking the programs that make a disk")
    tools = steps.unpack_tools(order.lock.inputs.tools if order.lock else None)
    tell("installing Debian's packages into the root: the longest part")
    entries = {**kafka, **contents.agent_entries(bundle.path, bundle.sha256)}
    installed = steps.make_root(entries, order.lock.inputs.packages if order.lock else None)
    inputs = inputs.model_copy(update={"packages": installed, "tools": tools})
    tell("making the disk")
    raw = steps.make_disk()
    image = steps.converted(order.format)
    text = sbom(inputs, jars, wheels_in(bundle.path))
    return _published(order, name, inputs, raw_sha256=digest_of(raw), image=image, sbom_text=text)


def _same_files(locked: Inputs, told: Inputs) -> None:
    """Raises `ImageRefused` where a lock was made of something else than what is here."""
    for field, what in (
        ("kafka", "Kafka"),
        ("architecture", "architecture"),
        ("suite", "release of Debian"),
        ("agent", "agent, of another Kedge or other packages of Python"),
        ("jars", "files of Kafka"),
    ):
        if getattr(locked, field) != getattr(told, field):
            raise ImageRefused(
                f"the lock is of another {what}", next_step="build without `--lock`, or with what the lock was made of"
            )


def _published(
    order: ImageOrder, name: str, inputs: Inputs, *, raw_sha256: str, image: Path, sbom_text: str
) -> BuiltImage:
    """Gives the files their names, the manifest last: where it stands, the others are whole."""
    target = order.out / f"{name}.{order.format}"
    sbom_path, manifest_path = order.out / f"{name}.cdx.json", order.out / f"{name}.manifest.json"
    manifest_path.unlink(missing_ok=True)
    digest = raw_sha256 if order.format is DiskFormat.RAW else digest_of(image)
    image.replace(target)
    sbom_path.write_text(sbom_text)
    written = (
        FileDigest(name=target.name, sha256=digest),
        FileDigest(name=sbom_path.name, sha256=digest_of(sbom_path)),
    )
    manifest = Manifest(inputs=inputs, raw_sha256=raw_sha256, files=written)
    manifest_path.write_text(manifest.text())
    return BuiltImage(target, sbom_path, manifest_path, manifest)
