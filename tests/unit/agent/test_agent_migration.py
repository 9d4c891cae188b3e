"""A broker and a controller between ZooKeeper and KRaft: what they start with when they are told of both."""

from pathlib import Path

import pytest

from agent.documents import judge_document
from agent.layout import AgentLayout
from agent.services.properties import ignored_settings, server_properties
from agent.services.storage import format_storage, storage_facts, storage_tool_arguments
from agent.wire import Document, ServiceDocument
from tests.unit.agent.test_agent_rendering import check
from tests.unit.agent.wanted import ENSEMBLE, VOTERS, boot_data, broker, controller, document, old_broker, server

LOG_DIRS = (Path("/vm/volumes/data/kafka"),)
BRIDGED = old_broker(voters=VOTERS)
MIGRATED = broker(kafka_version="3.9.1")
MIGRATING = controller(kafka_version="3.9.1", metadata_level="3.9", ensemble=ENSEMBLE)


def properties(service: ServiceDocument) -> dict[str, str]:
    lines = server_properties(service, log_dirs=LOG_DIRS).splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


@pytest.fixture
def layout(tmp_path: Path) -> AgentLayout:
    for name in ("data", "metadata"):
        (tmp_path / "volumes" / name).mkdir(parents=True)
    return AgentLayout(tmp_path)


def test_server_properties_of_a_broker_that_is_told_of_both() -> None:
    check("broker-migrating.properties", server_properties(BRIDGED, log_dirs=LOG_DIRS))


def test_server_properties_of_a_controller_that_is_told_of_both() -> None:
    check("controller-migrating.properties", server_properties(MIGRATING, log_dirs=LOG_DIRS))


def test_a_broker_that_is_told_of_both_is_still_zookeepers() -> None:
    told = properties(BRIDGED)
    assert (told["broker.id"], told["inter.broker.protocol.version"]) == ("1000", "3.9")
    assert told["zookeeper.metadata.migration.enable"] == "true"
    assert not {"node.id", "process.roles"} & told.keys()


@pytest.mark.parametrize("service", [MIGRATED, controller(kafka_version="3.9.1")], ids=["broker", "controller"])
def test_whoever_is_told_of_the_quorum_alone_names_zookeeper_nowhere(service: ServiceDocument) -> None:
    assert not [key for key in properties(service) if "zookeeper" in key or key == "inter.broker.protocol.version"]


def test_a_broker_that_goes_back_names_the_quorum_nowhere() -> None:
    assert not [key for key in properties(old_broker()) if key.startswith("controller.")]


@pytest.mark.parametrize("key", ["zookeeper.metadata.migration.enable", "zookeeper.connect", "node.id"])
def test_a_setting_never_begins_or_ends_a_migration(key: str) -> None:
    for service in (BRIDGED, MIGRATING, MIGRATED, old_broker()):
        stolen = service.model_copy(update={"settings": {key: "stolen"}})
        assert "stolen" not in server_properties(stolen, log_dirs=LOG_DIRS)
        assert ignored_settings(stolen) == (key,)


def test_only_who_is_told_of_both_migrates() -> None:
    migrating = [s.is_migrating for s in (BRIDGED, MIGRATING, MIGRATED, old_broker(), server(), controller())]
    assert migrating == [True, True, False, False, False, False]
    assert not MIGRATING.is_zookeeper_mode, "a controller has its metadata in its own log"


def test_a_broker_keeps_its_disk_from_zookeeper_to_kraft_and_back(layout: AgentLayout) -> None:
    format_storage(old_broker(), layout, used=(), run_tool=_no_tool)
    for service in (BRIDGED, MIGRATED, BRIDGED, old_broker(), MIGRATED):
        assert storage_facts(service, layout, used=()).state == "ready"
    stranger = MIGRATED.model_copy(update={"node_id": 1001})
    facts = storage_facts(stranger, layout, used=())
    assert (facts.state, "broker.id is '1000', should be '1001'" in facts.reason) == ("refused", True)


def test_a_disk_that_was_born_in_kraft_is_no_disk_of_zookeepers(layout: AgentLayout) -> None:
    format_storage(MIGRATED, layout, used=(), run_tool=_no_tool)
    for service in (old_broker(), BRIDGED):
        assert "version is '1', should be '0'" in storage_facts(service, layout, used=()).reason


def test_the_quorum_of_a_migration_is_formatted_at_level_3_9_with_all_its_voters() -> None:
    arguments = storage_tool_arguments(MIGRATING)
    assert arguments[3:6] == ("--release-version", "3.9", "-I")
    assert arguments[6].count(":9093:") == len(VOTERS)


def test_a_broker_that_is_told_of_both_needs_its_protocol_version_pinned() -> None:
    wanted = document(BRIDGED.model_copy(update={"protocol_version": ""}))
    judged = judge_document(wanted.model_dump_json().encode(), boot=boot_data(), current=None)
    assert "pins no protocol version" in getattr(judged, "reason", "")


def test_a_document_of_a_migration_is_read_as_it_was_written() -> None:
    told = document(BRIDGED)
    assert Document.model_validate_json(told.model_dump_json()) == told


def _no_tool(log_dir: Path, arguments: tuple[str, ...]) -> None:
    raise AssertionError("a broker's disk needs no tool")
