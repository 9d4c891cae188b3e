"""The mutation check itself: mutants have names that last, take the place of what runs, and survivors are counted."""

import functools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.mutation import mutants, swap
from tests.mutation.mutants import Mutant, Name, function_at, named
from tests.mutation.report import Report, Result, is_good, lines, percent, stale
from tests.mutation.session import forked
from tests.mutation.targets import argued, targets

SOURCE = '''"""A module."""

LEAST = 3


def enough(n: int) -> bool:
    return n >= LEAST


class Box:
    @property
    def is_full(self) -> bool:
        return any(n > 1 for n in (1, 2))

    @staticmethod
    def least(more: int = 0) -> int:
        return LEAST
'''


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """One that is imported from below `ROOT`, as those of Kedge are."""
    (tmp_path / "some_box.py").write_text(SOURCE)
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    monkeypatch.setattr(swap, "ROOT", tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    mutants.text_of.cache_clear()
    import some_box  # type: ignore[import-not-found]

    yield some_box
    del sys.modules["some_box"]
    mutants.text_of.cache_clear()


def mutant(before: str, after: str) -> Mutant:
    begin = SOURCE.index(before)
    line = SOURCE.count("\n", 0, begin) + 1
    name = Name("some_box.py", function_at(SOURCE, line), before, after)
    return Mutant(name, "", line, begin, begin + len(before), after)


def test_whoever_imported_a_function_before_runs_the_mutant(module: ModuleType) -> None:
    enough = module.enough
    assert enough(3)
    swap.swap(mutant("n >= LEAST", "n > LEAST"))
    assert not enough(3)
    assert enough(4)


def test_properties_and_static_methods_are_mutated_too(module: ModuleType) -> None:
    box = module.Box()
    assert box.is_full
    swap.swap(mutant("any(", "all("))
    assert not box.is_full
    swap.swap(mutant("return LEAST\n", "return -1\n"))
    assert module.Box.least() == -1


def test_what_a_parameter_is_where_nobody_says_is_mutated_too(module: ModuleType) -> None:
    there = mutant("more: int = 0", "more: int = 7")
    assert there.name.function == "Box.least"
    swap.swap(there)
    assert module.Box.least.__defaults__ == (7,)


def test_a_constant_is_another_one_wherever_it_was_imported_by_its_name(module: ModuleType) -> None:
    reader = ModuleType("some_reader")
    reader.LEAST = module.LEAST  # type: ignore[attr-defined]
    sys.modules["some_reader"] = reader
    try:
        there = mutant("LEAST = 3", "LEAST = 4")
        assert swap.is_of_a_constant(there)
        assert not swap.is_of_a_constant(mutant("n >= LEAST", "n > LEAST"))
        swap.rebind(there)
        assert not module.enough(3)
        assert reader.LEAST == 4
    finally:
        del sys.modules["some_reader"]


def test_a_function_that_cannot_be_found_is_an_error_and_no_survivor(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "enough", functools.partial(module.enough, 3))
    with pytest.raises(LookupError, match="no function can be seen in it"):
        swap.swap(mutant("n >= LEAST", "n > LEAST"))


def test_a_name_lasts_while_lines_come_and_go_above_it(module: ModuleType, tmp_path: Path) -> None:
    def names(source: str) -> list[Name]:
        (tmp_path / "some_box.py").write_text(source)
        mutants.text_of.cache_clear()
        begin = source.index("n >= LEAST") + 2
        told = {"module": "some_box.py", "line": source.count("\n", 0, begin) + 1, "operator": "x"}
        return [m.name for m in named([{**told, "begin": begin, "end": begin + 2, "text": ">"}])]

    assert names(SOURCE) == names(SOURCE.replace("LEAST = 3", "# why\n\nLEAST = 4"))
    assert names(SOURCE) == [Name("some_box.py", "enough", "return n >= LEAST", "return n > LEAST")]


def test_mutants_that_read_the_same_are_told_apart_by_their_number(module: ModuleType) -> None:
    begin = SOURCE.index("LEAST = 3") + 8
    told = {"module": "some_box.py", "line": 3, "operator": "x", "begin": begin, "end": begin + 1, "text": "4"}
    assert [m.name.nth for m in named([told, told])] == [1, 2]


def test_a_fork_tells_what_it_found_and_one_that_hangs_is_ended() -> None:
    def count(tell: Callable[[object], None]) -> None:
        tell(1)
        tell(2)

    def hang(tell: Callable[[object], None]) -> None:
        while True:
            pass

    assert forked(count, 10.0) == (True, [1, 2])
    assert forked(hang, 0.2) == (False, [])
    for _ in range(20):
        assert forked(hang, 0.0) == (False, []), "also one that never got the processor"


KILLED, HUNG, ALIVE = (
    Result(Name("m.py", "f", "a", after), outcome)
    for after, outcome in (("b", "killed"), ("c", "hung"), ("d", "survived"))
)


def test_what_hangs_is_killed_by_its_time_and_is_counted_apart() -> None:
    report = Report("some", (KILLED, HUNG, ALIVE, Result(Name("m.py", "f", "a", "e"), "not reached")))
    assert percent([report]) == 50.0
    assert (report.count("killed"), report.count("hung"), len(report.survivors())) == (1, 1, 2)
    assert "50.0 %" in lines([report], {})[1]


def test_a_survivor_is_good_only_when_it_is_argued_and_ninety_five_of_a_hundred_are_killed() -> None:
    many = tuple(Result(Name("m.py", "f", "a", str(n)), "killed") for n in range(19))
    good = Report("some", (*many, ALIVE))
    assert not is_good([good], {})
    assert is_good([good], {ALIVE.name: "the same"})
    assert not is_good([Report("some", (*many[1:], ALIVE))], {ALIVE.name: "the same"})
    assert not is_good([Report("some", (*many, ALIVE), broken="a test fails")], {ALIVE.name: "the same"})
    assert any("alive (line 0): m.py f" in line for line in lines([good], {}))


def test_an_argument_for_what_was_killed_or_is_gone_is_told_where_its_module_was_looked_at() -> None:
    known = {KILLED.name: "no", ALIVE.name: "yes", Name("m.py", "g", "x", "y"): "gone", Name("n.py", "g", "x", "y"): ""}
    report = Report("some", (KILLED, ALIVE))
    assert stale([report], known) == [KILLED.name, Name("m.py", "g", "x", "y")]
    assert sum("killed or gone" in line for line in lines([report], known)) == 2


def test_targets_and_arguments_of_this_checkout_can_be_read() -> None:
    modules = {m for t in targets() for m in t.modules}
    assert {name.module for name in argued()} <= modules


def test_a_target_that_names_what_is_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text('[[target]]\nname = "x"\nmodules = ["gone.py"]\ntests = []\n')
    with pytest.raises(ValueError, match=r"target x of t\.toml names gone\.py, which is not there"):
        targets(tmp_path / "t.toml")


def test_an_argument_without_a_reason_is_refused(tmp_path: Path) -> None:
    row = '[[survivor]]\nmodule = "m.py"\nfunction = "f"\nbefore = "a"\nafter = "b"\nwhy = "{}"\n'
    (tmp_path / "s.toml").write_text(row.format(" "))
    with pytest.raises(ValueError, match="does not say why"):
        argued(tmp_path / "s.toml")
    (tmp_path / "s.toml").write_text(row.format("the same") * 2)
    with pytest.raises(ValueError, match="twice"):
        argued(tmp_path / "s.toml")
