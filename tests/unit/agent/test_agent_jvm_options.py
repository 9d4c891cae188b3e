"""The JVM options of a spec over those of the machine, and of the agent."""

from pathlib import Path

import pytest

from agent.services.jvm_options import with_options
from agent.services.launch import KafkaInstallation
from tests.unit.agent.wanted import broker

G1 = ("-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:G1HeapRegionSize=16M", "-XX:MetaspaceSize=96m", "-Xlog:disable")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), G1),
        (("-XX:+UseZGC",), ("-XX:MetaspaceSize=96m", "-Xlog:disable", "-XX:+UseZGC")),
        (
            ("-XX:MaxGCPauseMillis=50",),
            (
                "-XX:+UseG1GC",
                "-XX:G1HeapRegionSize=16M",
                "-XX:MetaspaceSize=96m",
                "-Xlog:disable",
                "-XX:MaxGCPauseMillis=50",
            ),
        ),
        (("-XX:+UseG1GC", "-Dcom.sun.x=1"), (*G1[1:], "-XX:+UseG1GC", "-Dcom.sun.x=1")),
        (("-XX:-UseG1GC",), (*G1[1:], "-XX:-UseG1GC")),
        (("-Xlog:gc*:file=gc.log",), (*G1, "-Xlog:gc*:file=gc.log")),
    ],
    ids=[
        "none",
        "another collector",
        "the same option",
        "the same collector",
        "switched off",
        "a log of the collector",
    ],
)
def test_an_option_takes_the_place_of_what_it_contradicts(options: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert with_options(G1, options) == expected


def _words(tmp_path: Path, **told: object) -> tuple[str, ...]:
    return KafkaInstallation(tmp_path, "java").kafka_command(broker("s-1", **told), directory=Path("/vm"), marks=())


def test_a_collector_of_the_spec_is_the_only_one_and_the_heap_stays(tmp_path: Path) -> None:
    """Of an agent that decides by the heap, and of one that is told by the machine."""
    for sized in ((), ("-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")):
        words = _words(tmp_path, jvm=sized, jvm_options=("-XX:+UseZGC",), heap_mib=512)
        assert [w for w in words if w.startswith("-XX:+Use") and w.endswith("GC")] == ["-XX:+UseZGC"]
        assert {"-Xmx512m", "-XX:+ExitOnOutOfMemoryError"} <= set(words)
        assert words.index("-XX:+UseZGC") < words.index("-cp")


def test_without_options_the_command_is_the_one_it_was(tmp_path: Path) -> None:
    assert _words(tmp_path, jvm_options=()) == _words(tmp_path)
