"""Harm on purpose to VMs of the local cloud: who it hits, and that what lasts ends by itself."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from providers import process
from providers.base import InstanceState
from providers.harm import CannotHarm, Harm, HarmsVms
from providers.local.cloud import LocalCloud
from providers.local.config import read_config, write_config
from providers.local.harm import end_harm, main
from providers.local.launch import VM_DIR
from providers.local.reap import reap
from providers.local.verbs import perform
from tests.fakes.resources import PLACE, UID, instance, resources

ID = f"{UID}/n-0.g1"
LOOP = "while :; do sleep 1; done"
ZOOKEEPER = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
VM = f"sh -c '{LOOP}' sh kafka.Kafka & sh -c '{LOOP}' sh {ZOOKEEPER} & sh -c '{LOOP}' sh -m agent & wait"
"""A first process, and three that look like Kafka, like ZooKeeper and like the agent."""


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalCloud]:
    monkeypatch.setenv("KEDGE_LOCAL_CLAIMS", str(tmp_path / "claims"))
    cloud = LocalCloud(tmp_path / "cloud", "test", sys.executable, command=("/bin/sh", "-c", f"{VM}; {LOOP}"))
    variables: dict[str, dict[str, dict[str, object]]] = cloud.variables(resources(instance("n-0", intent="one")))  # type: ignore[assignment]
    about = {"installation_id": "test", "cluster_uid": UID, "region": "local-1", "root": str(cloud.root)}
    perform("create-instance", {**about, "python": sys.executable, "key": "n-0.g1", **variables["instances"]["n-0.g1"]})
    assert process.wait_until(lambda: bool(looking_like(cloud, "kafka.Kafka") and looking_like(cloud, "agent")), **FAST)
    try:
        yield cloud
    finally:
        for pid in ending(cloud):
            os.kill(pid, signal.SIGKILL)
        end_harm(vm_dir(cloud), Harm.PAUSE)
        reap(cloud.root)


FAST = {"timeout_s": 60.0, "poll_s": 0.02}
LONG_S = 86_400.0
"""No test lasts so long, on however busy a machine: whoever is to end a harm is still waiting."""


def vm_dir(cloud: LocalCloud) -> Path:
    return cloud.root / "local-1" / "instances" / UID / "n-0.g1"


def mine(cloud: LocalCloud) -> list[int]:
    return [pid for pid, value in process.carrying(VM_DIR).items() if value == str(vm_dir(cloud))]


def looking_like(cloud: LocalCloud, word: str) -> list[int]:
    found = []
    for pid in mine(cloud):
        try:
            if word in Path(f"/proc/{pid}/cmdline").read_text().split("\0"):
                found.append(pid)
        except (FileNotFoundError, ProcessLookupError):  # gone before it was opened, or while it was read
            continue
    return found


def states(cloud: LocalCloud) -> set[str]:
    found = set()
    for pid in mine(cloud):
        try:
            found.add(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def test_the_local_cloud_lends_its_hands(cloud: LocalCloud) -> None:
    assert isinstance(cloud, HarmsVms)


@pytest.mark.parametrize(
    ("harm", "hit", "spared"),
    [
        (Harm.KILL_BROKER, "kafka.Kafka", "agent"),
        (Harm.KILL_AGENT, "agent", "kafka.Kafka"),
        (Harm.KILL_ZOOKEEPER, ZOOKEEPER, "kafka.Kafka"),
    ],
)
def test_one_process_is_killed_and_the_others_go_on(cloud: LocalCloud, harm: Harm, hit: str, spared: str) -> None:
    cloud.harm(PLACE, ID, harm, 1.0)
    assert process.wait_until(lambda: not looking_like(cloud, hit), **FAST)
    assert looking_like(cloud, spared)
    with pytest.raises(CannotHarm, match="no running"):
        cloud.harm(PLACE, ID, harm, 1.0)


def test_a_killed_vm_is_gone_by_the_word_of_the_cloud(cloud: LocalCloud) -> None:
    cloud.harm(PLACE, ID, Harm.KILL_VM, 1.0)
    assert cloud.describe(PLACE, [ID])[ID] is InstanceState.GONE


def test_a_pause_ends_by_itself(cloud: LocalCloud) -> None:
    cloud.harm(PLACE, ID, Harm.PAUSE, LONG_S)
    assert process.wait_until(lambda: states(cloud) == {"T"}, **FAST)
    (waiting,) = ending(cloud, 1).values()
    waited_s = []

    def sleep(seconds: float) -> None:
        assert states(cloud) == {"T"}
        waited_s.append(seconds)

    assert main(waiting, sleep=sleep) == 0
    assert waited_s == [LONG_S]
    assert process.wait_until(lambda: "T" not in states(cloud), **FAST)


def test_nobody_of_ours_is_needed_for_the_end(cloud: LocalCloud) -> None:
    cloud.harm(PLACE, ID, Harm.PAUSE, 0.0)
    assert process.wait_until(lambda: not ending(cloud), **FAST)
    assert process.wait_until(lambda: "T" not in states(cloud), **FAST)


def test_the_end_of_one_harm_does_not_end_a_later_one(cloud: LocalCloud) -> None:
    """Found by a split of 1.5 s, cut short by the process that was to end the split before it."""
    mount = vm_dir(cloud) / "volumes" / "data"
    mount.symlink_to(vm_dir(cloud))
    cloud.harm(PLACE, ID, Harm.LOSE_VOLUME, LONG_S)
    (first,) = ending(cloud, 1)
    mount.with_name("data.lost").rename(mount)
    cloud.harm(PLACE, ID, Harm.LOSE_VOLUME, LONG_S)
    both = ending(cloud, 2)
    main(both.pop(first), sleep=at_once)
    assert not mount.exists()
    (second,) = both.values()
    main(second, sleep=at_once)
    assert mount.exists()


def ending(cloud: LocalCloud, count: int = -1) -> dict[int, Sequence[str]]:
    """Processes that are to end a harm of the VM, with their arguments. `count`: looks until there are as many; one
    that has just begun has no words yet."""
    found: dict[int, Sequence[str]] = {}
    if count >= 0:
        assert process.wait_until(lambda: len(ending(cloud)) == count, **FAST)
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_text().rstrip("\0").split("\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if "providers.local.harm" in words and str(vm_dir(cloud)) in words:
            found[int(entry.name)] = words[words.index("providers.local.harm") + 1 :]
    return found


def at_once(seconds: float) -> None:
    """The time is over."""


def test_a_lost_volume_comes_back_with_its_data(cloud: LocalCloud, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    (disk / "log").write_text("data")
    mount = vm_dir(cloud) / "volumes" / "data"
    mount.symlink_to(disk)
    cloud.harm(PLACE, ID, Harm.LOSE_VOLUME, LONG_S)
    assert not mount.exists()
    (waiting,) = ending(cloud, 1).values()
    main(waiting, sleep=at_once)
    assert (mount / "log").read_text() == "data"


def test_a_disk_without_a_size_of_its_own_is_not_filled(cloud: LocalCloud) -> None:
    with pytest.raises(CannotHarm, match="would fill this machine"):
        cloud.harm(PLACE, ID, Harm.FULL_DISK, 1.0)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_full_disk_has_no_byte_left_until_its_time_is_over(cloud: LocalCloud) -> None:
    config = read_config(cloud.root)
    assert config is not None
    write_config(cloud.root, replace(config, enforce_disk=True))
    disk = vm_dir(cloud) / "volumes" / "data"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "kedge", str(disk)], check=True)
    cloud.harm(PLACE, ID, Harm.FULL_DISK, LONG_S)
    assert os.statvfs(disk).f_bavail == 0
    with pytest.raises(OSError, match="No space left"):
        (disk / "log").write_bytes(b"x" * 4096)
    (waiting,) = ending(cloud, 1).values()
    main(waiting, sleep=at_once)
    assert os.statvfs(disk).f_bavail > 0
    with pytest.raises(CannotHarm, match="in memory is never slow"):
        cloud.harm(PLACE, ID, Harm.SLOW_DISK, 1.0)


def test_a_vm_without_a_volume_cannot_lose_one(cloud: LocalCloud) -> None:
    with pytest.raises(CannotHarm, match="has no volume"):
        cloud.harm(PLACE, ID, Harm.LOSE_VOLUME, 1.0)
