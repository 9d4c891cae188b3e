"""Follows the order of the VM's document: fetches and unpacks beside the converger, then asks the agent to leave.

The next start tries the new agent (agent/upgrades/start.py). Services are no part of it: they keep running.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from agent.platforms import own_platform
from agent.upgrades import archive
from agent.upgrades.choice import (
    AgentChoice,
    ChoiceUnreadable,
    InstalledBundle,
    UpgradeOutcome,
    UpgradeTrial,
    confirmed,
    failed,
    keep_choice,
    read_choice,
)
from agent.upgrades.start import disarm
from agent.wire import AgentBuild, AgentOrder, UpgradeReport

_log = logging.getLogger(__name__)

GIVE_UP_S = 900.0
"""A mirror that does not answer for so long fails the order."""
_AGAIN_S = 15.0


class UpgradeClock(Protocol):
    def monotonic_s(self) -> float: ...


@dataclass
class Follower:
    """`follow` after every pass of the converger; it never waits. `version` is that of the agent that runs.

    `fetched` writes the archive of a build to a file, as `archive.fetch`.
    """

    bundles: Path
    version: str
    clock: UpgradeClock
    platform: str = field(default_factory=own_platform)
    fetched: Callable[[AgentBuild, Path], None] = archive.fetch
    turned_off: Callable[[], None] = disarm
    again_s: float = _AGAIN_S
    is_certified: Callable[[], bool] = lambda: False
    """Whether the server hears this VM with a certificate only: an agent that knows of none would be deaf and mute."""
    speaks_tls: Callable[[], bool] = lambda: False
    """Whether a service of this VM speaks TLS: an agent that knows of none would start it in plaintext."""
    is_ready: bool = False
    """A new agent is unpacked and chosen: this one is to leave."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _choice: AgentChoice = field(default_factory=AgentChoice)
    _working: threading.Thread | None = None
    _order: str = ""
    _waits_for: str = ""
    _is_report_taken: bool = False
    _heard: bool = False

    def __post_init__(self) -> None:
        try:
            self._choice = read_choice(self.bundles)
        except ChoiceUnreadable as error:
            _log.error("%s", error)

    @property
    def report(self) -> UpgradeReport:
        """How it stands, for the agent's reports."""
        with self._lock:
            trial, last = self._choice.trial, self._choice.last
            if trial is not None:
                return UpgradeReport(platform=self.platform, order=trial.order, state="trying")
            if self._order and self._order != last.order:
                return UpgradeReport(
                    platform=self.platform, order=self._order, state="fetching", problem=self._waits_for
                )
            known = UpgradeReport(platform=self.platform, order=last.order, problem=last.problem)
            return known.model_copy(update={"state": last.state})

    def follow(self, order: AgentOrder | None) -> None:
        """Begins what is ordered now, once."""
        with self._lock:
            busy = self._working is not None and self._working.is_alive()
            is_known = order is None or order.id in (self._order, self._choice.last.order)
            if order is None or busy or is_known or self._choice.trial is not None:
                return
            self._order = order.id
            if order.version == self.version:
                self._keep(AgentChoice(self._choice.running, None, UpgradeOutcome(order.id, "done")))
                return
            self._working = threading.Thread(target=self._prepare, args=(order,), name="upgrade", daemon=True)
            self._working.start()

    @property
    def is_settled(self) -> bool:
        """Whether this agent is on no trial of its own: it does not give way to the one before any more."""
        with self._lock:
            trial = self._choice.trial
            return trial is None or trial.bundle.version != self.version

    def heard(self) -> None:
        """The server has answered for the document."""
        self._heard = True
        self._confirm()

    def report_taken(self) -> None:
        """The server has taken a report of this agent."""
        self._is_report_taken = True
        self._confirm()

    def _confirm(self) -> None:
        with self._lock:
            trial = self._choice.trial
            # A trial this very agent has prepared is of another one.
            if trial is None or trial.bundle.version != self.version or not (self._is_report_taken and self._heard):
                return
            self._keep(confirmed(self._choice))
            self.turned_off()
        _log.info("agent %s has reported: it is the one from here on", self.version)

    def _prepare(self, order: AgentOrder) -> None:
        try:
            bundle = self._made(order)
            with self._lock:
                self._keep(AgentChoice(self._choice.running, UpgradeTrial(bundle, order.id, order.report_within_s)))
                self.is_ready = True
            _log.info("agent %s is there: this one leaves, services keep running", order.version)
        except (archive.ArchiveRefused, archive.FetchFailed, OSError, ImportError) as error:
            _log.warning("agent %s is not taken: %s", order.version, error)
            with self._lock:
                self._keep(failed(self._choice, order.id, str(error)))

    def _made(self, order: AgentOrder) -> InstalledBundle:
        """The new agent, unpacked. Raises `ArchiveRefused`, `FetchFailed`, `OSError`, `ImportError`."""
        build = archive.build_for(order, self.platform)
        archive.check_signature(order, build, self.bundles)
        bundle = InstalledBundle(build.sha256, order.version)
        archive.keep_only(self.bundles, self._choice.running)
        part = self.bundles / f"{build.sha256[:16]}.part"
        self._fetched_in_time(build, part)
        try:
            archive.unpack(part, bundle, self.bundles, platform=build.platform)
        finally:
            part.unlink()
        if self.is_certified() and not archive.knows_certificates(bundle.home(self.bundles)):
            raise archive.ArchiveRefused(
                f"agent {order.version} knows of no certificates, and the server hears this VM with its certificate"
                " only: it would never be heard again"
            )
        if self.speaks_tls() and not archive.knows_tls(bundle.home(self.bundles)):
            raise archive.ArchiveRefused(
                f"agent {order.version} knows of no TLS between nodes, and this VM's Kafka speaks it: it would start"
                " it in plaintext, which the others let in nowhere"
            )
        return bundle

    def _fetched_in_time(self, build: AgentBuild, part: Path) -> None:
        began_s = self.clock.monotonic_s()
        while True:
            try:
                self.fetched(build, part)
                return
            except archive.FetchFailed as error:
                if self.clock.monotonic_s() - began_s >= GIVE_UP_S:
                    raise
                self._waits_for = str(error)
                _log.info("%s; asked again in %.0f s", error, self.again_s)
            threading.Event().wait(self.again_s)

    def _keep(self, choice: AgentChoice) -> None:
        """Under the lock. On disk first."""
        keep_choice(self.bundles, choice)
        self._choice = choice
