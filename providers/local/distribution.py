"""Builds of Kafka that a spec names by a file of this machine: unpacked once below the images, by their SHA-256.

An archive is as Apache's: one folder with `libs` in it. Only the jars of that are taken, by their names alone.
"""

import hashlib
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from providers.errors import PlaceUnknown
from providers.local.record import locked

FOLDER = "distributions"


def unpacked(kafka_dir: Path, version: str, url: str, sha256: str) -> str:
    """The image directory, relative to `kafka_dir`, that has the build as `<version>/libs`; made where it is missing.

    Raises `PlaceUnknown` for a file that is not there, is another one, or has no jars: nothing is made then.
    """
    image = f"{FOLDER}/{sha256}"
    libs = kafka_dir / image / version / "libs"
    if libs.is_dir():
        return image
    told = urlsplit(url)
    if told.scheme != "file":
        raise PlaceUnknown(f"VMs of the local cloud fetch nothing over a network: {url}")
    archive = Path(unquote(told.path))
    with locked(kafka_dir / FOLDER / ".lock"):
        if not libs.is_dir():
            _unpack(archive, sha256, libs)
    return image


def _unpack(archive: Path, sha256: str, libs: Path) -> None:
    libs.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=libs.parent, prefix=".unpacked-") as work:
        copy, made = Path(work) / "archive", Path(work) / "libs"
        made.mkdir()
        try:
            # A copy: what is unpacked is what was summed, whoever writes to the file meanwhile.
            shutil.copyfile(archive, copy)
            if _sum(copy) != sha256:
                raise PlaceUnknown(f"{archive} is not the build that the spec names: its SHA-256 is another one")
            with tarfile.open(copy) as tar:
                for member in _jars(tar):
                    source = tar.extractfile(member)
                    if source is not None:
                        with source, (made / PurePosixPath(member.name).name).open("wb") as target:
                            shutil.copyfileobj(source, target)
        except (OSError, tarfile.TarError) as error:
            raise PlaceUnknown(f"the build of Kafka in {archive} cannot be unpacked: {error}") from error
        if not any(made.iterdir()):
            raise PlaceUnknown(f"{archive} is not a build of Kafka: it has no folder with jars in `libs`")
        made.rename(libs)


def _jars(tar: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    for member in tar:
        path = PurePosixPath(member.name)
        folder, libs = (*path.parts, "", "")[:2]
        is_inside = len(path.parts) == 3 and folder != ".." and libs == "libs"
        if member.isfile() and is_inside and path.suffix == ".jar":
            yield member


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
