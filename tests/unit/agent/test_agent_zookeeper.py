"""ZooKeeper on a VM: what its server starts with, what it is never given, and what its four-letter words say."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent.documents import DocumentRejected, judge_document
from agent.four_letters import ServerMode, digest, probe, server_mode
from agent.layout import AgentLayout
from agent.services.launch import KafkaInstallation
from agent.services.properties import ignored_settings, server_properties
from agent.services.storage import format_storage, storage_facts
from agent.services.zoo_cfg import ignored_zookeeper_settings, newest_membership, static_config, write_configuration
from agent.wire import Document, EnsembleMember, ServiceDocument
from tests.unit.agent.test_agent_rendering import check
from tests.unit.agent.wanted import boot_data, broker, document, old_broker, server

LOG_DIRS = (Path("/vm/volumes/data/kafka"),)
MIB = 1 << 20
SRVR = """Zookeeper version: 3.8.4-9316c2a7a97e1666d8f4593f34dd6fc36ecc436c, built on 2024-02-12 22:16 UTC
Latency min/avg/max: 0/0.5/12
Zxid: 0x10000001d
Mode: leader
Node count: 28
"""
MNTR = (
    "zk_server_state\tleader\nzk_avg_latency\t0.5\nzk_max_latency\t12\nzk_outstanding_requests\t3\n"
    "zk_global_sessions\t2\nzk_synced_followers\t2\nzk_pending_syncs\t0\nzk_peer_state\tleading - broadcast\n"
)
NOT_SERVING = "This ZooKeeper instance is not currently serving requests\n"


@pytest.fixture
def layout(tmp_path: Path) -> AgentLayout:
    for name in ("data", "zookeeper"):
        (tmp_path / "volumes" / name).mkdir(parents=True)
    return AgentLayout(tmp_path)


def formatted(service: ServiceDocument, layout: AgentLayout) -> Path:
    format_storage(service, layout, used=(), run_tool=_no_tool)
    assert storage_facts(service, layout, used=()).state == "ready"
    return layout.zookeeper(service.log_dirs[0])


def _no_tool(log_dir: Path, arguments: tuple[str, ...]) -> None:
    raise AssertionError("nothing of ZooKeeper mode needs Kafka's tool")


def test_zoo_cfg() -> None:
    directory = Path("/vm/volumes/zookeeper/zookeeper")
    check("zoo.cfg", static_config(server(), directory, directory / "zoo.cfg.dynamic.10000001e"))


def test_server_properties_of_a_broker_in_zookeeper_mode() -> None:
    check("broker-zookeeper.properties", server_properties(old_broker(), log_dirs=LOG_DIRS))


def test_the_command_line_of_a_server_names_the_digest_and_no_password(tmp_path: Path) -> None:
    (tmp_path / "3.9.1" / "libs").mkdir(parents=True)
    command = KafkaInstallation(tmp_path, "java").zookeeper_command(
        server(), directory=Path("/vm/agent/services/zookeeper"), config=Path("/vm/zoo.cfg"), marks=("-Dmark=1",)
    )
    check("command-zookeeper.txt", "\n".join(command).replace(str(tmp_path), "/kafka") + "\n")


def test_founders_take_part_at_once_and_others_wait_as_observers(layout: AgentLayout) -> None:
    directory = formatted(server(), layout)
    assert (directory / "data" / "myid").read_text() == "1\n"
    assert newest_membership(directory).read_text().splitlines() == [
        "server.2=10.0.1.2:2888:3888:participant;10.0.1.2:2181",
        "server.3=10.0.1.3:2888:3888:participant;10.0.1.3:2181",
        "server.1=10.0.1.1:2888:3888:participant;10.0.1.1:2181",
    ]
    (layout.root / "volumes" / "zookeeper").rename(layout.root / "volumes" / "first")
    (layout.root / "volumes" / "zookeeper").mkdir()
    newcomer = server(node_id=4, address="10.0.1.4", founder=False)
    lines = newest_membership(formatted(newcomer, layout)).read_text().splitlines()
    assert lines[-1] == "server.4=10.0.1.4:2888:3888:observer;10.0.1.4:2181"
    assert len(lines) == 4


def test_a_start_begins_with_the_newest_membership_and_not_with_the_last_by_name(layout: AgentLayout) -> None:
    directory = formatted(server(), layout)
    for version in ("f0000001", "100000002", "100000001"):
        (directory / f"zoo.cfg.dynamic.{version}").write_text(f"server.1=10.0.1.1:2888:3888:participant # {version}\n")
    (directory / "zoo.cfg").write_text("dynamicConfigFile=/another/vm/zoo.cfg.dynamic.100000001\n")
    config = write_configuration(server(), directory)
    assert f"dynamicConfigFile={directory}/zoo.cfg.dynamic.100000002\n" in config.read_text()


def test_a_server_that_was_shown_an_ensemble_without_itself_starts_as_an_observer_of_the_members(
    layout: AgentLayout,
) -> None:
    directory = formatted(server(), layout)
    (directory / "zoo.cfg.dynamic.100000005").write_text("server.2=10.0.1.2:2888:3888:participant;10.0.1.2:2181\n")
    config = write_configuration(server(), directory)
    assert f"dynamicConfigFile={directory}/zoo.cfg.dynamic\n" in config.read_text()
    assert "server.1=10.0.1.1:2888:3888:observer;" in (directory / "zoo.cfg.dynamic").read_text()


def test_a_server_is_not_formatted_over_another_ones_data(layout: AgentLayout) -> None:
    formatted(server(), layout)
    facts = storage_facts(server(node_id=2), layout, used=())
    assert (facts.state, "node.id is '1', should be '2'" in facts.reason) == ("refused", True)


def test_a_broker_in_zookeeper_mode_gets_the_meta_properties_that_kafka_3_writes(layout: AgentLayout) -> None:
    format_storage(old_broker(), layout, used=(), run_tool=_no_tool)
    assert (layout.data(old_broker().log_dirs[0]) / "meta.properties").read_text() == (
        "version=0\ncluster.id=kedgeUnitTestClusterAA\nbroker.id=1000\ndirectory.id=YnJva2VyLWRpci1vbmUtMQ\n"
    )


def test_each_directory_of_a_broker_in_zookeeper_mode_is_marked_and_the_first_is_no_other_than_the_rest(
    layout: AgentLayout,
) -> None:
    """Kafka 3 names no directory of its own for the cluster's metadata there: it has none (KAFKA-16195)."""
    first = old_broker().log_dirs[0]
    second = first.model_copy(update={"name": "data2", "volume": "v2", "directory_id": "YnJva2VyLWRpci10d28tMg"})
    service = old_broker(log_dirs=(first, second))
    (layout.root / "volumes" / "data2").mkdir()
    format_storage(service, layout, used=(), run_tool=_no_tool)
    assert storage_facts(service, layout, used=()).state == "ready"
    marks = [(layout.data(d) / "meta.properties").read_text().splitlines() for d in service.log_dirs]
    assert [m[-1] for m in marks] == [f"directory.id={first.directory_id}", "directory.id=YnJva2VyLWRpci10d28tMg"]
    assert marks[0][:-1] == marks[1][:-1]
    text = server_properties(service, log_dirs=(Path("/vm/data/kafka"), Path("/vm/data2/kafka")))
    assert "log.dirs=/vm/data/kafka,/vm/data2/kafka\n" in text
    assert "metadata.log.dir" not in text
    (layout.data(second) / "meta.properties").unlink()
    lost = storage_facts(service, layout, used=(second.directory_id,))
    assert (lost.state, lost.lost) == ("refused", ("data2",))


@pytest.mark.parametrize("key", ["skipACL", "server.9", "4lw.commands.whitelist", "dataDir", "reconfigEnabled"])
def test_a_setting_never_overrides_what_kedge_owns_of_an_ensemble(key: str) -> None:
    service = server(settings={key: "stolen", "tickTime": "3000"})
    text = static_config(service, Path("/d"), Path("/d/m"))
    assert ("stolen" in text, "tickTime=3000\n" in text) == (False, True)
    assert ignored_zookeeper_settings(service) == (key,)


@pytest.mark.parametrize("key", ["process.roles", "zookeeper.connect", "inter.broker.protocol.version", "broker.id"])
def test_a_setting_never_changes_the_mode_or_the_protocol_of_a_broker(key: str) -> None:
    service = old_broker(settings={key: "stolen"})
    assert "stolen" not in server_properties(service, log_dirs=LOG_DIRS)
    assert ignored_settings(service) == (key,)


def test_a_document_written_before_zookeeper_is_still_read() -> None:
    told = document(broker()).model_dump(mode="json")
    for service in told["services"]:
        for name in ("ensemble", "protocol_version", "super_digest"):
            del service[name]
    read = Document.model_validate(told).services[0]
    assert read == broker()
    assert not read.is_zookeeper_mode


@pytest.mark.parametrize(
    ("service", "words"),
    [
        (server(ensemble=(EnsembleMember(id=1, address="10.0.1.1;skipACL"),)), "cannot be the address"),
        (server(super_digest="super:abc\nskipACL=yes"), "no `super:` with a base64 hash"),
        (server(ensemble=()), "names no member"),
        (old_broker(protocol_version=""), "pins no protocol version"),
    ],
)
def test_a_document_that_would_write_other_lines_is_refused(service: ServiceDocument, words: str) -> None:
    verdict = judge_document(document(service).model_dump_json().encode(), boot=boot_data(), current=None)
    assert isinstance(verdict, DocumentRejected)
    assert words in verdict.reason


def test_a_leader_tells_its_mode_and_its_numbers() -> None:
    assert server_mode(SRVR) == ServerMode("leader", 0x10000001D)
    told = digest(SRVR, MNTR)
    assert (told["serves"], told["leads"], told["observes"]) == (1, 1, 0)
    assert (told["latency_avg_ms"], told["outstanding_requests"], told["sessions"]) == (0.5, 3, 2)
    assert (told["synced_followers"], told["zxid"]) == (2, 0x10000001D)
    assert "quorum_size" not in told, "what was not told is not made up"


def test_a_server_without_a_majority_serves_nobody() -> None:
    assert server_mode(NOT_SERVING) == ServerMode("", 0)
    assert digest(NOT_SERVING, NOT_SERVING)["serves"] == 0


def test_a_probe_tells_up_no_majority_and_silence_apart() -> None:
    with answering(SRVR) as port:
        assert probe("127.0.0.1", port).state == "up"
    with answering(NOT_SERVING) as port:
        health = probe("127.0.0.1", port)
        assert (health.state, "no leader with a majority" in health.reason) == ("down", True)
    gone = probe("127.0.0.1", port)
    assert (gone.state, "does not answer" in gone.reason) == ("down", True)


@contextmanager
def answering(words: str) -> Iterator[int]:
    """A server that says the same to everybody, once."""
    with socket.create_server(("127.0.0.1", 0)) as door:

        def answer() -> None:
            talk, _ = door.accept()
            with talk:
                talk.recv(4)
                talk.sendall(words.encode())

        thread = threading.Thread(target=answer)
        thread.start()
        yield door.getsockname()[1]
        thread.join()
