"""Golden files: what Kafka is started with. Update one by deleting it and running the test twice."""

from pathlib import Path

import pytest

from agent.services.launch import KafkaInstallation
from agent.services.properties import ignored_settings, log4j2_properties, server_properties
from agent.services.storage import storage_tool_arguments
from agent.wire import ServiceDocument
from tests.unit.agent.wanted import VOTERS, broker, controller

GOLDEN = Path(__file__).parent / "golden"
LOG_DIRS = (Path("/vm/volumes/data/kafka"),)


def check(name: str, text: str) -> None:
    path = GOLDEN / name
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        pytest.fail(f"{path.name} was missing and has been written: read it, then run again")
    assert text == path.read_text()


@pytest.mark.parametrize(
    ("name", "service"),
    [
        ("broker-small", broker()),
        ("broker-large", broker(heap_mib=4096)),
        ("controller", controller()),
        ("broker-settings", broker(settings={"min.insync.replicas": "1", "node.id": "7", "compression.type": "zstd"})),
    ],
)
def test_server_properties(name: str, service: ServiceDocument) -> None:
    check(f"{name}.properties", server_properties(service, log_dirs=LOG_DIRS))


def test_several_log_directories_are_named_in_order_and_the_metadata_log_stays_in_the_first() -> None:
    both = (Path("/vm/volumes/data/kafka"), Path("/vm/volumes/data2/kafka"))
    lines = server_properties(broker(settings={"metadata.log.dir": "/elsewhere"}), log_dirs=both).splitlines()
    assert "log.dirs=/vm/volumes/data/kafka,/vm/volumes/data2/kafka" in lines
    assert [line for line in lines if line.startswith("metadata.log.dir")] == [
        "metadata.log.dir=/vm/volumes/data/kafka"
    ]
    assert "metadata.log.dir" not in server_properties(broker(), log_dirs=LOG_DIRS)


def test_log4j2_properties() -> None:
    levels = {"kafka.server.ReplicaManager": "DEBUG", "root": "WARN", "kafka.log": "ERROR"}
    text = log4j2_properties(log_file=Path("/vm/logs/broker.log"), cap_bytes=1000, files=2, levels=levels)
    check("log4j2.properties", text)


def test_without_levels_everything_is_logged_from_info_on() -> None:
    text = log4j2_properties(log_file=Path("/vm/logs/broker.log"), cap_bytes=1000, files=2, levels={})
    assert "rootLogger.level=INFO" in text.splitlines()
    assert "\nlogger." not in text


@pytest.mark.parametrize("service", [broker(), controller()], ids=["broker", "controller"])
def test_the_command_line(service: ServiceDocument, tmp_path: Path) -> None:
    libs = tmp_path / "4.1.1" / "libs"
    libs.mkdir(parents=True)
    (libs / "jolokia-agent-jvm-2.2.9-javaagent.jar").touch()
    (tmp_path / "4.1.1" / "cds").mkdir()
    (tmp_path / "4.1.1" / "cds" / "broker.jsa").touch()
    installation = KafkaInstallation(tmp_path, "java")
    command = installation.kafka_command(service, directory=Path("/vm/agent/services/x"), marks=("-Dmark=1",))
    check(f"command-{service.name}.txt", "\n".join(command).replace(str(tmp_path), "/kafka") + "\n")


def test_options_of_the_document_go_before_what_the_heap_would_decide(tmp_path: Path) -> None:
    installation = KafkaInstallation(tmp_path, "java")
    small = installation.kafka_command(broker(), directory=Path("/vm"), marks=())
    assert {"-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"} <= set(small)
    told = broker(heap_mib=6144, jvm=("-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"))
    command = installation.kafka_command(told, directory=Path("/vm"), marks=())
    assert command[1:5] == ("-Xms6144m", "-Xmx6144m", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")
    assert not any("Serial" in word or "TieredStop" in word for word in command)


def test_the_storage_tool_starts_with_the_classes_of_its_role(tmp_path: Path) -> None:
    installation = KafkaInstallation(tmp_path, "java")
    arguments = ("format", "-t", "cluster")
    without = installation.storage_tool_command(controller(), Path("/vm/server.properties"), arguments)
    assert not any("SharedArchiveFile" in word for word in without)
    archive = tmp_path / "4.1.1" / "cds" / "controller.jsa"
    archive.parent.mkdir(parents=True)
    archive.touch()
    command = installation.storage_tool_command(controller(), Path("/vm/server.properties"), arguments)
    assert set(command) - set(without) == {f"-XX:SharedArchiveFile={archive}"}
    assert command.index(f"-XX:SharedArchiveFile={archive}") < command.index("kafka.tools.StorageTool")
    assert command[-5:] == ("format", "-c", "/vm/server.properties", "-t", "cluster")


def test_controllers_carry_the_cluster_wide_min_isr() -> None:
    assert "\nmin.insync.replicas=2\n" in server_properties(controller(), log_dirs=LOG_DIRS)
    assert "\ndefault.replication.factor=3\n" in server_properties(controller(), log_dirs=LOG_DIRS)


@pytest.mark.parametrize("key", ["node.id", "log.dirs", "zookeeper.connect", "controller.quorum.voters", "broker.rack"])
def test_a_setting_never_overrides_what_kedge_owns(key: str) -> None:
    service = broker(settings={key: "stolen"})
    assert "stolen" not in server_properties(service, log_dirs=LOG_DIRS)
    assert ignored_settings(service) == (key,)


def test_a_line_break_in_a_setting_does_not_become_a_key() -> None:
    text = server_properties(broker(settings={"compression.type": "zstd\nnode.id=7"}), log_dirs=LOG_DIRS)
    assert "compression.type=zstd\\nnode.id=7\n" in text
    assert text.count("\nnode.id=") == 1


def test_every_founder_formats_with_the_whole_voter_list() -> None:
    arguments = storage_tool_arguments(controller())
    assert arguments[:5] == ("format", "-t", "kedgeUnitTestClusterAA", "--release-version", "4.1")
    voters = arguments[arguments.index("-I") + 1].split(",")
    assert voters == [f"{v.id}@{v.address}:9093:{v.directory_id}" for v in VOTERS]
