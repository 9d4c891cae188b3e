"""The packet filter of a VM that guards itself: what its document says is loaded over what the VM was born with.

One file, one transaction of the kernel: there is no moment without rules, and rules that are refused leave those before
in force. Connections that stand go on, also of somebody who is let in no more.
"""

import hashlib
import logging
from pathlib import Path

from agent.durable import write_durably
from agent.tools import Tool, ToolFailed, output_of, run_tool
from agent.wire import PacketFilterReport

_log = logging.getLogger(__name__)

LOOK_EVERY_S = 60.0
"""How often it is looked whether the kernel still has the rules: anybody with root may have changed them."""
TRY_EVERY_S = 10.0

_TABLE = ("inet", "kedge")


def anew(table: tuple[str, str]) -> str:
    """How rules of a table begin for `nft -f`: what was in it goes in one transaction, and all other tables stay."""
    name = " ".join(table)
    return f"table {name} {{}}\ndelete table {name}\n"


class PacketFilter:
    """Keeps the rules it is told in force, all of one `table`. `file` is where they are written for nft to read."""

    def __init__(
        self,
        file: Path,
        run: Tool = run_tool,
        *,
        table: tuple[str, str] = _TABLE,
        look_every_s: float = LOOK_EVERY_S,
    ) -> None:
        self._file = file
        self._run = run
        self._table = table
        self._look_every_s = look_every_s
        self._rules = ""
        self._refused = ""
        self._listing = ""
        self._problem = ""
        self._looked_s = float("-inf")

    def keep(self, rules: str, now_s: float) -> PacketFilterReport | None:
        """Loads `rules` where they are not in force, and tells what is. "": the filter is not the agent's to keep."""
        if not rules:
            return None
        pause_s = {self._rules: self._look_every_s, self._refused: TRY_EVERY_S}.get(rules, 0.0)
        if now_s - self._looked_s >= pause_s:
            self._looked_s = now_s
            try:
                self._see_to(rules)
                self._problem = self._refused = ""
            except (ToolFailed, OSError) as error:
                self._refused = rules
                self._tell_problem(str(error))
        loaded = hashlib.sha256(self._rules.encode()).hexdigest() if self._rules else ""
        return PacketFilterReport(loaded=loaded, problem=self._problem)

    def remove(self) -> None:
        """Takes the table away. Raises ToolFailed; again is fine."""
        if self._listed():
            output_of(self._run, ("nft", "delete", "table", *self._table))
        self._rules = self._refused = self._listing = self._problem = ""

    def _see_to(self, rules: str) -> None:
        if rules == self._rules:
            if self._listed() == self._listing:
                return
            _log.warning("the packet filter is not as it was loaded: somebody changed it; it is loaded again")
            self._rules = ""
        write_durably(self._file, self._alone(rules).encode(), mode=0o600)
        output_of(self._run, ("nft", "-f", str(self._file)))
        listing = self._listed()
        if not listing:
            raise ToolFailed(f"the table {' '.join(self._table)} was loaded, and is not there: somebody took it away")
        self._rules, self._listing = rules, listing
        _log.info("packet filter loaded: %s", hashlib.sha256(rules.encode()).hexdigest()[:12])

    def _alone(self, rules: str) -> str:
        """With all that is there flushed, as at boot, the tables of an overlay and of a door would be gone, too."""
        return rules.replace("flush ruleset\n", anew(self._table), 1)

    def _listed(self) -> str:
        """The kernel's own words for the table, "" where there is none."""
        answer = self._run(("nft", "list", "table", *self._table))
        return answer.out if answer.code == 0 else ""

    def _tell_problem(self, problem: str) -> None:
        if problem != self._problem:
            _log.error("the packet filter could not be loaded: %s", problem)
        self._problem = problem
