"""The tables of the page on defaults are those that nodes are made by."""

import pytest

from planner.rollout.machine_sizes import Machine, jvm_options, service_size
from tests.unit.docs.doc_pages import bare, table_headed, text

PAGE = text("docs/defaults.md")
HEAPS = table_headed(PAGE, "memory of the machine")
THREADS = table_headed(PAGE, "CPUs")


def _mib(cell: str) -> int:
    number, unit = cell.split()
    return int(number) * {"MiB": 1, "GiB": 1024}[unit]


@pytest.mark.parametrize("row", HEAPS, ids=lambda row: row[0])
def test_heaps_are_those_of_the_table(row: list[str]) -> None:
    machine = Machine(4, _mib(row[0]))
    made = [service_size(service, machine).heap_mib for service in ("broker", "controller", "zookeeper")]
    member = service_size("broker", machine, with_member=True).member_heap_mib
    assert [_mib(cell) for cell in row[1:]] == [*made, member]


def test_threads_are_those_of_the_table() -> None:
    head = [
        "num.io.threads",
        "num.network.threads",
        "num.replica.fetchers",
        "num.recovery.threads.per.data.dir",
    ]
    assert all(f"`{name}`" in PAGE for name in head)
    assert len(THREADS) >= 5
    for cpus, *cells in THREADS:
        told = service_size("broker", Machine(int(cpus), 32768)).properties
        assert [told[name] for name in head] == [bare(cell) for cell in cells]


def test_javas_options_are_named() -> None:
    assert all(option in PAGE for option in jvm_options(6144, vcpus=4) if option != "-XX:+UseG1GC")
