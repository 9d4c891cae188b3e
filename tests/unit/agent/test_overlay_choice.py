"""Which path is taken: what is lost while one goes, that nothing flaps, and that unknown is not dead."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from agent.overlay.choice import Choice, PathState, answered, choose, missed

ORDER = ("private", "public")
PROBE_S = 0.5

Answers = Callable[[str, float], bool]
"""(path, second) -> whether a probe sent then comes back."""


@dataclass
class Walk:
    """A choice, walked through time by probes of both paths."""

    answers: Answers
    choice: Choice = field(default_factory=Choice)
    now_s: float = 0.0
    moves: list[tuple[float, str]] = field(default_factory=list)

    def is_lost(self) -> bool:
        return self.choice.is_lost

    def to(self, until_s: float) -> str:
        while self.now_s < until_s:
            self.now_s += PROBE_S
            paths = {name: self._probed(name) for name in ORDER}
            after = choose(Choice(paths, self.choice.path, self.choice.since_s), ORDER, self.now_s)
            if after.path != self.choice.path:
                self.moves.append((self.now_s, after.path))
            self.choice = after
        return self.choice.path

    def _probed(self, name: str) -> PathState:
        path = self.choice.paths.get(name, PathState())
        came_back = self.answers(name, self.now_s - PROBE_S)
        return answered(path, 0.01, self.now_s) if came_back else missed(path)


def cut(**between: Sequence[tuple[float, float]]) -> Answers:
    """Paths that answer but for those seconds."""
    return lambda path, at_s: not any(begin <= at_s < end for begin, end in between.get(path, ()))


def test_the_preferred_path_is_taken_at_its_second_answer() -> None:
    walk = Walk(cut())
    assert walk.to(600) == "private"
    assert walk.moves == [(2 * PROBE_S, "private")]


def test_a_path_that_is_cut_is_left_after_three_probes_and_taken_again_once_it_was_steady() -> None:
    walk = Walk(cut(private=[(60, 80)]))
    walk.to(200)
    assert walk.moves == [(1.0, "private"), (61.5, "public"), (85.5, "private")]


def test_what_is_cut_beside_the_path_in_use_moves_nothing() -> None:
    walk = Walk(cut(public=[(10, 30), (40, 41)]))
    assert walk.to(100) == "private"
    assert len(walk.moves) == 1


@pytest.mark.parametrize("missing", [1, 2])
def test_fewer_than_three_lost_probes_move_nothing(missing: int) -> None:
    walk = Walk(cut(private=[(20, 20 + missing * PROBE_S)]))
    walk.to(100)
    assert len(walk.moves) == 1


def test_a_path_that_comes_and_goes_is_not_taken_again_before_it_is_steady() -> None:
    flapping = [(20.0 + n * 6, 24.0 + n * 6) for n in range(20)]  # up for two seconds of six
    walk = Walk(cut(private=flapping))
    walk.to(20 + 120)
    assert [path for _, path in walk.moves] == ["private", "public"]
    assert walk.to(160) == "private"


def test_without_any_path_the_last_one_stays_and_the_first_that_answers_twice_is_taken() -> None:
    walk = Walk(cut(private=[(20, 70)], public=[(30, 60)]))
    assert walk.to(50) == "public"
    assert walk.is_lost()
    assert walk.to(60.5) == "public"
    assert not walk.is_lost()
    assert walk.to(76) == "private"
    walk = Walk(cut(private=[(20, 70)], public=[(20, 60)]))
    assert walk.to(60.5) == "private"
    assert walk.to(61) == "public"


def test_an_agent_at_the_other_end_that_begins_anew_moves_nothing() -> None:
    """All its paths come back at once, in any order: traffic went on by the one in use all the time."""
    walk = Walk(cut(private=[(20, 30.5)], public=[(20, 30)]))
    walk.to(60)
    assert [path for _, path in walk.moves] == ["private"]


def test_a_path_that_was_never_up_is_not_taken() -> None:
    walk = Walk(lambda path, _: path == "public")
    assert walk.to(60) == "public"
    assert walk.moves == [(1.0, "public")]


def test_a_node_that_nobody_answers_for_has_no_path() -> None:
    walk = Walk(lambda *_: False)
    assert walk.to(60) == ""
    assert walk.choice.is_lost


def test_an_agent_that_begins_goes_on_with_the_path_of_the_kernel_until_it_knows_better() -> None:
    """Unknown is not dead: the other path may answer first."""
    begun = choose(Choice({"public": answered(PathState(), 0.01, 0.1)}, "private"), ORDER, 0.1)
    assert (begun.path, begun.is_lost) == ("private", False)
    walk = Walk(cut(), Choice(path="private"))
    walk.to(60)
    assert walk.moves == []
    walk = Walk(cut(private=[(0, 60)]), Choice(path="private"))
    walk.to(30)
    assert walk.moves == [(1.5, "public")]


def test_a_lossy_path_is_left_for_a_clean_one_and_is_better_than_none() -> None:
    every_fifth = {n * PROBE_S for n in range(40, 400, 5)}

    def lossy(*which: str) -> Answers:
        return lambda path, at_s: path not in which or at_s not in every_fifth

    walk = Walk(lossy("private"))
    assert walk.to(100) == "public"
    assert 20 < walk.moves[-1][0] < 40, "four of forty, and the other one was steady all the time"
    assert walk.to(300) == "private", "clean again"
    assert len(walk.moves) == 3
    both = Walk(lossy("private", "public"))
    assert both.to(190) == "private"
    assert len(both.moves) == 1


def test_a_path_at_the_edge_of_lossy_is_not_left_and_taken_again_all_the_time() -> None:
    every_thirteenth = {n * PROBE_S for n in range(13, 4000, 13)}  # three or four of forty
    walk = Walk(lambda path, at_s: path == "public" or at_s not in every_thirteenth)
    walk.to(1500)
    assert [path for _, path in walk.moves] == ["private", "public"]


@pytest.mark.parametrize("seed", range(40))
def test_whatever_paths_do_a_cut_is_left_in_two_seconds_and_no_better_path_is_left_out(seed: int) -> None:
    rng = random.Random(seed)
    cuts: Mapping[str, list[tuple[float, float]]] = {path: [] for path in ORDER}
    at_s = 10.0
    while at_s < 300:
        length_s = rng.choice([0.5, 1, 2, 5, 20, 60])
        cuts[rng.choice(ORDER)].append((at_s, at_s + length_s))
        at_s += rng.choice([1.0, 3, 8, 30])
    end_s = max((end for both in cuts.values() for _, end in both), default=0.0)
    answers = cut(**cuts)
    walk = Walk(answers)
    lost_s = 0.0
    while walk.now_s < end_s:
        path = walk.to(walk.now_s + PROBE_S)
        other = next(name for name in ORDER if name != path)
        is_worse = not answers(path, walk.now_s - PROBE_S) and answers(other, walk.now_s - PROBE_S)
        lost_s = lost_s + PROBE_S if is_worse else 0.0
        assert lost_s <= 2.0, f"seed {seed}: {path} at {walk.now_s} s"
    assert walk.to(end_s + 60) == "private", f"seed {seed}"
    for (before_s, _), (after_s, to) in zip(walk.moves, walk.moves[1:], strict=False):
        if to == "private":
            assert after_s - before_s >= 1.0, f"seed {seed}: {walk.moves}"
