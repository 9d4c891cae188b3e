"""Which agent of a VM runs, as kept on disk. Written by one agent and read by the next: old fields keep their meaning.

The agent a VM was born with starts first, always. It reads this and becomes the chosen one, so whatever a newer agent
does, what decides between the two is code that has worked on this VM before.
"""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from agent.durable import write_durably

MOST_TRIES = 3
"""Starts of a new agent that end before it has reported, until it is given up."""

_FILE = "choice.json"


class ChoiceUnreadable(ValueError):
    """The record is damaged. What now: the agent the VM was born with runs, and says so."""


@dataclass(frozen=True, slots=True)
class InstalledBundle:
    """An agent on this VM, in a directory of that name."""

    sha256: str
    version: str

    def home(self, bundles: Path) -> Path:
        return bundles / self.sha256[:16]


@dataclass(frozen=True, slots=True)
class UpgradeTrial:
    """An agent that has not reported yet. `began_s` is the machine's wall clock, 0 before its first start."""

    bundle: InstalledBundle
    order: str
    within_s: float
    tries: int = 0
    began_s: float = 0.0


@dataclass(frozen=True, slots=True)
class UpgradeOutcome:
    """What came of the last order."""

    order: str = ""
    state: str = "idle"
    """idle, done or failed."""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class AgentChoice:
    """`running` is None for the agent the VM was born with."""

    running: InstalledBundle | None = None
    trial: UpgradeTrial | None = None
    last: UpgradeOutcome = UpgradeOutcome()


@dataclass(frozen=True, slots=True)
class AgentStart:
    """Which agent to start: None for the one the VM was born with. With `alarm_s` it has so long to report."""

    bundle: InstalledBundle | None
    alarm_s: float = 0.0


def next_start(choice: AgentChoice, *, now_s: float, last_words: str) -> tuple[AgentChoice, AgentStart]:
    """What is started now, and the choice to keep before that. `last_words` is what a new agent ended with."""
    trial = choice.trial
    if trial is None:
        return choice, AgentStart(choice.running)
    # A clock that was set back counts for nothing: the tries do.
    since_s = max(0.0, now_s - trial.began_s) if trial.tries else 0.0
    name = f"agent {trial.bundle.version}"
    if since_s >= trial.within_s:
        return _given_up(choice, f"{name} had not reported to the control plane after {trial.within_s:.0f} s")
    if trial.tries >= MOST_TRIES:
        words = f": {last_words}" if last_words else ""
        return _given_up(choice, f"{name} ended {trial.tries} times before it had reported{words}")
    tried = replace(trial, tries=trial.tries + 1, began_s=trial.began_s if trial.tries else now_s)
    return replace(choice, trial=tried), AgentStart(trial.bundle, trial.within_s - since_s)


def confirmed(choice: AgentChoice) -> AgentChoice:
    """The new agent has reported: it is the one from here on."""
    trial = choice.trial
    return choice if trial is None else AgentChoice(trial.bundle, None, UpgradeOutcome(trial.order, "done"))


def failed(choice: AgentChoice, order: str, problem: str) -> AgentChoice:
    """An order that is not followed; what runs goes on."""
    return replace(choice, trial=None, last=UpgradeOutcome(order, "failed", problem))


def read_choice(bundles: Path) -> AgentChoice:
    """Empty where nothing was ever chosen. Raises `ChoiceUnreadable`."""
    path = bundles / _FILE
    try:
        document = json.loads(path.read_bytes())
        running, trial, last = document["running"], document["trial"], document["last"]
        return AgentChoice(
            InstalledBundle(running["sha256"], running["version"]) if running else None,
            _trial(trial) if trial else None,
            UpgradeOutcome(last["order"], last["state"], last["problem"]),
        )
    except FileNotFoundError:
        return AgentChoice()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ChoiceUnreadable(f"{path} cannot be read: {error!r}") from error


def keep_choice(bundles: Path, choice: AgentChoice) -> None:
    """On disk before anything acts on it. Raises `OSError`."""
    bundles.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_durably(bundles / _FILE, json.dumps(asdict(choice)).encode())


def _trial(document: dict[str, object]) -> UpgradeTrial:
    bundle = document["bundle"]
    if not isinstance(bundle, dict):
        raise TypeError(f"trial.bundle is {bundle!r}")
    within_s, tries, began_s = (float(str(document[name])) for name in ("within_s", "tries", "began_s"))
    return UpgradeTrial(
        InstalledBundle(bundle["sha256"], bundle["version"]), str(document["order"]), within_s, int(tries), began_s
    )


def _given_up(choice: AgentChoice, problem: str) -> tuple[AgentChoice, AgentStart]:
    order = choice.trial.order if choice.trial else ""
    before = f"back to agent {choice.running.version}" if choice.running else "back to the agent of its birth"
    return failed(choice, order, f"{problem}; {before}"), AgentStart(choice.running)
