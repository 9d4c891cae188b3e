"""The tables of the page on defaults are those that nodes are made by."""

from collections.abc import Iterator

import pytest

from events.spec.fields import Part, fields_of, part_type
from events.spec.model import ClusterSpec
from events.spec.presets import PRESETS, meant
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


def test_the_table_of_presets_is_what_the_words_stand_for() -> None:
    fields = dict(_fields(ClusterSpec))
    rows = {bare(row[0]): row[1:] for row in table_headed(PAGE, "field")}
    by_preset = {name: {".".join(path): value for path, value in meant({"preset": name})} for name in PRESETS}
    assert set(rows) == {path for told in by_preset.values() for path in told}
    for path, (production, development, without) in rows.items():
        assert bare(production) == _word(by_preset["production"].get(path, ""))
        assert bare(development) == _word(by_preset["development"].get(path, ""))
        assert bare(without) == _word(fields[path])


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _fields(part: type[Part], path: str = "") -> Iterator[tuple[str, object]]:
    """(path, default) of every field below a part that has one."""
    for _, key, info in fields_of(part):
        here = f"{path}.{key}" if path else key
        inner = part_type(info.annotation)
        if inner is not None:
            yield from _fields(inner, here)
        elif not info.is_required():
            yield here, info.get_default(call_default_factory=True)
