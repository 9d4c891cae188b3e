"""Each reason to wait stands once, with its meaning, and none is a bare string where a tick waits."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import controlplane
from controlplane.cluster.fold import fold
from controlplane.cluster.wait_reasons import NEXT, Mark, WaitReason, is_for_a_person, is_given_up
from events import facts
from events.codec import encode
from events.envelope import Recorded
from tests.builders import NOW, a_view

CONVERGER = Path(controlplane.__file__).parent / "converger"
NAMES = frozenset(str(reason) for reason in WaitReason)
ANOTHER_RELEASE = "OnlyAnotherReleaseKnowsIt"


@pytest.mark.parametrize("reason", WaitReason)
def test_every_reason_has_one_short_sentence_of_its_own(reason: WaitReason) -> None:
    assert re.fullmatch(r"[A-Z][^.]{10,80}\.", reason.sentence)
    assert [other for other in WaitReason if other.sentence == reason.sentence] == [reason]


@pytest.mark.parametrize("reason", WaitReason)
def test_a_member_is_named_as_its_word(reason: WaitReason) -> None:
    assert reason.name == re.sub(r"(?<!^)(?=[A-Z])", "_", str(reason)).upper()
    assert WaitReason.of(str(reason)) is reason


@pytest.mark.parametrize("mark", Mark)
def test_every_mark_is_true_of_some_reasons_and_of_few(mark: Mark) -> None:
    assert 1 < sum(reason.has(mark) for reason in WaitReason) < len(WaitReason) / 2


def test_what_is_given_up_is_for_a_person() -> None:
    given_up = {reason for reason in WaitReason if reason.has(Mark.GIVEN_UP)}
    assert {r for r in WaitReason if r.has(Mark.PERSON_ONCE_GIVEN_UP)} < given_up
    assert all(is_for_a_person(r, f"it was tried. {NEXT}kedge resume orders") for r in given_up)
    assert not any(is_given_up(r, "it is tried again in 8 s") for r in WaitReason)


def test_who_waits_for_others_needs_nobody() -> None:
    waits_for_others = (Mark.BROKER_BEHIND, Mark.GATE, Mark.ASKS_FOR_PLACE, Mark.TURN, Mark.COPIES)
    assert not [r for r in WaitReason if r.has(Mark.PERSON) and any(r.has(mark) for mark in waits_for_others)]


def test_a_reason_is_stored_as_its_word_and_read_from_any_release() -> None:
    stored = [
        encode(facts.ConditionChanged("Blocked", True, reason, "it waits"), "e1").data["reason"]
        for reason in (WaitReason.NO_ROOM, ANOTHER_RELEASE)
    ]
    assert stored == ["NoRoom", ANOTHER_RELEASE]
    assert type(stored[0]) is str

    new = encode(facts.ConditionChanged("Blocked", True, ANOTHER_RELEASE, f"it waits. {NEXT}kedge events x"), "e1")
    told = Recorded(1, "cluster-c0ffee", 1, "e1", new.type, new.schema, new.data, "t", None, None, 1, NOW)
    blocked = fold(a_view(version=0), [told]).conditions["Blocked"]
    assert (blocked.reason, WaitReason.of(blocked.reason)) == (ANOTHER_RELEASE, None)
    assert not is_for_a_person(blocked.reason, blocked.message)
    assert not is_given_up(blocked.reason, blocked.message)


# --- the source -----------------------------------------------------------------------------------------------------


def _sources() -> Iterator[tuple[str, ast.Module]]:
    for file in sorted(CONVERGER.rglob("*.py")):
        yield str(file.relative_to(CONVERGER)), ast.parse(file.read_text(encoding="utf-8"))


def _bare(node: ast.AST) -> Iterator[ast.Constant]:
    """Strings that are given to a wait as its reason, and reasons that one is held against, in sets of them, too."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("wait", "Wait"):
        reason = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "reason")]
        yield from (n for given in reason for n in ast.walk(given) if isinstance(n, ast.Constant))
    if isinstance(node, ast.Compare | ast.Set):
        yield from (n for n in ast.walk(node) if isinstance(n, ast.Constant) and n.value in NAMES)


def test_no_reason_is_a_bare_string_where_a_tick_waits_or_asks_for_one() -> None:
    found = [
        f"{name}:{bare.lineno}: {bare.value!r}"
        for name, tree in _sources()
        for n in ast.walk(tree)
        for bare in _bare(n)
    ]
    assert not found


def test_none_is_left_that_no_tick_names() -> None:
    named = {
        n.attr
        for _, tree in _sources()
        for n in ast.walk(tree)
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == WaitReason.__name__
    }
    assert named == set(WaitReason.__members__)
