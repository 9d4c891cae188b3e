"""What a game day came to."""

import pytest

from controlplane.background.game_days.report import game_words, quantile, totals_of
from controlplane.cluster.folds.game_days import MOST_KEPT
from controlplane.cluster.views.game_days import GameView, PlayedView
from events import facts
from tests.builders import BEFORE

WHO = ("asked by anna", "person:anna", "user:anna", "")
ASKED = facts.GameStarted("g", 7, 3, 600.0, 15.0, 300.0, ("pause",), *WHO)


def played(number: int, detected: float | None, healed: float | None, below: float = 0.5) -> PlayedView:
    score = facts.FaultScored("g", f"c{number}", detected, healed, below, "", ())
    return PlayedView(f"c{number}", "pause", "brokers-a-0.g1", BEFORE, score)


def test_a_quantile_is_one_of_the_values() -> None:
    assert (quantile([], 0.5), quantile([3.0], 0.95), quantile([1.0, 2.0, 3.0, 4.0], 0.5)) == (None, 3.0, 2.0)


def test_what_nobody_noticed_had_nothing_to_heal() -> None:
    game = GameView(ASKED, BEFORE, (played(0, 2.0, 20.0), played(1, None, 0.0), PlayedView("c2", "pause", "k", BEFORE)))
    totals = totals_of(game)
    assert (totals.detected_p50_s, totals.healed_p50_s, totals.healed_p95_s) == (2.0, 20.0, 20.0)
    assert totals.under_min_isr_s == 1.0


@pytest.mark.parametrize(
    ("game", "words"),
    [
        (GameView(ASKED, BEFORE), "in hand, waiting for full health before the first fault"),
        (
            GameView(ASKED, BEFORE, (PlayedView("c", "pause", "k", BEFORE),)),
            "in hand, 1 of 3 faults were injected: waiting for full health after pause of k",
        ),
        (GameView(ASKED, BEFORE, (played(0, 1.0, 2.0),)), "in hand, 1 of 3 faults were injected"),
        (GameView(ASKED, BEFORE, (), BEFORE, "lunch"), "over, 0 of 3 faults were injected: lunch"),
    ],
)
def test_how_a_game_stands_is_said_in_a_sentence(game: GameView, words: str) -> None:
    assert game_words(game) == words


def test_the_last_ten_reports_are_kept() -> None:
    assert MOST_KEPT == 10
