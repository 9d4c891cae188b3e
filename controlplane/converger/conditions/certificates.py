"""Conditions of certificates that nodes show each other: `CertificateEnding`, `CertificateNotServed` and
`CaReplacement`."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from agent.wire import ServiceReport
from controlplane.cluster.holds import hold_on
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.certificates import AuthorityPhase, AuthorityReplacementView, CertificateView
from controlplane.cluster.wait_reasons import NEXT
from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.questions.running.certificates import (
    MOST_ROUNDS,
    phase_progress,
    shown_certificates,
)
from controlplane.converger.situation.situation import Situation
from events import facts
from events.ids import ClusterUid
from events.quantities import named

CERTIFICATE_ENDING = "CertificateEnding"
CERTIFICATE_NOT_SERVED = "CertificateNotServed"
CA_REPLACEMENT = "CaReplacement"


LOOK_EVERY = timedelta(minutes=5)
"""How often a cluster at rest is asked what its nodes show."""


class CertificateWatch:
    """Remembers what the services of each cluster said last of their certificates."""

    def __init__(self) -> None:
        self._seen: dict[ClusterUid, tuple[datetime, Mapping[str, ServiceReport]]] = {}

    def look(
        self, view: ClusterView, now: datetime, reports: Callable[[], Mapping[str, ReportSeen]]
    ) -> Mapping[str, ServiceReport]:
        """The last word of each VM's service, by key, however old that is. Reads `reports` at each look while there is
        work, every few minutes at rest, and never in a cluster without certificates."""
        if not view.vms.certificates:
            return {}
        seen = self._seen.get(view.uid)
        if seen is not None and now - seen[0] < LOOK_EVERY and not has_work(view):
            return seen[1]
        heard = reports()
        said = {i.key: heard[i.key].service(i.planned.service) for i in view.alive() if i.key in heard}
        found = {key: report for key, report in said.items() if report is not None}
        self._seen[view.uid] = now, found
        return found


def certificate_ending(situation: Situation) -> facts.ConditionChanged | None:
    """From three quarters of a certificate's life on: from two thirds on Kedge starts the service anew by itself, so
    something has kept it from that. None where no node has one."""
    view, now = situation.view, situation.now
    if not view.vms.certificates:
        return _where_recorded(view, facts.ConditionChanged(CERTIFICATE_ENDING, False, "Free", ""))
    ending = {key: one for key, one in shown_certificates(situation).items() if now >= one.late_at}
    if not ending:
        return facts.ConditionChanged(CERTIFICATE_ENDING, False, "Free", "")
    over = [key for key, one in ending.items() if now >= one.until]
    keys = sorted(ending, key=lambda key: (ending[key].until, key))
    urgent = min(one.urgent_at for one in ending.values())
    which = f"certificates of {len(keys)} services end: {_with_ends(keys, ending)}"
    if (held := _what_holds(view, now)) is not None:
        why, what_next = held
        message = (
            f"{which}. Nothing is started anew for them: {why}; past its end the others refuse a service. {what_next}"
        )
        reason = "Over" if over else "Held" if now >= urgent else "Ending"
        return facts.ConditionChanged(CERTIFICATE_ENDING, True, reason, message)
    message = (
        f"{which}. Kedge starts them anew in windows of "
        f"the cluster, and from {urgent.date()} on outside of them, too; past its end the others refuse a service. "
        f"{NEXT}kedge restart {view.name} --rolling"
    )
    return facts.ConditionChanged(CERTIFICATE_ENDING, True, "Over" if over else "Ending", message)


def _what_holds(view: ClusterView, now: datetime) -> tuple[str, str] | None:
    """What no nearness of an end goes past, and what a person does: a hold of theirs, and a drain or a rebalance, whose
    brokers may not stop while their partitions move."""
    if view.requests.held:
        return f"the cluster is held: {view.requests.held}", f"{NEXT}kedge resume {view.name}"
    if (hold := hold_on(view, now)) is not None:
        return f"the cluster is {hold.sentence}", f"{NEXT}{hold.next_command}"
    if (drain := view.moves.drain) is not None:
        brokers = ", ".join(map(str, drain.outgoing))
        why = f"the drain of {brokers} is in hand since {drain.requested_at.date()}, and goes first"
        return why, f"{NEXT}kedge describe {view.name}, and have it end: what it waits for, rollout.throttleMibPerS"
    if view.moves.rebalance is not None:
        return "a rebalance is in hand, and goes first", f"{NEXT}kedge rebalance --cluster {view.name} --cancel"
    return None


def certificate_not_served(situation: Situation) -> facts.ConditionChanged | None:
    """A listener shows another certificate than its service was started with. What nobody has seen is not told."""
    view = situation.view
    if not view.vms.certificates:
        return _where_recorded(view, facts.ConditionChanged(CERTIFICATE_NOT_SERVED, False, "Free", ""))
    if not situation.seen.background.certificates:
        return None
    wrong: list[str] = []
    for key, report in sorted(situation.seen.background.certificates.items()):
        if report.certificate is None or report.state != "running":
            continue
        own = report.certificate.serial
        wrong += [f"{key} at {s.listener}" for s in report.certificate.served if s.serial and s.serial != own]
    if not wrong:
        return facts.ConditionChanged(CERTIFICATE_NOT_SERVED, False, "Served", "")
    message = (
        f"another certificate is shown than the service was started with: {named(wrong)}. It ends when that one does. "
        f"{NEXT}kedge restart {view.name} --rolling"
    )
    return facts.ConditionChanged(CERTIFICATE_NOT_SERVED, True, "Other", message)


def ca_replacement(situation: Situation) -> facts.ConditionChanged | None:
    """How far the replacement of a CA is, and what it waits for. None where none was ever asked for."""
    view = situation.view
    change = view.vms.authority_change
    if change is None:
        return _where_recorded(view, facts.ConditionChanged(CA_REPLACEMENT, False, "Free", ""))
    what, again = f"the {change.kind} CA of {view.name} is replaced", f"kedge replace-ca {view.name}"
    kind = " --clients" if change.kind == "clients" else ""
    if change.is_reached and change.phase is AuthorityPhase.TRUST_BOTH:
        who = "clients have to believe both CAs" if change.kind == "cluster" else "users need new certificates after it"
        give = f" (kedge endpoints {view.name} --ca)" if change.kind == "cluster" else ""
        message = f"{what}: every node believes both. Before the next phase {who}{give}. {NEXT}{again}{kind} --continue"
        return facts.ConditionChanged(CA_REPLACEMENT, True, "AwaitsClients", message)
    if change.is_reached:
        message = f"{what}: users are signed by the new one. Once all show such: {NEXT}{again}{kind} --continue"
        return facts.ConditionChanged(CA_REPLACEMENT, True, "AwaitsUsers", message)
    return _under_way(situation, change, what)


def _where_recorded(view: ClusterView, over: facts.ConditionChanged) -> facts.ConditionChanged | None:
    """Of a cluster that has none of it any more; None where it never was told."""
    return over if over.type in view.conditions else None


def _under_way(situation: Situation, change: AuthorityReplacementView, what: str) -> facts.ConditionChanged:
    progress, view = phase_progress(situation), situation.view
    if view.requests.rolling_restart is None and change.restarts >= MOST_ROUNDS and progress.behind:
        message = (
            f"{what}: {named(progress.behind)} are not at phase {change.phase}, and were started anew "
            f"{change.restarts} times for it. {NEXT}kedge certificates {view.name}"
        )
        return facts.ConditionChanged(CA_REPLACEMENT, True, "Stuck", message)
    if view.requests.rolling_restart is None and progress.unknown and not progress.behind:
        message = f"{what}: agents have not said yet what these show and believe: {named(progress.unknown)}"
        return facts.ConditionChanged(CA_REPLACEMENT, True, "AwaitsAgents", message)
    message = f"{what}: phase {change.phase}; services are started anew for it"
    return facts.ConditionChanged(CA_REPLACEMENT, True, _REASONS[change.phase], message)


_REASONS = {
    AuthorityPhase.TRUST_BOTH: "TrustBoth",
    AuthorityPhase.REISSUE: "Reissue",
    AuthorityPhase.NEW_ALONE: "NewAlone",
    AuthorityPhase.OLD_ALONE: "OldAlone",
}


def _with_ends(keys: list[str], ending: Mapping[str, CertificateView]) -> str:
    return named([f"{key} until {ending[key].until.date()}" for key in keys])
