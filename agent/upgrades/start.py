"""The first thing an agent does: it becomes the one that was chosen.

The process stays the same one, so whoever keeps the agent alive sees nothing of it. A new agent runs under an alarm of
the kernel: an interval timer lives on over execve (setitimer(2)) and ends the process unless that turns it off, also
one that hangs. Then this code runs again, and returns to the agent before.
"""

import os
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from agent.upgrades.choice import (
    AgentChoice,
    AgentStart,
    ChoiceUnreadable,
    InstalledBundle,
    UpgradeOutcome,
    failed,
    keep_choice,
    next_start,
    read_choice,
)

CHOSEN = "KEDGE_AGENT_BUNDLE"
"""Environment variable of an agent that was chosen: it looks for no other one."""

_LAST_WORDS = 300


def chosen(bundles: Path, words: Path, *, environ: Mapping[str, str]) -> tuple[AgentStart, str]:
    """Which agent is to run now, kept on disk before it does; and what a person should know of it, else "".

    `words` is the file a new agent's last words are in.
    """
    if environ.get(CHOSEN):
        return AgentStart(None), ""
    try:
        kept = read_choice(bundles)
        choice, start = next_start(kept, now_s=time.time(), last_words=last_words(words))
        if start.bundle is not None and not _is_there(start.bundle, bundles):
            choice, start = _without(choice, start.bundle)
        if choice != kept:
            keep_choice(bundles, choice)
    except (ChoiceUnreadable, OSError) as error:
        # Without its record nothing new is tried, and what has worked on this VM runs.
        return AgentStart(None), f"{error}; the agent this VM was born with runs"
    return start, choice.last.problem if choice.last != kept.last else ""


def become(
    bundle: InstalledBundle, *, alarm_s: float, bundles: Path, words: Path, root: Path, environ: Mapping[str, str]
) -> NoReturn:
    """This process is that agent from here on. Raises `OSError`."""
    _arm(alarm_s, words)
    os.execve(  # noqa: S606  # our own interpreter, without a shell
        sys.executable,
        [sys.executable, "-P", "-m", "agent", "--root", str(root)],
        {**environ, "PYTHONPATH": str(bundle.home(bundles)), CHOSEN: bundle.sha256},
    )


def disarm() -> None:
    """The new agent has reported in time."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def last_words(path: Path) -> str:
    """The last line a new agent wrote to its terminal, "" where there is none."""
    try:
        lines = path.read_text(errors="replace").split("\n")
    except OSError:
        return ""
    return next((line.strip()[:_LAST_WORDS] for line in reversed(lines) if line.strip()), "")


def _arm(alarm_s: float, words: Path) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    signal.setitimer(signal.ITIMER_REAL, alarm_s)
    if alarm_s:
        words.parent.mkdir(parents=True, exist_ok=True)
        with words.open("wb") as sink:
            os.dup2(sink.fileno(), 2)


def _is_there(bundle: InstalledBundle, bundles: Path) -> bool:
    return (bundle.home(bundles) / "agent" / "__main__.py").is_file()


def _without(choice: AgentChoice, gone: InstalledBundle) -> tuple[AgentChoice, AgentStart]:
    """Its files are gone: the agent of the VM's birth runs, which needs none."""
    problem = f"the files of agent {gone.version} are gone; back to the agent of its birth"
    order = choice.trial.order if choice.trial else choice.last.order
    return replace(
        failed(choice, order, problem), running=None, last=UpgradeOutcome(order, "failed", problem)
    ), AgentStart(None)
