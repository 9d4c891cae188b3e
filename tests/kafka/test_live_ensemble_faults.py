"""Faults of a real ensemble, one after the other: a lost disk, a holder of a lock that is cut off, a lost majority."""

from collections.abc import Iterator

import pytest

from controlplane.kafka.zookeeper.ensemble import KazooEnsemble
from controlplane.kafka.zookeeper.errors import ZooKeeperUnavailable
from controlplane.kafka.zookeeper.locks import HeldBy, KazooLocks, Taken, may_begin
from controlplane.kafka.zookeeper.members import EnsembleConfig, ZooKeeperMember
from tests.fakes.cutting_proxy import CuttingProxy
from tests.waiting import until
from tests.zookeeper_processes import SUPER_PASSWORD, ZooKeeperProcesses

pytestmark = [pytest.mark.kafka, pytest.mark.soak]
WANTED = [ZooKeeperMember(i, f"127.0.53.{100 + i}") for i in (1, 2, 3)]


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperProcesses]:
    made = ZooKeeperProcesses(tmp_path_factory.mktemp("ensemble-faults"), network="127.0.53")
    try:
        made.found((1, 2, 3))
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def ensemble() -> KazooEnsemble:
    return KazooEnsemble("faults", lambda: WANTED, password=SUPER_PASSWORD, connect_s=1.5)


def test_a_server_whose_disk_was_lost_leaves_and_joins_anew(
    processes: ZooKeeperProcesses, ensemble: KazooEnsemble
) -> None:
    processes.kill(processes.servers[3])
    processes.wipe(3)
    until(lambda: ensemble.look().leader is not None, "the two others to go on")
    ensemble.leave(3, from_version=_config(ensemble).version)

    processes.add_server(3, members=(1, 2))
    until(lambda: ensemble.look(WANTED).of(3).serves, "the newcomer to catch up")
    grown = ensemble.join(WANTED[2], from_version=_config(ensemble).version)
    assert grown.participants == tuple(WANTED)


def test_a_holder_that_is_cut_off_begins_nothing_and_its_lock_is_anothers_after_its_session(
    processes: ZooKeeperProcesses,
) -> None:
    line = CuttingProxy((WANTED[0].address, WANTED[0].port))
    ours = KazooLocks(
        "faults", lambda: [f"127.0.0.1:{line.port}"], holder="server-a", password=SUPER_PASSWORD, session_s=3.0
    )
    theirs = KazooLocks("faults", lambda: [m.endpoint for m in WANTED], holder="server-b", password=SUPER_PASSWORD)
    try:
        first = ours.take("restart", why="broker 1000 is to restart")
        assert isinstance(first, Taken)
        assert isinstance(theirs.take("restart", why="broker 1001"), HeldBy)
        line.close()
        until(lambda: not may_begin(ours.status("restart")).open, "the holder to notice")
        until(lambda: isinstance(theirs.take("restart", why="broker 1001"), Taken), "its session to end")
        second = theirs.take("restart", why="broker 1001")
        assert isinstance(second, Taken)
        assert second.token > first.token
        assert not may_begin(ours.status("restart")).open
    finally:
        ours.close()
        theirs.close()


def test_a_lost_majority_is_left_alone_until_a_server_is_back_with_its_disk(
    processes: ZooKeeperProcesses, ensemble: KazooEnsemble
) -> None:
    before = ensemble.look().config
    processes.kill(processes.servers[1])
    processes.kill(processes.servers[2])
    until(lambda: ensemble.look().config is None, "the last server to stop serving")
    assert before is not None
    with pytest.raises(ZooKeeperUnavailable):
        ensemble.leave(1, from_version=before.version)

    processes.start_server(1)
    until(lambda: ensemble.look().leader is not None, "two of three to serve")
    assert ensemble.look().config == before, "nobody was removed meanwhile"


def _config(ensemble: KazooEnsemble) -> EnsembleConfig:
    config = ensemble.look().config
    assert config is not None
    return config
