"""A build from end to end with programs that only leave what real ones would: names, digests, locks, refusals."""

import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from controlplane.server.machine_images.build import BuiltImage, ImageOrder, build
from controlplane.server.machine_images.manifest import read_manifest
from controlplane.server.machine_images.refusal import ImageRefused
from controlplane.server.machine_images.steps import DiskFormat
from tests.unit.controlplane.server.machine_images.test_image_contents import a_kafka
from tests.unit.controlplane.server.machine_images.test_image_packages import SHOWN

EPOCH = 1764000000
_IN_ROOT = (
    *("boot/grub/i386-pc/boot.img", "boot/grub/i386-pc/core.img", "usr/lib/shim/shimx64.efi.signed"),
    "usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed",
)


@dataclass
class Programs:
    """Stand-ins: each command is kept, and leaves the files that are read after it."""

    shown: str = SHOWN
    tools: str = "mtools_4.0.48-1_amd64.deb\ne2fsprogs_1.47.2-3_amd64.deb\n"
    fails_at: str = ""
    ran: list[tuple[str, ...]] = field(default_factory=list)
    times: set[str] = field(default_factory=set)

    def __call__(self, command: Sequence[str], *, environment: Mapping[str, str], stdin: str = "") -> None:
        self.ran.append(tuple(command))
        self.times.add(environment["SOURCE_DATE_EPOCH"])
        if self.fails_at and self.fails_at in command:
            raise ImageRefused("the disk is full")
        for hook in (word.split(" ") for word in command if "hook=download" in word):
            Path(hook[-1]).write_text(self.shown if "kedge-packages" in hook[-2] else self.tools)
        if any(word.endswith("root.tar") and word.startswith("/") for word in command) and "mmdebstrap" in command:
            self._root(Path(next(word for word in command if word.endswith("root.tar"))))
        if "qemu-img" in command:
            tools = Path(command[command.index("chroot") + 1])
            footer = b"conectix".ljust(512, b"\7") if command[-1].endswith("vhd") else b""
            (tools / command[-1].lstrip("/")).write_bytes(b"converted" + footer)

    @staticmethod
    def _root(path: Path) -> None:
        with tarfile.open(path, "w") as tar:
            for name in _IN_ROOT:
                entry = tarfile.TarInfo(f"./{name}")
                entry.size = 512
                tar.addfile(entry, io.BytesIO(b"\1" * 512))


@pytest.fixture
def order(tmp_path: Path) -> ImageOrder:
    out = tmp_path / "images"
    return ImageOrder(kafka="4.2.0", kafka_files=a_kafka(tmp_path / "kafka"), out=out, epoch=EPOCH, size_mib=80)


def built(order: ImageOrder, programs: Programs | None = None) -> BuiltImage:
    return build(order, tell=lambda _: None, run=programs or Programs())


def test_an_image_lies_beside_its_bill_and_its_manifest_and_nothing_else_is_left(order: ImageOrder) -> None:
    programs = Programs()
    made = built(order, programs)
    assert sorted(path.name for path in order.out.iterdir()) == [
        "kedge-4.2.0-amd64.cdx.json",
        "kedge-4.2.0-amd64.manifest.json",
        "kedge-4.2.0-amd64.raw",
    ]
    assert read_manifest(made.manifest_path) == made.manifest
    assert made.manifest.inputs.tools == ("e2fsprogs_1.47.2-3_amd64.deb", "mtools_4.0.48-1_amd64.deb")
    assert [one.name for one in made.manifest.inputs.packages] == ["grub-efi-amd64-signed", "libssl3"]
    assert made.manifest.raw_sha256 == made.manifest.files[0].sha256
    assert programs.times == {str(EPOCH)}


def test_the_bill_names_packages_with_their_sources_jars_and_wheels(order: ImageOrder) -> None:
    sbom = json.loads(built(order).sbom.read_text())
    assert (sbom["bomFormat"], sbom["specVersion"]) == ("CycloneDX", "1.6")
    purls = {one["purl"]: one for one in sbom["components"]}
    libssl = next(purl for purl in purls if purl.startswith("pkg:deb/debian/libssl3@3.0.17-1~deb12u2?"))
    assert "upstream=openssl" in libssl
    assert purls[libssl]["hashes"] == [{"alg": "SHA-256", "content": "a" * 64}]
    assert any("upstream=grub-efi-amd64-signed%401" in purl for purl in purls)
    assert "pkg:maven/org.apache.kafka/kafka-clients@4.2.0" in purls
    assert any(purl.startswith("pkg:pypi/pydantic@") for purl in purls)


@pytest.mark.parametrize("form", DiskFormat)
def test_the_same_inputs_make_the_same_files(order: ImageOrder, tmp_path: Path, form: DiskFormat) -> None:
    one, other = (built(replace(order, out=tmp_path / name, format=form)) for name in ("one", "other"))
    assert one.manifest == other.manifest
    assert one.image.read_bytes() == other.image.read_bytes()
    assert one.sbom.read_bytes() == other.sbom.read_bytes()


def test_a_lock_pins_packages_and_programs_and_makes_the_same_image(order: ImageOrder) -> None:
    lock = built(order).manifest
    programs = Programs()
    assert built(replace(order, lock=lock), programs).manifest == lock
    with pytest.raises(ImageRefused, match=r"libssl3 3\.0\.18"):
        built(replace(order, lock=lock), Programs(shown=SHOWN.replace("3.0.17", "3.0.18")))
    with pytest.raises(ImageRefused, match="programs that make the disk are others"):
        built(replace(order, lock=lock), Programs(tools="mtools_5_amd64.deb"))


def test_a_lock_of_other_files_is_refused_before_anything_is_fetched(order: ImageOrder) -> None:
    lock = built(order).manifest
    (order.kafka_files / "libs" / "zstd-jni-1.5.6-10.jar").unlink()
    programs = Programs()
    with pytest.raises(ImageRefused, match="the lock is of another files of Kafka"):
        built(replace(order, lock=lock), programs)
    assert programs.ran == []


@pytest.mark.parametrize("program", ["mmdebstrap", "tar", "sfdisk", "mke2fs", "mkfs.vfat", "mcopy"])
def test_a_program_that_fails_leaves_nothing_that_could_be_taken_for_an_image(order: ImageOrder, program: str) -> None:
    with pytest.raises(ImageRefused, match="the disk is full"):
        built(order, Programs(fails_at=program))
    assert list(order.out.iterdir()) == []


def test_a_failed_build_leaves_the_image_of_before_whole(order: ImageOrder) -> None:
    made = built(order)
    with pytest.raises(ImageRefused):
        built(order, Programs(fails_at="mke2fs"))
    assert read_manifest(made.manifest_path) == made.manifest
    assert made.image.exists()


def test_a_kafka_nobody_knows_and_files_that_are_not_there_are_told_before_anything_is_made(order: ImageOrder) -> None:
    with pytest.raises(ImageRefused, match=r"Kafka 5\.0\.0 is none that Kedge runs; there are the lines of 3\.8\.1"):
        built(replace(order, kafka="5.0.0"))
    with pytest.raises(ImageRefused, match="nowhere is not there") as told:
        built(replace(order, kafka_files=Path("nowhere")))
    assert "--kafka-files" in told.value.next_step
    with pytest.raises(ImageRefused, match="'s390x'"):
        built(replace(order, architecture="s390x"))
    assert not order.out.exists()


def test_a_folder_that_cannot_be_written_is_told(order: ImageOrder, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ImageRefused, match="file: "):
        built(replace(order, out=tmp_path / "file"))


def test_packages_that_bring_no_loader_make_no_image(order: ImageOrder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}._IN_ROOT", _IN_ROOT[:2])
    with pytest.raises(ImageRefused, match=r"no /usr/lib/shim/shimx64\.efi\.signed"):
        built(order)


@pytest.mark.parametrize(
    ("text", "why"),
    [("{}", "inputs"), ("not json", "Invalid JSON"), ('{"format": "kedge.image/v2"}', "kedge.image/v1")],
)
def test_a_file_that_is_no_manifest_is_told(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(ImageRefused, match=why):
        read_manifest(tmp_path / "m.json")
    with pytest.raises(ImageRefused, match="No such file"):
        read_manifest(tmp_path / "none.json")
