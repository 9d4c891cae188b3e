"""Disks of the local cloud: what a VM sees of them, and what is left when it is gone."""

import os
from pathlib import Path

import pytest

from providers.errors import ResourceConflict
from providers.local.disk import DiskRecord, DiskRecords, attached_keys, unmount_all
from providers.local.layout import Layout

KEY = "n-0.data.v1"


def disk(kind: str = "persistent", key: str = KEY) -> DiskRecord:
    return DiskRecord(installation_id="i", cluster_uid="u", key=key, zone="a", kind=kind, size_gib=1)


@pytest.fixture
def disks(tmp_path: Path) -> DiskRecords:
    return DiskRecords(Layout(tmp_path, "local-1"))


def attach(disks: DiskRecords, instance: str = "n-0.g1", *, alive: bool = False) -> Path:
    disks.attach("u", KEY, instance, zone="a", alive=lambda _: alive)
    return disks.layout.vm("u", instance) / "volumes"


def test_a_vm_sees_the_disk_its_size_and_its_name(disks: DiskRecords) -> None:
    disks.create(disk())
    mounts = attach(disks)
    assert sorted(os.listdir(mounts)) == ["data", "data.bytes", "data.key"]
    assert (mounts / "data.key").read_text().strip() == KEY
    assert int((mounts / "data.bytes").read_text()) == 1024**3
    (mounts / "data" / "x").write_text("kept")
    assert (disks.layout.volume("u", KEY) / "x").read_text() == "kept"


def test_attaching_and_detaching_may_be_repeated(disks: DiskRecords) -> None:
    disks.create(disk())
    attach(disks)
    mounts = attach(disks)
    (mounts / "data" / "x").write_text("kept")
    disks.detach("u", KEY, "n-0.g1")
    disks.detach("u", KEY, "n-0.g1")
    assert [name for name in os.listdir(mounts) if not name.endswith(".bytes")] == []
    disks.create(disk())
    assert (attach(disks, "n-0.g2") / "data" / "x").read_text() == "kept"


def test_a_late_detach_of_the_old_vm_does_not_take_the_disk_from_the_new_one(disks: DiskRecords) -> None:
    disks.create(disk())
    attach(disks, "n-0.g1")
    mounts = attach(disks, "n-0.g2", alive=False)
    disks.detach("u", KEY, "n-0.g1")
    assert (mounts / "data.key").exists()
    kept = disks.read("u", KEY)
    assert kept is not None
    assert kept.attached_to == "n-0.g2"


def test_a_dead_vm_loses_sight_of_a_disk_that_moved_on(disks: DiskRecords) -> None:
    disks.create(disk())
    old = attach(disks, "n-0.g1")
    attach(disks, "n-0.g2", alive=False)
    assert attached_keys(old.parent) == ()
    assert not (old / "data").exists()


def test_an_attached_disk_is_not_destroyed(disks: DiskRecords) -> None:
    disks.create(disk())
    attach(disks)
    with pytest.raises(ResourceConflict, match=r"n-0\.g1"):
        disks.destroy("u", KEY, alive=lambda _: True)
    disks.detach("u", KEY, "n-0.g1")
    disks.destroy("u", KEY, alive=lambda _: True)
    disks.destroy("u", KEY, alive=lambda _: True)
    assert not disks.layout.volume("u", KEY).exists()
    assert disks.read("u", KEY) is None


def test_the_disk_of_a_dead_vm_can_be_destroyed(disks: DiskRecords) -> None:
    """A VM that lost power holds nothing, though nobody detached its disk."""
    disks.create(disk())
    mounts = attach(disks)
    disks.destroy("u", KEY, alive=lambda _: False)
    assert disks.read("u", KEY) is None
    assert not disks.layout.volume("u", KEY).exists()
    assert not (mounts / "data").exists()


def test_a_disk_that_exists_otherwise_is_not_taken_over(disks: DiskRecords) -> None:
    disks.create(disk())
    with pytest.raises(ResourceConflict, match="persistent"):
        disks.create(disk(kind="ephemeral"))


def test_a_disk_nobody_made_cannot_be_attached(disks: DiskRecords) -> None:
    with pytest.raises(ResourceConflict, match="does not exist"):
        attach(disks)


def test_an_ephemeral_disk_lies_in_the_vm_and_is_forgotten_with_it(disks: DiskRecords) -> None:
    disks.create(disk(kind="ephemeral"))
    mounts = attach(disks)
    assert (mounts / "data").is_dir()
    assert not (mounts / "data").is_symlink()
    with pytest.raises(ResourceConflict):
        attach(disks, "n-0.g2", alive=False)
    disks.release_all("u", "n-0.g1")
    assert not (mounts / "data").exists()
    assert disks.read("u", KEY) is None


def test_an_ephemeral_disk_that_was_detached_is_destroyed_before_its_vm(disks: DiskRecords) -> None:
    """A retire run deletes the attachment, then disk and VM side by side: the disk's turn may come first."""
    disks.create(disk(kind="ephemeral"))
    mounts = attach(disks)
    with pytest.raises(ResourceConflict, match=r"n-0\.g1"):
        disks.destroy("u", KEY, alive=lambda _: True)
    assert (mounts / "data").is_dir()
    disks.detach("u", KEY, "n-0.g1")
    disks.destroy("u", KEY, alive=lambda _: True)
    assert disks.read("u", KEY) is None
    assert not (mounts / "data").exists()
    disks.release_all("u", "n-0.g1")


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
@pytest.mark.parametrize("kind", ["persistent", "ephemeral"])
def test_an_enforced_size_is_what_the_filesystem_says(tmp_path: Path, kind: str) -> None:
    disks = DiskRecords(Layout(tmp_path, "local-1"), enforce=True)
    try:
        disks.create(disk(kind=kind))
        mounts = attach(disks)
        stat = os.statvfs(mounts / "data")
        assert 0.9 * 1024**3 < stat.f_blocks * stat.f_frsize <= 1024**3
        assert os.listdir(mounts / "data") == []
        (mounts / "data" / "x").write_text("kept")
        attach(disks)
        assert (mounts / "data" / "x").read_text() == "kept"
        disks.release_all("u", "n-0.g1")
        if kind == "persistent":
            disks.destroy("u", KEY, alive=lambda _: True)
        assert str(tmp_path) not in Path("/proc/self/mounts").read_text()
    finally:
        unmount_all(tmp_path)
