"""The VM as the agent sees it: settings, mounts, addresses, boots, disk use, and the metrics port."""

import json
import os
import socket
from pathlib import Path

import httpx
import pytest

from agent.boots import Sequence, boot_id_of, next_boot_id
from agent.disks.saturation import SaturationWatch
from agent.durable import write_durably
from agent.layout import AgentLayout, BootDataUnreadable
from agent.metrics import BROKER_STATE, DIGEST, Jolokia, JolokiaSilent
from agent.probes import ProbeResult, is_partition, log_dir_reports, probe
from agent.settings import AgentSettings, AgentSettingsRefused
from tests.unit.agent.wanted import boot_data, broker


def jolokia(answer: object, status: int = 200) -> Jolokia:
    transport = httpx.MockTransport(lambda _: httpx.Response(status, json=answer))
    return Jolokia("http://127.0.40.9:8778", transport=transport)


def test_settings_come_from_the_environment(tmp_path: Path) -> None:
    environ = {"KEDGE_KAFKA_DIR": "/kafka", "KEDGE_AGENT_TICK_S": "0.25", "KEDGE_JAVA": "/java"}
    settings = AgentSettings.from_env(root=tmp_path, environ=environ)
    assert (settings.kafka_dir, settings.times.tick_s, settings.java) == (Path("/kafka"), 0.25, "/java")
    assert settings.times.stop_deadline_s == 60


@pytest.mark.parametrize("environ", [{}, {"KEDGE_KAFKA_DIR": "/k", "KEDGE_AGENT_TICK_S": "soon"}])
def test_settings_without_sense_are_refused_by_name(tmp_path: Path, environ: dict[str, str]) -> None:
    with pytest.raises(AgentSettingsRefused, match="KEDGE_"):
        AgentSettings.from_env(root=tmp_path, environ=environ)


def test_a_volume_is_attached_when_its_mount_and_its_key_are_there(tmp_path: Path) -> None:
    volumes = tmp_path / "volumes"
    (volumes / "data").mkdir(parents=True)
    (volumes / "half").mkdir()
    (volumes / "data.key").write_text("n.data.v1\n")
    (volumes / "data.bytes").write_text("1\n")
    (volumes / "gone.key").write_text("n.gone.v1\n")
    assert AgentLayout(tmp_path).attached() == {"data": "n.data.v1"}


def test_a_vm_without_anything_attached_is_empty(tmp_path: Path) -> None:
    assert AgentLayout(tmp_path).attached() == {}
    assert AgentLayout(tmp_path).addresses() == frozenset()


def test_boot_data_is_read_or_refused(tmp_path: Path) -> None:
    with pytest.raises(BootDataUnreadable):
        AgentLayout(tmp_path).boot_data()
    (tmp_path / "boot.json").write_text(boot_data().model_dump_json())
    assert AgentLayout(tmp_path).boot_data() == boot_data()
    (tmp_path / "boot.json").write_text(json.dumps({"wire": 1}))
    with pytest.raises(BootDataUnreadable, match=r"boot\.json"):
        AgentLayout(tmp_path).boot_data()


def test_boot_ids_sort_by_boot(tmp_path: Path) -> None:
    ids = [next_boot_id(tmp_path) for _ in range(12)]
    assert ids == sorted(ids)
    assert len(set(ids)) == 12


def test_a_second_agent_of_one_boot_counts_on() -> None:
    first = Sequence()
    last = [first.next() for _ in range(3)][-1]
    assert last > 3
    assert Sequence().next() >= last - 2, "numbers come from the machine's clock, not from 1"


def test_a_durable_write_leaves_no_second_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_durably(path, b"1", mode=0o600)
    write_durably(path, b"2", mode=0o600)
    assert path.read_bytes() == b"2"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize(
    "name",
    [
        "orders-0",
        "a-b-12",
        "__consumer_offsets-7",
        "orders-0.8f3c0d3a2e5b4c5d9e1f2a3b4c5d6e7f-delete",
        "orders-0.8f3c0d3a2e5b4c5d9e1f2a3b4c5d6e7f-stray",
        "orders-0.8f3c0d3a2e5b4c5d9e1f2a3b4c5d6e7f-future",
    ],
)
def test_replicas_are_counted_also_on_their_way_out(name: str) -> None:
    assert is_partition(name)


@pytest.mark.parametrize("name", ["__cluster_metadata-0", "lost+found", "orders", "orders-x", "-0"])
def test_other_directories_are_no_replicas(name: str) -> None:
    assert not is_partition(name)


def test_an_accounted_volume_reports_its_own_size(tmp_path: Path) -> None:
    data = tmp_path / "volumes" / "data" / "kafka"
    (data / "orders-0").mkdir(parents=True)
    (data / "orders-0" / "0.log").write_bytes(b"x" * 8192)
    (data / "meta.properties").touch()
    (tmp_path / "volumes" / "data.bytes").write_text("1048576\n")
    (report,) = log_dir_reports(broker(), AgentLayout(tmp_path), SaturationWatch())
    assert (report.total_bytes, report.partitions) == (1_048_576, 1)
    assert report.free_bytes == 1_048_576 - 8192


def test_a_volume_of_its_own_reports_the_filesystem(tmp_path: Path) -> None:
    (tmp_path / "volumes" / "data" / "kafka").mkdir(parents=True)
    (report,) = log_dir_reports(broker(), AgentLayout(tmp_path), SaturationWatch())
    assert report.total_bytes >= report.free_bytes > 0


def test_a_log_directory_that_cannot_be_read_is_not_reported_as_empty(tmp_path: Path) -> None:
    assert log_dir_reports(broker(), AgentLayout(tmp_path), SaturationWatch()) == ()


def test_a_digest_keeps_numbers_and_leaves_out_what_kafka_lacks() -> None:
    answers: list[object] = [{"status": 404} for _ in DIGEST["broker"]]
    answers[0] = {"status": 200, "value": 3}
    answers[1] = {"status": 200, "value": "NaN"}
    answers[2] = {"status": 200, "value": 1.5}
    assert jolokia(answers).read(DIGEST["broker"]) == {"broker_state": 3.0, "under_min_isr_partitions": 1.5}


@pytest.mark.parametrize("answer", [{"status": 403}, [], "no"])
def test_an_answer_of_another_shape_is_silence(answer: object) -> None:
    with pytest.raises(JolokiaSilent):
        jolokia(answer).read((BROKER_STATE,))


def test_an_http_error_is_silence() -> None:
    with pytest.raises(JolokiaSilent):
        jolokia([], status=500).read((BROKER_STATE,))


def test_a_port_that_refuses_is_down() -> None:
    closed = broker(address="127.0.40.250", port=1)
    assert probe(closed, None).state == "down"


@pytest.mark.parametrize(
    ("answer", "state"),
    [([{"status": 200, "value": 3}], "up"), ([{"status": 200, "value": 2}], "down"), ({"status": 403}, "unknown")],
)
def test_a_listening_broker_is_up_when_it_says_so_itself(answer: object, state: str) -> None:
    with socket.create_server(("127.0.40.2", 0)) as listener:
        found = probe(broker(address="127.0.40.2", port=listener.getsockname()[1]), jolokia(answer))
    assert isinstance(found, ProbeResult)
    assert found.state == state


def test_an_agent_that_is_restarted_within_a_boot_keeps_the_boot_id_and_a_reboot_sorts_after_it(tmp_path: Path) -> None:
    first = boot_id_of(tmp_path, "kernel-1")
    assert boot_id_of(tmp_path, "kernel-1") == first
    assert boot_id_of(tmp_path, "kernel-2") > first
