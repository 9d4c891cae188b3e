"""Which agent starts: the chosen one, a new one for a while, and the one before as soon as that is not heard."""

from dataclasses import replace
from pathlib import Path

import pytest

from agent.upgrades.choice import (
    MOST_TRIES,
    AgentChoice,
    AgentStart,
    ChoiceUnreadable,
    InstalledBundle,
    UpgradeOutcome,
    UpgradeTrial,
    confirmed,
    failed,
    keep_choice,
    next_start,
    read_choice,
)
from agent.upgrades.start import CHOSEN, chosen, last_words

OLD, NEW = InstalledBundle("a" * 64, "1.0.0"), InstalledBundle("b" * 64, "1.1.0")
ON_TRIAL = AgentChoice(OLD, UpgradeTrial(NEW, "o-1", within_s=120.0))


def started(choice: AgentChoice, now_s: float, words: str = "") -> tuple[AgentChoice, AgentStart]:
    return next_start(choice, now_s=now_s, last_words=words)


def test_without_a_choice_the_agent_of_the_birth_starts() -> None:
    assert started(AgentChoice(), 1000.0) == (AgentChoice(), AgentStart(None))
    assert started(AgentChoice(OLD), 1000.0) == (AgentChoice(OLD), AgentStart(OLD))


def test_a_new_agent_has_its_time_from_its_first_start_on() -> None:
    choice, start = started(ON_TRIAL, 1000.0)
    assert start == AgentStart(NEW, 120.0)
    choice, start = started(choice, 1050.0)
    assert start == AgentStart(NEW, 70.0)
    choice, start = started(choice, 1120.0)
    assert start == AgentStart(OLD)
    assert choice.trial is None
    assert choice.last == UpgradeOutcome(
        "o-1", "failed", "agent 1.1.0 had not reported to the control plane after 120 s; back to agent 1.0.0"
    )


def test_a_new_agent_that_ends_is_started_three_times_then_given_up_with_its_last_words() -> None:
    choice = replace(ON_TRIAL, running=None)
    for _ in range(MOST_TRIES):
        choice, start = started(choice, 1000.0, "ImportError: no module")
        assert start.bundle == NEW
    choice, start = started(choice, 1000.0, "ImportError: no module")
    assert start == AgentStart(None)
    assert choice.last.problem == (
        "agent 1.1.0 ended 3 times before it had reported: ImportError: no module; back to the agent of its birth"
    )


def test_a_clock_that_was_set_back_gives_no_new_agent_for_ever() -> None:
    choice, _ = started(ON_TRIAL, 1000.0)
    choice, start = started(choice, 10.0)
    assert start == AgentStart(NEW, 120.0)
    choice, start = started(choice, 10.0)
    choice, start = started(choice, 10.0)
    assert start == AgentStart(OLD)


def test_one_that_has_reported_is_the_one_from_then_on() -> None:
    choice, _ = started(ON_TRIAL, 1000.0)
    assert confirmed(choice) == AgentChoice(NEW, None, UpgradeOutcome("o-1", "done"))
    assert confirmed(AgentChoice(OLD)) == AgentChoice(OLD)


@pytest.mark.parametrize(
    "choice", [AgentChoice(), AgentChoice(OLD), ON_TRIAL, failed(ON_TRIAL, "o-1", "no"), confirmed(ON_TRIAL)]
)
def test_a_choice_is_read_back_as_it_was_kept(choice: AgentChoice, tmp_path: Path) -> None:
    keep_choice(tmp_path / "bundles", choice)
    assert read_choice(tmp_path / "bundles") == choice


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"running": null, "trial": {"bundle": 3}, "last": {}}'])
def test_a_damaged_choice_starts_the_agent_of_the_birth_and_says_so(text: str, tmp_path: Path) -> None:
    (tmp_path / "choice.json").write_text(text)
    with pytest.raises(ChoiceUnreadable):
        read_choice(tmp_path)
    start, problem = chosen(tmp_path, tmp_path / "words", environ={})
    assert start == AgentStart(None)
    assert "the agent this VM was born with runs" in problem


def test_files_that_are_gone_start_the_agent_of_the_birth_and_fail_the_order(tmp_path: Path) -> None:
    keep_choice(tmp_path, ON_TRIAL)
    start, problem = chosen(tmp_path, tmp_path / "words", environ={})
    assert start == AgentStart(None)
    assert problem == "the files of agent 1.1.0 are gone; back to the agent of its birth"
    assert read_choice(tmp_path) == AgentChoice(None, None, UpgradeOutcome("o-1", "failed", problem))


def test_a_chosen_agent_looks_for_no_other(tmp_path: Path) -> None:
    keep_choice(tmp_path, ON_TRIAL)
    assert chosen(tmp_path, tmp_path / "words", environ={CHOSEN: "b" * 64}) == (AgentStart(None), "")
    assert read_choice(tmp_path) == ON_TRIAL, "its try was not counted"


def test_last_words_are_the_last_line_that_says_something(tmp_path: Path) -> None:
    words = tmp_path / "words"
    assert last_words(words) == ""
    words.write_text("Traceback\n  File\nImportError: no module\n\n")
    assert last_words(words) == "ImportError: no module"
