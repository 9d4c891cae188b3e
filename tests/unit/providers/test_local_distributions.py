"""Builds of Kafka that the local cloud unpacks below its images: the jars of the very file that the spec names."""

import hashlib
import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from providers.errors import PlaceUnknown
from providers.local.image_dir import IMAGE
from providers.local.image_tag import image_tag
from providers.made_from import MadeFrom
from tests.fakes.resources import instance

JARS = {"kafka_2.13/libs/kafka-server.jar": b"one", "kafka_2.13/libs/kafka-clients.jar": b"two"}
BESIDE = {"kafka_2.13/LICENSE": b"text", "kafka_2.13/libs/readme.txt": b"text", "libs/other.jar": b"x"}
OUTSIDE = {"../libs/evil.jar": b"x", "a/libs/../../evil.jar": b"x"}


def an_archive(path: Path, files: dict[str, bytes]) -> str:
    """Its SHA-256."""
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def tag(kafka_dir: Path, archive: Path, sha256: str, url: str = "") -> dict[str, str]:
    made_from = MadeFrom("", {}, url or archive.as_uri(), sha256)
    return dict(image_tag(replace(instance("b-0"), image="4.1.1", made_from=made_from), str(kafka_dir)))


def test_the_jars_of_the_build_are_the_image_of_its_vms_and_nothing_else_is_taken(tmp_path: Path) -> None:
    archive, kafka_dir = tmp_path / "a build.tgz", tmp_path / "kafka"
    sha256 = an_archive(archive, {**JARS, **BESIDE, **OUTSIDE})
    assert tag(kafka_dir, archive, sha256) == {IMAGE: f"distributions/{sha256}"}
    libs = kafka_dir / "distributions" / sha256 / "4.1.1" / "libs"
    assert {path.name: path.read_bytes() for path in libs.iterdir()} == {
        "kafka-server.jar": b"one",
        "kafka-clients.jar": b"two",
    }
    assert list(tmp_path.rglob("evil.jar")) == []
    archive.unlink()
    assert tag(kafka_dir, archive, sha256) == {IMAGE: f"distributions/{sha256}"}, "it is there"


def test_another_file_than_the_spec_names_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    archive, kafka_dir = tmp_path / "build.tgz", tmp_path / "kafka"
    an_archive(archive, JARS)
    with pytest.raises(PlaceUnknown, match="is not the build that the spec names"):
        tag(kafka_dir, archive, "0" * 64)
    assert [path.name for path in kafka_dir.rglob("*") if path.is_file()] == [".lock"]


@pytest.mark.parametrize(
    ("files", "why"), [(None, "cannot be unpacked"), (BESIDE, "no folder with jars"), ({}, "no folder with jars")]
)
def test_what_is_no_build_of_kafka_is_refused(tmp_path: Path, files: dict[str, bytes] | None, why: str) -> None:
    archive = tmp_path / "build.tgz"
    archive.write_bytes(b"no archive")
    sha256 = hashlib.sha256(b"no archive").hexdigest() if files is None else an_archive(archive, files)
    with pytest.raises(PlaceUnknown, match=why):
        tag(tmp_path / "kafka", archive, sha256)


def test_what_is_not_there_or_elsewhere_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(PlaceUnknown, match="cannot be unpacked"):
        tag(tmp_path / "kafka", tmp_path / "none.tgz", "0" * 64)
    with pytest.raises(PlaceUnknown, match="nothing over a network"):
        tag(tmp_path / "kafka", tmp_path, "0" * 64, "https://mirror.example/kafka.tgz")


def test_the_archive_of_a_revision_is_for_plain_images_and_here_are_none(tmp_path: Path) -> None:
    made_from = MadeFrom("4.1.1-r3", {}, "https://mirror.example/kafka.tgz", "0" * 64)
    assert image_tag(replace(instance("b-0"), image="4.1.1", made_from=made_from), str(tmp_path)) == {}
