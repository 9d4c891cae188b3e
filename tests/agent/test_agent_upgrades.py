"""An agent on a VM is upgraded, refuses what is not signed, and comes back from one that does not work."""

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from agent.wire import AgentOrder, Report, UpgradeReport
from tests.agent.agent_vm import AgentVm
from tests.agent.control_server import ControlServer
from tests.agent.small_cluster import Cluster, document, serving
from tests.agent.upgraded import Mirror, Signer, agent_archive
from tests.waiting import until

CRASHES = "raise SystemExit('it cannot start')\n"
HANGS = "import time\nwhile True:\n    time.sleep(60)\n"


class House:
    """A VM with its agent, a server and a mirror."""

    def __init__(self, base: Path) -> None:
        self.server, self.mirror, self.signer = ControlServer("127.0.41.1"), Mirror(base / "mirror"), Signer()
        self.vm = AgentVm(base / "vm", server_url=self.server.url, node="brokers-9")

    def offer(self, version: str, *, main: str = "", number: str = "o-1", within_s: float = 60.0) -> AgentOrder:
        archive = agent_archive(self.mirror.folder / f"{version}.tar.gz", version, main=main)
        url = f"{self.mirror.url}/{archive.name}"
        return self.signer.order(archive, version, url, number=number, within_s=within_s)

    def tell(self, order: AgentOrder) -> None:
        self.server.serve(document("brokers-9").model_copy(update={"agent": order}))

    def says(self, state: str, number: str = "o-1", *, within_s: float = 60.0) -> tuple[Report, UpgradeReport]:
        """The first report from now on that says so of that order."""
        after, deadline = self.server.count(self.vm.instance), time.monotonic() + within_s
        while True:
            for report in self.server.reports[self.vm.instance][max(0, after - 1) :]:
                said = report.upgrade
                if said is not None and (said.order, said.state) == (number, state):
                    return report, said
            assert time.monotonic() < deadline, (self.server.reports[self.vm.instance][-1:], self.vm.log()[-2000:])
            time.sleep(0.05)

    def close(self) -> None:
        self.vm.cut_power()
        self.mirror.close()
        self.server.close()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    try:
        house.server.serve(document("brokers-9"))
        house.vm.boot()
        house.says("idle", "")
        yield house
    finally:
        house.close()


def test_an_agent_is_upgraded_and_an_upgraded_one_again(house: House) -> None:
    house.tell(house.offer("9.9.1"))
    report, _ = house.says("done")
    assert report.agent_version == "9.9.1"
    house.vm.kill_agent()
    until(lambda: house.vm.agent_pid is not None, timeout_s=10)
    house.tell(house.offer("9.9.2", number="o-2"))
    report, _ = house.says("done", "o-2")
    assert report.agent_version == "9.9.2", "the way on goes from an upgraded agent, too"
    assert len([p for p in (house.vm.root / "agent" / "bundles").iterdir() if p.is_dir()]) == 2, "one to return to"


def test_a_wrong_signature_is_refused_and_nothing_is_fetched(house: House) -> None:
    order = house.offer("9.9.1")
    stranger = Signer()
    forged = stranger.order(house.mirror.folder / "9.9.1.tar.gz", "9.9.1", order.builds[0].url)
    house.tell(forged.model_copy(update={"key": house.signer.public}))
    report, said = house.says("failed")
    assert report.agent_version == "0.1.0"
    assert "is not one by the server's key" in said.problem
    assert house.mirror.asked == []


@pytest.mark.soak
def test_another_key_than_the_one_the_vm_knows_is_refused(house: House) -> None:
    house.tell(house.offer("9.9.1"))
    house.says("done")
    house.signer = Signer()
    house.tell(house.offer("9.9.2", number="o-2"))
    report, said = house.says("failed", "o-2")
    assert report.agent_version == "9.9.1"
    assert "another key than the one this VM knows" in said.problem
    assert house.mirror.asked == ["9.9.1.tar.gz"]


@pytest.mark.soak
def test_other_bytes_than_those_signed_are_refused(house: House) -> None:
    order = house.offer("9.9.1")
    path = house.mirror.folder / "9.9.1.tar.gz"
    body = bytearray(path.read_bytes())
    body[-1] ^= 1
    path.write_bytes(body)
    house.tell(order)
    report, said = house.says("failed")
    assert report.agent_version == "0.1.0"
    assert "nothing of it was used" in said.problem


@pytest.mark.soak
def test_an_agent_that_crashes_at_start_gives_way_to_the_one_before(house: House) -> None:
    house.tell(house.offer("9.9.1"))
    house.says("done")
    house.tell(house.offer("9.9.2", main=CRASHES, number="o-2"))
    report, said = house.says("failed", "o-2")
    assert report.agent_version == "9.9.1"
    assert said.problem == ("agent 9.9.2 ended 3 times before it had reported: it cannot start; back to agent 9.9.1")


def test_an_agent_that_hangs_is_ended_by_the_alarm(house: House) -> None:
    began = time.monotonic()
    house.tell(house.offer("9.9.1", main=HANGS, within_s=2.0))
    report, said = house.says("failed")
    assert report.agent_version == "0.1.0"
    assert "had not reported to the control plane after 2 s; back to the agent of its birth" in said.problem
    assert time.monotonic() - began < 30


@pytest.mark.soak
def test_an_agent_nobody_hears_gives_way_and_says_so_once_it_is_heard(house: House) -> None:
    house.tell(house.offer("9.9.1", within_s=4.0))
    bundles = house.vm.root / "agent" / "bundles" / "choice.json"
    until(lambda: bundles.exists() and '"tries"' in bundles.read_text(), timeout_s=20)
    house.server.is_down = True
    until(lambda: "had not reported" in bundles.read_text() or "done" in bundles.read_text(), timeout_s=30)
    house.server.is_down = False
    report, said = house.says("failed")
    assert (report.agent_version, said.state) == ("0.1.0", "failed")


@pytest.mark.soak
def test_the_same_order_is_followed_once_and_another_one_tries_again(house: House) -> None:
    broken = house.offer("9.9.1", main=CRASHES)
    house.tell(broken)
    house.says("failed")
    good = house.offer("9.9.1", number="o-2")
    house.tell(good)
    report, _ = house.says("done", "o-2")
    assert report.agent_version == "9.9.1"


@pytest.mark.kafka
@pytest.mark.soak
def test_kafka_outlives_an_upgrade(tmp_path: Path) -> None:
    mirror, signer = Mirror(tmp_path / "mirror"), Signer()
    with serving(Cluster(tmp_path)) as cluster:
        before = cluster.broker_running("b-1")
        vm, url = cluster.broker, mirror.url
        for number, version, main, state in (
            ("o-1", "9.9.1", "", "done"),
            ("o-2", "9.9.2", CRASHES, "failed"),
            ("o-3", "9.9.3", "", "done"),
        ):
            archive = agent_archive(mirror.folder / f"{version}.tar.gz", version, main=main)
            order = signer.order(archive, version, f"{url}/{archive.name}", number=number)
            told = document("brokers-0", cluster.service("broker", "b-1", state="running"))
            cluster.server.serve(told.model_copy(update={"agent": order}))
            until(partial(_is_told, cluster, vm.instance, number, state), timeout_s=60)
            said = cluster.broker_running("b-1", after=cluster.server.count(vm.instance) - 1)
            assert (said.pid, said.start_id) == (before.pid, "b-1"), f"after {version}"
    mirror.close()


@pytest.mark.soak
def test_the_power_button_ends_a_new_agent_that_has_not_reported_yet(house: House) -> None:
    house.tell(house.offer("9.9.1"))
    bundles = house.vm.root / "agent" / "bundles" / "choice.json"
    until(lambda: bundles.exists() and '"tries": 1' in bundles.read_text(), timeout_s=20)
    house.server.is_down = True
    assert house.vm.press_power_button() == 0
    assert "had not reported" not in bundles.read_text(), "the next boot goes on with it"


def _is_told(cluster: Cluster, instance: str, order: str, state: str) -> bool:
    """Whether the VM's last reports say so of the order."""
    last = cluster.server.reports[instance][-3:]
    return any(r.upgrade is not None and (r.upgrade.order, r.upgrade.state) == (order, state) for r in last)
