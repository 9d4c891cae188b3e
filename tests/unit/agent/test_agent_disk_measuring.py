"""What a new volume does: measured once, before anything is on it, told with its use, and of nobody else."""

import os
from pathlib import Path

import pytest

from agent.disks.measuring import BLOCK_BYTES, VolumeRate, keep_rate, kept_rate, measure
from agent.disks.saturation import SaturationWatch
from agent.disks.volumes import DiskVolumes
from agent.layout import AgentLayout
from agent.probes import log_dir_reports
from tests.unit.agent.test_agent_disks import KNOWN, NEW, OURS, FakeMachine, wanting
from tests.unit.agent.wanted import broker

RATE = VolumeRate(120e6, 130e6)


def test_it_is_kept_under_the_key_of_its_volume(tmp_path: Path) -> None:
    keep_rate(tmp_path / "data.rate", "brokers-a-0.data.v1", RATE)
    assert kept_rate(tmp_path / "data.rate", "brokers-a-0.data.v1") == RATE
    assert kept_rate(tmp_path / "data.rate", "brokers-a-0.data.v2") is None, "another volume is mounted there by now"
    assert kept_rate(tmp_path / "log.rate", "brokers-a-0.data.v1") is None
    (tmp_path / "data.rate").write_text('{"volume": "brokers-a-0.data.v1"}')
    assert kept_rate(tmp_path / "data.rate", "brokers-a-0.data.v1") is None


class Measured:
    def __init__(self, answer: VolumeRate | OSError | None) -> None:
        self.answer, self.asked = answer, [Path()][:0]

    def __call__(self, mount: Path) -> VolumeRate | None:
        self.asked.append(mount)
        if isinstance(self.answer, OSError):
            raise self.answer
        return self.answer


def looked(machine: FakeMachine, root: Path, measured: Measured, log_dir: object) -> DiskVolumes:
    volumes = machine.volumes(root, measured)
    volumes.look(wanting(log_dir), [])  # type: ignore[arg-type]
    return volumes


def test_a_volume_is_measured_when_its_file_system_is_made_and_never_again(tmp_path: Path) -> None:
    machine, measured = FakeMachine({"/dev/vdb": {}}), Measured(RATE)
    looked(machine, tmp_path, measured, NEW)
    looked(machine, tmp_path, measured, NEW)
    layout = AgentLayout(tmp_path)
    assert measured.asked == [layout.mount(NEW)]
    assert kept_rate(layout.rate_file(NEW), NEW.volume) == RATE


def test_one_that_holds_data_is_not_measured(tmp_path: Path) -> None:
    machine, measured = FakeMachine({"/dev/vdb": {"TYPE": "xfs", "UUID": OURS, "USAGE": "filesystem"}}), Measured(RATE)
    looked(machine, tmp_path, measured, KNOWN)
    assert measured.asked == []


@pytest.mark.parametrize("answer", [None, OSError("no space left")])
def test_one_that_cannot_be_measured_is_used_all_the_same(tmp_path: Path, answer: OSError | None) -> None:
    machine = FakeMachine({"/dev/vdb": {}})
    volumes = looked(machine, tmp_path, Measured(answer), NEW)
    assert volumes.look(wanting(NEW), []).attached == {NEW.name: NEW.volume}
    assert kept_rate(AgentLayout(tmp_path).rate_file(NEW), NEW.volume) is None


def test_the_report_of_a_log_directory_has_it(tmp_path: Path) -> None:
    layout, service = AgentLayout(tmp_path), broker()
    (log_dir,) = service.log_dirs
    layout.data(log_dir).mkdir(parents=True)
    assert log_dir_reports(service, layout, SaturationWatch())[0].write_bytes_per_s is None
    keep_rate(layout.rate_file(log_dir), log_dir.volume, RATE)
    report = log_dir_reports(service, layout, SaturationWatch())[0]
    assert (report.write_bytes_per_s, report.read_bytes_per_s) == (120e6, 130e6)


def test_a_real_directory_is_measured_and_nothing_is_left_of_it(tmp_path: Path) -> None:
    """Where this machine's file system takes direct writes; else it says that it cannot tell."""
    rate = measure(tmp_path, within_s=0.05, most_bytes=8 * BLOCK_BYTES)
    assert os.listdir(tmp_path) == []
    assert rate is None or (rate.write_bytes_per_s > 0 and rate.read_bytes_per_s > 0)


def test_a_volume_that_is_too_small_is_left_alone(tmp_path: Path) -> None:
    assert measure(tmp_path, most_bytes=BLOCK_BYTES) is None
