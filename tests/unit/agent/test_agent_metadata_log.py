"""What is left of a broker's metadata log is forgotten only where it is nothing, and nobody's vote."""

import json
from pathlib import Path

import pytest

from agent.services.metadata_log import forget_leader_of_empty_log

LEFT = {"clusterId": "", "leaderId": 100, "leaderEpoch": 1, "votedId": -1, "appliedOffset": 0, "currentVoters": []}
"""As Kafka 4.1.1 left it on a disk that was full."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A log directory with an empty metadata log and an index of zeros."""
    directory = tmp_path / "__cluster_metadata-0"
    directory.mkdir()
    (directory / "quorum-state").write_text(json.dumps(LEFT))
    (directory / "00000000000000000000.log").touch()
    (directory / "00000000000000000000.index").write_bytes(bytes(64))
    (directory / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n")
    (tmp_path / "orders-0").mkdir()
    return tmp_path


def files(data: Path) -> set[str]:
    return {path.name for path in (data / "__cluster_metadata-0").iterdir()}


def test_the_leader_an_empty_log_names_is_forgotten_and_nothing_else(data: Path) -> None:
    before = files(data)
    assert forget_leader_of_empty_log(data)
    assert before - files(data) == {"quorum-state"}
    assert (data / "orders-0").is_dir()
    assert not forget_leader_of_empty_log(data), "there is nothing more to forget"


def test_a_log_with_one_byte_or_a_snapshot_keeps_it(data: Path) -> None:
    directory = data / "__cluster_metadata-0"
    (directory / "00000000000000000000.log").write_bytes(b"\0")
    assert not forget_leader_of_empty_log(data)
    (directory / "00000000000000000000.log").write_bytes(b"")
    (directory / "00000000000000000077-0000000001.checkpoint").touch()
    assert not forget_leader_of_empty_log(data)
    assert "quorum-state" in files(data)


@pytest.mark.parametrize("state", [{**LEFT, "votedId": 100}, {**LEFT, "leaderId": -1}, [], "torn"])
def test_a_vote_and_what_names_no_leader_are_left_alone(data: Path, state: object) -> None:
    (data / "__cluster_metadata-0" / "quorum-state").write_text(json.dumps(state))
    assert not forget_leader_of_empty_log(data)
    assert "quorum-state" in files(data)


def test_what_cannot_be_read_or_is_not_there_is_kafkas_to_judge(data: Path, tmp_path: Path) -> None:
    (data / "__cluster_metadata-0" / "quorum-state").write_text('{"leaderId": 1')
    assert not forget_leader_of_empty_log(data)
    assert "quorum-state" in files(data)
    assert not forget_leader_of_empty_log(tmp_path / "blank")
