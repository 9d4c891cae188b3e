"""None is ticked twice at a time, and nobody who rang meanwhile is forgotten."""

from controlplane.converger.tick.turns import Turns


def test_whose_turn_it_is_runs_until_it_ends() -> None:
    turns = Turns()
    assert not turns.is_running("a", asked=True)
    turns.begin("a")
    assert turns.is_running("a", asked=False)
    assert not turns.is_running("b", asked=False)
    turns.end("a")
    assert not turns.is_running("a", asked=False)


def test_the_end_says_once_whether_somebody_asked_meanwhile() -> None:
    turns = Turns()
    turns.begin("a")
    turns.is_running("a", asked=True)
    assert turns.end("a")
    turns.begin("a")
    assert not turns.end("a")


def test_an_interval_asks_for_nothing() -> None:
    turns = Turns()
    turns.begin("a")
    turns.is_running("a", asked=False)
    assert not turns.end("a")
    turns.is_running("a", asked=True)
    turns.begin("a")
    assert not turns.end("a"), "asked before its turn: the turn is the answer"
