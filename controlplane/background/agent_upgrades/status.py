"""What the agent of one VM is and how its upgrade stands, from its report and the history. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from controlplane.background.agent_upgrades.fold import Release
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.agents import AgentOrderView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.questions.windows import closed
from events import facts
from planner.rollout.windows import Freeze

ANSWERS_WITHIN = timedelta(minutes=30)
"""An agent asks its mirror for a quarter of an hour, and tries a new one for minutes: who says nothing for longer is
not coming back by itself."""


@dataclass(frozen=True, slots=True)
class UpgradingVm:
    """One VM: `version` of its agent ("" where it was never heard), what it is to be, and in words how that stands.

    `state` is current, behind, asked, failed, unable, or silent.
    """

    key: str
    version: str
    state: str
    why: str = ""


def vm_of(
    instance: InstanceView, order: AgentOrderView | None, seen: ReportSeen | None, release: Release, now: datetime
) -> UpgradingVm:
    """How one VM stands to a release. Who cannot upgrade itself says so: it changes with its VM only."""
    key, version = instance.key, seen.report.agent_version if seen is not None else ""
    is_ordered = order is not None and order.asked.version == release.version
    if is_ordered and order is not None and order.is_open:
        return UpgradingVm(key, version, "asked", _how(seen, order))
    if seen is None:
        return UpgradingVm(key, "", "silent", "its agent was never heard")
    if not seen.is_young(now):
        return UpgradingVm(
            key, version, "silent", f"its agent was last heard {(now - seen.received_at).total_seconds():.0f} s ago"
        )
    if version == release.version:
        return UpgradingVm(key, version, "current")
    upgrade = seen.report.upgrade
    if upgrade is None:
        return UpgradingVm(key, version, "unable", f"agent {version} cannot upgrade itself; a new VM has a newer one")
    if upgrade.platform not in release.platforms:
        return UpgradingVm(key, version, "unable", f"{release.version} was published for no {upgrade.platform}")
    if is_ordered and order is not None and order.failed_at is not None:
        return UpgradingVm(key, version, "failed", order.problem)
    return UpgradingVm(key, version, "behind")


def outcome_of(
    order: AgentOrderView, seen: ReportSeen | None, now: datetime
) -> facts.AgentUpgraded | facts.AgentUpgradeFailed | None:
    """What came of an order in hand, None while nothing is known of it."""
    asked = order.asked
    upgrade = seen.report.upgrade if seen is not None else None
    upgrade = upgrade if upgrade is not None and upgrade.order == asked.order else None
    if seen is None or upgrade is None or upgrade.state in ("fetching", "trying"):
        if now - order.at <= ANSWERS_WITHIN:
            return None
        said = f"; the last it said: {upgrade.state} {upgrade.problem}".rstrip() if upgrade is not None else ""
        minutes = ANSWERS_WITHIN.total_seconds() / 60
        return facts.AgentUpgradeFailed(asked.order, asked.key, f"it had no result within {minutes:.0f} min{said}")
    if upgrade.state != "done":
        return facts.AgentUpgradeFailed(asked.order, asked.key, upgrade.problem or "the agent gave no reason")
    if seen.report.agent_version != asked.version:
        words = f"it says it is done, and is agent {seen.report.agent_version}"
        return facts.AgentUpgradeFailed(asked.order, asked.key, words)
    running = processes_of(seen)
    if not running.keys() >= asked.processes.keys():
        return None  # it has not looked at all of its services yet
    others = [f"{n} was process {p} and is {running[n]}" for n, p in sorted(asked.processes.items()) if running[n] != p]
    if others:
        return facts.AgentUpgradeFailed(asked.order, asked.key, f"its services did not run on: {'; '.join(others)}")
    return facts.AgentUpgraded(asked.order, asked.key)


def processes_of(seen: ReportSeen) -> Mapping[str, int]:
    """Pids of the services that run on a VM."""
    return {s.name: s.pid for s in seen.report.services if s.pid}


def blocked_by(view: ClusterView, freezes: tuple[Freeze, ...], now: datetime) -> str:
    """Why none of its VMs is asked now, "" where nothing speaks against it."""
    if view.history.unreadable:
        return f"its history cannot be read: {view.history.unreadable}"
    if view.requests.held or view.requests.paused:
        return f"it is {'held' if view.requests.held else 'paused'}: {view.requests.held or view.requests.paused}"
    if has_work(view):
        return "something else of it is in hand"
    shut = closed(view, freezes, now)
    return shut.sentence(now) if shut is not None else ""


def _how(seen: ReportSeen | None, order: AgentOrderView) -> str:
    upgrade = seen.report.upgrade if seen is not None else None
    if upgrade is None or upgrade.order != order.asked.order:
        return "asked"
    return f"{upgrade.state}: {upgrade.problem}" if upgrade.problem else upgrade.state
