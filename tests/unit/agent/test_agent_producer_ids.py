"""A founder's checkpoint gets one record more: where the cluster's producer ids begin. Read back by another library."""

import base64
from pathlib import Path

import pytest
from kafka.record.memory_records import MemoryRecords

from agent.layout import AgentLayout
from agent.services.producer_ids import (
    BOOTSTRAP_FILE,
    UnknownBootstrap,
    begin_producer_ids,
    crc32c,
    with_producer_ids,
)
from agent.services.storage import FormatFailed, format_storage
from agent.wire import ServiceDocument
from tests.unit.agent.wanted import VOTERS, controller

FIRST = 7 * 2**44

CHECKPOINT = base64.b64decode(
    "AAAAAAAAAAAAAABHAAAAAAKitik2ACAAAAAAAAABoiv+OskAAAGiK/46yf//////////////////AAAAASoAAAAIAAAAAxYAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAQAAALkAAAAAAskLYEAAAAAAAAMAAAGiK/462QAAAaIr/jrZ//////////////////8AAAAEOgAAAAEu"
    "AQwAEW1ldGFkYXRhLnZlcnNpb24AGwAAWgAAAgFOAQwAIWVsaWdpYmxlLmxlYWRlci5yZXBsaWNhcy52ZXJzaW9uAAEAADQAAAQB"
    "KAEMAA5ncm91cC52ZXJzaW9uAAEAAEAAAAYBNAEMABR0cmFuc2FjdGlvbi52ZXJzaW9uAAIAAAAAAAAAAAAFAAAAPwAAAAAC+nl8"
    "hgAgAAAAAAAAAaIr/jrZAAABoiv+Otn//////////////////wAAAAEaAAAACAAAAAQGAAAAAA=="
)
"""As `kafka-storage format` of 4.2.0 left it at level 4.1: header, four feature levels, footer."""

HEADER_ENDS, FOOTER_BEGINS = 83, 280


def read(checkpoint: bytes) -> list[tuple[bool, list[tuple[int, bytes]]]]:
    """By batch: whether it is of control records, and offset and value of each."""
    batches, found = MemoryRecords(checkpoint), []
    while batches.has_next():
        batch = batches.next_batch()
        assert batch.validate_crc()
        found.append((batch.is_control_batch, [(r.offset, r.value) for r in batch]))
    return found


def test_the_checksum_is_castagnolis() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA, "RFC 3720, B.4"


def test_one_record_stands_before_the_footer_and_all_else_is_as_it_was() -> None:
    before, after = read(CHECKPOINT), read(with_producer_ids(CHECKPOINT, FIRST))
    nobody = b"\xff" * 12
    value = b"\x01\x0f\x00" + nobody + FIRST.to_bytes(8, "big") + b"\x00"
    assert after[:2] == before[:2]
    assert after[2] == (False, [(5, value)])
    assert after[3] == (True, [(6, before[2][1][0][1])])
    assert len(after) == 4


@pytest.mark.parametrize(
    ("damaged", "words"),
    [
        (b"", "no records"),
        (CHECKPOINT[:FOOTER_BEGINS], "no records between a header and a footer"),
        (CHECKPOINT[HEADER_ENDS:], "no records between a header and a footer"),
        (CHECKPOINT[:HEADER_ENDS] + CHECKPOINT[FOOTER_BEGINS:], "no records between"),
        (CHECKPOINT[:HEADER_ENDS] + CHECKPOINT, "control records among"),
        (CHECKPOINT[:-1], "no batch of magic 2 at byte 280"),
        (CHECKPOINT + b"\x00", "ends within a batch, at byte 355"),
        (CHECKPOINT[:150] + b"?" + CHECKPOINT[151:], "the batch at byte 83 has another CRC"),
        (CHECKPOINT[:16] + b"\x01" + CHECKPOINT[17:], "no batch of magic 2 at byte 0"),
    ],
)
def test_what_kafka_would_not_have_left_is_not_touched(tmp_path: Path, damaged: bytes, words: str) -> None:
    (tmp_path / BOOTSTRAP_FILE).write_bytes(damaged)
    with pytest.raises(UnknownBootstrap, match=words):
        begin_producer_ids(tmp_path, FIRST)
    assert (tmp_path / BOOTSTRAP_FILE).read_bytes() == damaged
    assert [path.name for path in tmp_path.iterdir()] == [BOOTSTRAP_FILE]


def test_a_founder_that_is_told_a_range_formats_with_it(tmp_path: Path) -> None:
    layout = a_layout(tmp_path)
    format_storage(founder(FIRST), layout, used=(), run_tool=kafkas_tool)
    data = layout.data(controller().log_dirs[0])
    assert (data / BOOTSTRAP_FILE).read_bytes() == with_producer_ids(CHECKPOINT, FIRST)
    assert {path.name for path in data.iterdir()} == {"meta.properties", BOOTSTRAP_FILE}


def test_a_founder_that_is_told_none_formats_as_ever(tmp_path: Path) -> None:
    layout = a_layout(tmp_path)
    format_storage(founder(None), layout, used=(), run_tool=kafkas_tool)
    assert (layout.data(controller().log_dirs[0]) / BOOTSTRAP_FILE).read_bytes() == CHECKPOINT


def test_a_release_that_formats_otherwise_founds_no_cluster_whose_ids_may_be_anothers(tmp_path: Path) -> None:
    def another_tool(log_dir: Path, arguments: tuple[str, ...]) -> None:
        kafkas_tool(log_dir, arguments)
        (log_dir / BOOTSTRAP_FILE).unlink()

    layout = a_layout(tmp_path)
    with pytest.raises(FormatFailed, match=f"kafka-storage of 4.1.1 formats otherwise .* begin at {FIRST}"):
        format_storage(founder(FIRST), layout, used=(), run_tool=another_tool)
    assert list((tmp_path / "volumes" / "metadata").iterdir()) == []


@pytest.mark.parametrize("wrong", [0, -1, 2**63])
def test_no_document_names_an_id_that_kafka_cannot_give(wrong: int) -> None:
    with pytest.raises(ValueError, match="first_producer_id"):
        ServiceDocument.model_validate({**controller().model_dump(), "first_producer_id": wrong})


def a_layout(root: Path) -> AgentLayout:
    (root / "volumes" / "metadata").mkdir(parents=True)
    return AgentLayout(root)


def founder(first: int | None) -> ServiceDocument:
    return controller(first_producer_id=first)


def kafkas_tool(log_dir: Path, arguments: tuple[str, ...]) -> None:
    ids = f"cluster.id=kedgeUnitTestClusterAA\nnode.id=100\ndirectory.id={VOTERS[0].directory_id}\n"
    (log_dir / "meta.properties").write_text(f"version=1\n{ids}")
    (log_dir / BOOTSTRAP_FILE).write_bytes(CHECKPOINT)
