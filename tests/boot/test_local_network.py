"""VMs of the local cloud with a network of their own: who reaches whom, what a split cuts, and that nothing is left."""

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from providers import process
from providers.errors import ResourceConflict
from providers.harm import CannotHarm, Harm, Manner, Way
from providers.local import namespaces
from providers.local.cloud import LocalCloud
from providers.local.machine import power_cut
from providers.local.namespaces import inside, namespace, sweep
from providers.local.network import Loopback, network_of
from providers.local.ranges import GATEWAY, RANGES, name_of
from providers.local.reap import reap
from providers.local.slow_disk import check_limits
from providers.local.splits import check_network
from providers.local.verbs import perform
from tests.fakes.resources import PLACE, UID, instance, resources
from tests.marks import A_NETWORK_FOR_EACH_VM
from tests.own_network import in_own_network

ECHO = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("0.0.0.0", 7007))
while True:
    s.sendto(*s.recvfrom(99))
"""
FAST = {"timeout_s": 10.0, "poll_s": 0.02}


def test_an_address_says_which_network_it_is_of() -> None:
    assert isinstance(network_of("127.64.0.1"), Loopback)
    assert name_of(str(RANGES["namespaces"][2])) == "namespaces"
    assert name_of(GATEWAY) == "loopback"  # of this machine, and no VM's


def test_a_vm_that_shares_the_machines_network_is_not_split(tmp_path: Path) -> None:
    with pytest.raises(CannotHarm, match="KEDGE_CLOUDS__VM_NETWORK=namespaces"):
        check_network(tmp_path / "n-0.g1")


def test_a_disk_in_memory_is_never_slow() -> None:
    with pytest.raises(CannotHarm, match="no disk that is a device"):
        check_limits("n-0.g1", ())


def test_a_cluster_stays_in_the_network_it_was_made_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEDGE_LOCAL_CLAIMS", str(tmp_path / "claims"))
    asked = resources(instance("n-0", intent="one"))
    LocalCloud(tmp_path / "cloud", "test", sys.executable).variables(asked)
    with pytest.raises(ResourceConflict, match="KEDGE_CLOUDS__VM_NETWORK=loopback"):
        LocalCloud(tmp_path / "cloud", "test", sys.executable, network="namespaces").variables(asked)


class Lan:
    """Two VMs that answer what is sent to them, each in a namespace of its own."""

    def __init__(self, home: Path) -> None:
        command = ("{python}", "-c", ECHO)
        self.cloud = LocalCloud(home / "cloud", "test", sys.executable, network="namespaces", command=command)
        asked = resources(instance("n-0", intent="one"), instance("n-1", intent="two"))
        made: dict[str, Any] = self.cloud.variables(asked)
        about = {"installation_id": "test", "cluster_uid": UID, "region": "local-1", "root": str(self.cloud.root)}
        self.addresses: dict[str, str] = {}
        for key, values in made["instances"].items():
            boot = json.dumps({"server_url": "http://127.0.0.1:7008"})
            perform("create-instance", about | {"python": sys.executable, "key": key} | values | {"boot_data": boot})
            self.addresses[key] = values["address"]
        self.one, self.two = sorted(self.addresses)

    def vm(self, key: str) -> Path:
        return self.cloud.root / "local-1" / "instances" / UID / key

    def reaches(self, key: str, *, from_key: str | None = None) -> bool:
        def ask() -> bool:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
                asking.settimeout(0.1)
                try:
                    asking.sendto(b"?", (self.addresses[key], 7007))
                    return asking.recv(99) == b"?"
                except OSError:
                    return False

        return inside(self.vm(from_key), ask) if from_key else ask()

    def harm(self, harm: Harm, for_s: float, manner: Manner) -> None:
        self.cloud.harm(PLACE, f"{UID}/{self.one}", harm, for_s, manner)


@pytest.fixture
def lan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lan]:
    monkeypatch.setenv("KEDGE_LOCAL_CLAIMS", str(tmp_path / "claims"))
    try:
        made = Lan(tmp_path)
        assert process.wait_until(lambda: made.reaches(made.one) and made.reaches(made.two), **FAST)
        yield made
    finally:
        reap(tmp_path / "cloud")


@A_NETWORK_FOR_EACH_VM
def test_a_split_cuts_whom_it_names_the_way_it_names_and_ends_by_itself(lan: Lan) -> None:
    assert lan.reaches(lan.two, from_key=lan.one)
    lan.harm(Harm.SPLIT, 1.5, Manner(everyone=False, addresses=(lan.addresses[lan.two],)))
    assert not lan.reaches(lan.two, from_key=lan.one)
    assert not lan.reaches(lan.one, from_key=lan.two)
    assert lan.reaches(lan.one), "this machine was not named"
    assert process.wait_until(lambda: lan.reaches(lan.one, from_key=lan.two), **FAST)

    lan.harm(Harm.SPLIT, 1.5, Manner(everyone=False, control_plane=True))
    assert not lan.reaches(lan.one)
    assert lan.reaches(lan.one, from_key=lan.two)
    assert process.wait_until(lambda: lan.reaches(lan.one), **FAST)


@A_NETWORK_FOR_EACH_VM
def test_a_one_way_split_drops_what_goes_out_and_takes_what_comes_in(lan: Lan) -> None:
    def heard() -> bytes:
        with inside(lan.vm(lan.one), lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as ear:
            ear.bind((lan.addresses[lan.one], 7009))
            ear.settimeout(0.3)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mouth:
                mouth.sendto(b"hello", (lan.addresses[lan.one], 7009))
            return ear.recv(99)

    lan.harm(Harm.SPLIT, 30.0, Manner(way=Way.OUT))
    assert heard() == b"hello"
    assert not lan.reaches(lan.one), "the answer does not leave"
    lan.harm(Harm.SPLIT, 30.0, Manner(way=Way.IN))
    with pytest.raises(TimeoutError):
        heard()


@A_NETWORK_FOR_EACH_VM
def test_lost_packets_are_some_of_them_until_the_time_is_over(lan: Lan) -> None:
    lan.harm(Harm.PACKET_LOSS, 30.0, Manner(loss=0.5, way=Way.IN))
    answers = [lan.reaches(lan.one) for _ in range(24)]
    assert any(answers)
    assert not all(answers)


@A_NETWORK_FOR_EACH_VM
def test_inside_a_vm_the_servers_loopback_address_leads_to_this_machine(lan: Lan) -> None:
    with socket.create_server((GATEWAY, 7008)) as server:
        server.settimeout(5)
        with inside(lan.vm(lan.one), lambda: socket.create_connection(("127.0.0.1", 7008), 5)):
            _, caller = server.accept()
    assert caller[0] == lan.addresses[lan.one], "a split by the VM's address has to hold for it"


@A_NETWORK_FOR_EACH_VM
def test_a_nodes_address_goes_from_one_vm_to_the_next(lan: Lan) -> None:
    moving = "198.18.254.9"
    lan.addresses["node"] = moving
    for holder, before in ((lan.one, None), (lan.two, lan.one)):
        if before:
            network_of(moving).remove(lan.vm(before), moving)
        network_of(moving).add(lan.vm(holder), moving)
        assert process.wait_until(lambda: lan.reaches("node"), **FAST)
    network_of(moving).remove(lan.vm(lan.two), moving)
    assert not lan.reaches("node")


@A_NETWORK_FOR_EACH_VM
def test_a_vm_that_is_gone_leaves_no_network_and_a_killed_installation_is_swept(lan: Lan) -> None:
    one, two = namespace(lan.vm(lan.one)), namespace(lan.vm(lan.two))
    lan.cloud.terminate(PLACE, f"{UID}/{lan.one}")
    assert (one.exists(), two.exists()) == (False, True)
    reap(lan.cloud.root)
    assert not two.exists()
    assert not [m for m in namespaces._MADE.glob("kedge-*") if str(lan.cloud.root) in m.read_text()]


@A_NETWORK_FOR_EACH_VM
def test_a_network_whose_vm_was_deleted_by_hand_is_swept_too(lan: Lan) -> None:
    deleted = lan.vm(lan.one)
    assert power_cut(deleted) > 0
    shutil.rmtree(deleted)
    sweep()
    assert not namespace(deleted).exists()
    assert namespace(lan.vm(lan.two)).exists()


OPENED = """
import sys
from pathlib import Path
from providers.local.namespaces import Namespaces, namespace
for name, address in (("one", "198.18.1.1"), ("two", "198.18.1.2")):
    vm = Path(sys.argv[1]) / name
    vm.mkdir()
    (vm / "boot.json").write_text("{}")
    Namespaces().open(vm, [address])
    print(name, namespace(vm).exists())
"""


@A_NETWORK_FOR_EACH_VM
def test_a_server_in_a_network_of_its_own_opens_more_than_one(tmp_path: Path) -> None:
    """There /sys/class/net may be that of the machine, as in containers: the second VM met `kedge0 ... File exists`."""
    command = in_own_network((sys.executable, "-c", OPENED, str(tmp_path)))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "one True\ntwo True\n"), done.stderr
