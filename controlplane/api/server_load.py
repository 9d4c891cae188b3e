"""How much this process has in hand, counted where it happens: connections, requests it sent away, and why.

Read by the page of the loop, `kedge doctor`, and Prometheus. It decides nothing.
"""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from controlplane.runtime.descriptors import ConnectionBudget, budget_of, current_limit
from controlplane.runtime.process_errors import TROUBLES, Trouble, Troubles
from events.engine import DatabaseTrouble
from providers.finding import Finding

AGENTS, PEOPLE = "agents", "people"
NEARLY_FULL = 0.8
"""Share of the agents that fit from which on it is told: there is time to raise the limit, or to add memory."""

MORE_AGENTS = (
    "Raise the limit of open files of the server's process (`LimitNOFILE=` of its systemd unit, `ulimit -n`), and "
    "start it again."
)


@dataclass(frozen=True, slots=True)
class LoadFigures:
    """One moment. `shed` and `closed` count since this process began: requests answered with 503 by (who, why), and
    connections that were closed by why. `descriptors` is None where it cannot be looked up.
    """

    budget: ConnectionBudget
    agents: int = 0
    connections: Mapping[str, int] = field(default_factory=dict)
    descriptors: int | None = None
    shed: Mapping[tuple[str, str], int] = field(default_factory=dict)
    closed: Mapping[str, int] = field(default_factory=dict)
    threads: int = 0
    threads_busy: int = 0
    database: DatabaseTrouble | None = None
    troubles: Sequence[Trouble] = ()

    @property
    def is_nearly_full(self) -> bool:
        """Whether more than four fifths of the agents that fit are here."""
        return self.agents > NEARLY_FULL * self.budget.agents

    @property
    def shed_of(self) -> Counter[str]:
        """Requests sent away, by whose they were."""
        counts: Counter[str] = Counter()
        for (who, _), count in self.shed.items():
            counts[who] += count
        return counts


def load_findings(load: LoadFigures) -> Sequence[Finding]:
    """For `kedge doctor`: the room there is, and what is wrong now."""
    budget, shed = load.budget, load.shed_of
    sentence = f"{load.agents} agents of the {budget.agents} that fit {budget.limit} open files"
    if shed[AGENTS] or shed[PEOPLE]:
        sentence += f"; sent away since it began: {shed[AGENTS]} requests of agents, {shed[PEOPLE]} of people"
    then = MORE_AGENTS if load.is_nearly_full else ""
    found = [Finding("server: room for agents", not load.is_nearly_full, sentence, then)]
    if load.database is not None:
        sentence = f"since {load.database.since:%Y-%m-%d %H:%M:%S} UTC its writes are not kept: {load.database.why}"
        then = "Fix the database, or free space on its disk. The server goes on by itself."
        found.append(Finding("server: database", False, sentence, then))
    for one in load.troubles:
        if one.since is not None:
            sentence = f"fails since {one.since:%Y-%m-%d %H:%M:%S} UTC, tried again all the time: {one.error}"
            found.append(
                Finding(f"server: {one.task}", False, sentence, "The server's log has its first failure whole.")
            )
    return found


class ServerLoad:
    """Thread-safe. The server sets the gauges once a second; what is shed is counted as it happens."""

    def __init__(self, budget: ConnectionBudget | None = None, troubles: Troubles = TROUBLES) -> None:
        self.budget = budget or budget_of(current_limit())
        self._troubles = troubles
        self._lock = threading.Lock()
        self._shed: Counter[tuple[str, str]] = Counter()
        self._closed: Counter[str] = Counter()
        self._agents = 0
        self._connections: Mapping[str, int] = {}
        self._descriptors: int | None = None
        self._threads = (0, 0)

    def count_shed(self, who: str, why: str) -> None:
        """A request was answered with 503."""
        with self._lock:
            self._shed[who, why] += 1

    def count_closed(self, why: str) -> None:
        """A connection was closed by us, not at the end of its time."""
        with self._lock:
            self._closed[why] += 1

    def see_agents(self, count: int) -> None:
        """So many agents were heard within the last minute."""
        with self._lock:
            self._agents = count

    def see_connections(self, by_whom: Mapping[str, int], descriptors: int | None) -> None:
        """What is open now."""
        with self._lock:
            self._connections, self._descriptors = dict(by_whom), descriptors

    def see_threads(self, busy: int, total: int) -> None:
        """Of those that answer requests."""
        with self._lock:
            self._threads = (busy, total)

    def figures(self, database: DatabaseTrouble | None = None) -> LoadFigures:
        """As it is now."""
        with self._lock:
            busy, threads = self._threads
            return LoadFigures(
                budget=self.budget,
                agents=self._agents,
                connections=self._connections,
                descriptors=self._descriptors,
                shed=dict(self._shed),
                closed=dict(self._closed),
                threads=threads,
                threads_busy=busy,
                database=database,
                troubles=self._troubles.all(),
            )
