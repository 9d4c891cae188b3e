"""Certificates that live: services are started anew before theirs end, and for each phase of a CA replacement.

    ca.replace_requested -> trust-both -> (a person's yes: clients need both) -> reissue -> new-alone, the old one gone
                                +--> old-alone, the new one gone                    +--> trust-both

A start is what brings another certificate, and whom a node believes: the Raft channel of Kafka reloads neither
(KAFKA-20025). So this step starts nothing itself: it asks for rounds of restarts, which go by the gates and windows of
all restarts, and counts who runs with what is wanted, by what agents say of the very start.
"""

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.certificates import AuthorityPhase, AuthorityReplacementView
from controlplane.converger.questions.running.certificates import (
    AGAIN,
    MOST_ROUNDS,
    OldCertificates,
    is_to_be_made,
    old_certificates,
    phase_progress,
)
from controlplane.converger.situation.decision import Decision, record
from controlplane.converger.situation.situation import Situation
from events import facts
from events.ids import derived_id
from events.quantities import counted, named


def certificate_step(situation: Situation) -> Decision | None:
    """Records who is to be started anew, and which phase is reached. None where there is nothing to record: what a
    phase waits for is a condition, and other work goes on beside it."""
    view = situation.view
    if not view.vms.certificates or not view.roll.converged or view.settings.restarts:
        return None
    change = view.vms.authority_change
    if change is not None and (decided := _of_replacement(situation, change)) is not None:
        return decided
    if change is not None and not change.is_reached:
        return None  # its round brings everybody another certificate
    found = old_certificates(situation)
    return _of_age(situation, found) if found is not None else None


def _of_age(situation: Situation, found: OldCertificates) -> Decision | None:
    view, keys = situation.view, found.keys
    why = f"certificates end from {found.first.date()} on"
    running = view.requests.rolling_restart
    if running is not None:
        if running.at_once or not found.at_once:
            return None
        keys = tuple(dict.fromkeys((*keys, *running.left)))
        why = f"{why}; with it {running.reason}" if not running.for_certificates else why
    elif _asked_lately(situation) or (not found.at_once and _has_other_work(view)):
        return None
    how = "at once, whatever windows and freezes say" if found.at_once else "in its windows"
    request = derived_id("certificates", view.uid, str(view.version))
    event = facts.CertificateRestartRequested(request, keys, why, at_once=found.at_once)
    return record(f"{counted(len(keys), 'service')} of {view.name} to be started anew {how}: {why}", event)


def _asked_lately(situation: Situation) -> bool:
    last = situation.view.vms.certificates_renewed_at
    return last is not None and situation.now - last < AGAIN


def _has_other_work(view: ClusterView) -> bool:
    """A roll makes new VMs, with new certificates: who is left is started anew after it."""
    return bool(view.roll.converged != view.generation or view.roll.recycling)


def _of_replacement(situation: Situation, change: AuthorityReplacementView) -> Decision | None:
    view = situation.view
    if change.is_reached:
        if change.phase is not AuthorityPhase.REISSUE or change.kind != "cluster":
            return None  # a person says when clients believe both, and users show certificates of the new one
        last = facts.AuthorityPhaseRequested(change.id, "new-alone", "every node shows a certificate of the new CA")
        return record(f"the {change.kind} CA of {view.name}: {last.reason}; {last.phase} begins", last)
    progress = phase_progress(situation)
    if progress.is_reached and not is_to_be_made(change):
        sentence = f"the {change.kind} CA of {view.name}: {counted(len(progress.there), 'node')} at {change.phase}"
        return record(sentence, facts.AuthorityPhaseReached(change.id, change.phase.value))
    if view.requests.rolling_restart is not None or _has_other_work(view) or change.restarts >= MOST_ROUNDS:
        return None
    keys = tuple(key for key in progress.behind if view.instances[key].phase is Phase.JOINED)
    if not keys:
        return None
    why = f"{change.kind} CA to be replaced, {change.phase}"
    request = derived_id("ca phase", change.id, change.phase, str(view.version))
    event = facts.CertificateRestartRequested(request, keys, why, replacement=change.id)
    return record(f"{named(keys)} of {view.name} to be started anew: {why}", event)
