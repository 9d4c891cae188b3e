"""Conditions: the short answer to "how is it, since when, and what do I do?". Only changes are recorded."""

from collections.abc import Callable
from datetime import datetime

from controlplane.cluster.holds import hold_on
from controlplane.cluster.view import ClusterView
from controlplane.cluster.wait_reasons import NEXT, WaitReason
from controlplane.converger.conditions.agents import agents_condition
from controlplane.converger.conditions.anomalies import demotions_condition, healing_off_condition
from controlplane.converger.conditions.certificates import (
    CERTIFICATE_ENDING,
    CERTIFICATE_NOT_SERVED,
    ca_replacement,
    certificate_ending,
    certificate_not_served,
)
from controlplane.converger.conditions.consumers import consumers_stuck
from controlplane.converger.conditions.converged import CONVERGED, converged
from controlplane.converger.conditions.disk_growth import disk_growth_held
from controlplane.converger.conditions.disk_nearly_full import disk_nearly_full
from controlplane.converger.conditions.drift import (
    CLOUD_DRIFT_FOUND,
    NETWORK_DRIFT,
    drift_condition,
    network_drift_condition,
)
from controlplane.converger.conditions.external import EXTERNAL_EMPTY, external_empty, external_unread
from controlplane.converger.conditions.heartbeats import heartbeats_silent
from controlplane.converger.conditions.images import image_condition
from controlplane.converger.conditions.isr import at_min_isr
from controlplane.converger.conditions.kedge_rights import kedge_rights_missing
from controlplane.converger.conditions.listing_refused import LISTING_REFUSED, listing_refused
from controlplane.converger.conditions.live_settings import ADOPTED, settings_adopted
from controlplane.converger.conditions.maintenance import maintenance_condition
from controlplane.converger.conditions.moves_braked import moves_braked
from controlplane.converger.conditions.overlay import OVERLAY_NOT_READY, overlay_condition
from controlplane.converger.conditions.own_authorities import OWN_CA_FILES, own_ca_files
from controlplane.converger.conditions.packet_filters import FILTER_BEHIND, filters_condition
from controlplane.converger.conditions.placement import MISPLACED, misplaced_condition
from controlplane.converger.conditions.planned_in_process import planned_in_process
from controlplane.converger.conditions.single_copies import SINGLE_COPIES, single_copies
from controlplane.converger.conditions.stages import STAGE_WAITS, stage_condition
from controlplane.converger.conditions.stuck_moves import elections_fail, foreign_moves_condition, reassignment_hung
from controlplane.converger.conditions.token_keys import token_keys_stale
from controlplane.converger.conditions.topics import TOPICS_DEGRADED, topics_degraded
from controlplane.converger.conditions.users import USERS_DEGRADED, users_degraded
from controlplane.converger.conditions.windows import WAITS, window_condition
from controlplane.converger.questions.clouds.machine_choices import fallen_back
from controlplane.converger.questions.health.broken_down import BROKER_AWAY, broker_away
from controlplane.converger.questions.health.prescriptions import health_of
from controlplane.converger.questions.services.registrations import registration_wrong
from controlplane.converger.questions.windows import waits_its_turn
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.situation import Situation
from events import facts

BLOCKED = "Blocked"
PAUSED = "Paused"
TWINS = "Twins"
ORPHANS = "Orphans"
FALLBACK = "MachineFallback"
AILING = "Ailing"

_BY_NAME = (
    TOPICS_DEGRADED,
    USERS_DEGRADED,
    CLOUD_DRIFT_FOUND,
    NETWORK_DRIFT,
    FILTER_BEHIND,
    OVERLAY_NOT_READY,
    OWN_CA_FILES,
    EXTERNAL_EMPTY,
    MISPLACED,
    ORPHANS,
    LISTING_REFUSED,
    ADOPTED,
    BROKER_AWAY,
    SINGLE_COPIES,
    CERTIFICATE_ENDING,
    CERTIFICATE_NOT_SERVED,
)
"""What names what it is about: other names are a change."""


def condition_changes(situation: Situation, decision: Decision) -> tuple[facts.ConditionChanged, ...]:
    """The conditions this decision changes. A new number in a message is no change."""
    of_decision = (converged(situation.view), _blocked(situation, decision))
    its_turn = (window_condition(situation, decision), stage_condition(situation, decision))
    wanted = (*of_decision, *its_turn, *(condition(situation) for condition in _CONDITIONS))
    return tuple(c for c in wanted if c is not None and _differs(situation.view, c))


def _blocked(situation: Situation, decision: Decision) -> facts.ConditionChanged | None:
    waiting = decision.wait
    if waiting is None or waits_its_turn(decision):
        return facts.ConditionChanged(BLOCKED, False, "Free", "")
    since = _waits_since(situation)
    if since is None or situation.seconds_since(since) < waiting.patience_s:
        return _asked_spec_came(situation, waiting.reason)
    message = decision.sentence
    if waiting.next_command:
        message = f"{message}. {NEXT}{waiting.next_command}"
    return facts.ConditionChanged(BLOCKED, True, waiting.reason, message)


def _asked_spec_came(situation: Situation, reason: str) -> facts.ConditionChanged | None:
    """What asked for another spec is over once there is one that something else is waited for."""
    view, blocked = situation.view, situation.view.conditions.get(BLOCKED)
    if (
        blocked is None
        or not blocked.status
        or blocked.reason != WaitReason.CONFIGURATION_REFUSED
        or reason == blocked.reason
    ):
        return None
    if view.declaration.declared_at is None or blocked.since > view.declaration.declared_at:
        return None
    return facts.ConditionChanged(BLOCKED, False, "Free", "")


def _waits_since(situation: Situation) -> datetime | None:
    """Since the last progress, or since the window opened, or the earlier stages were through: until then it was right
    to do nothing."""
    progressed, conditions = situation.view.history.progressed_at, situation.view.conditions
    turns = [conditions[waits] for waits in (WAITS, STAGE_WAITS) if waits in conditions]
    if progressed is None:
        return None
    return max([progressed, *(situation.now if turn.status else turn.since for turn in turns)])


def _paused(situation: Situation) -> facts.ConditionChanged:
    hold = hold_on(situation.view, situation.now)
    if hold is not None:
        return facts.ConditionChanged(PAUSED, True, "Paused", hold.sentence)
    return facts.ConditionChanged(PAUSED, False, "Free", "")


def _unhealthy(situation: Situation) -> facts.ConditionChanged:
    """Findings that have a cure which is not given: because it has failed, is not allowed, was given too often, or
    would make it no better."""
    left = sorted(health_of(situation).refusals, key=lambda r: not r.gave_up)
    if not left:
        return facts.ConditionChanged(AILING, False, "Free", "")
    sentences = "; ".join(f"{r.ailment.whose}: {r.ailment.finding} ({r.ailment.message}): {r.reason}" for r in left[:3])
    message = f"{sentences}. Next: kedge describe {situation.view.name}"
    braked = situation.allowance.cures.why_none(situation.now)
    question = left[0].question
    reason = "GaveUp" if left[0].gave_up else "FleetBrake" if braked else str(question) if question else "Resting"
    return facts.ConditionChanged(AILING, True, reason, message)


def _twins(situation: Situation) -> facts.ConditionChanged | None:
    """VMs that carry the key of another one. They go with their node: that nobody ever enrolled on one is not proved
    by anything a cloud tells, and its tags may have been copied by hand together with foreign work.
    """
    inventory = situation.seen.fresh_inventory(situation.now)
    if inventory is None:
        return None
    if not inventory.twins:
        return facts.ConditionChanged(TWINS, False, "Free", "")
    named = "; ".join(
        f"{', '.join(t.id for t in twins)} as {key}" for key, twins in sorted(inventory.twins.items())[:3]
    )
    message = (
        f"{sum(map(len, inventory.twins.values()))} VMs more than instances carry this cluster's tags: {named}. They "
        "hold no node and are terminated with theirs; what is nobody's may be terminated by hand before"
    )
    return facts.ConditionChanged(TWINS, True, "TwinFound", message)


def _orphans(situation: Situation) -> facts.ConditionChanged | None:
    """VMs with this cluster's tags that its history never asked for. Every VM of ours has its intent before it is
    made: so a person made them, or the database is older than they are. Who made what is not known: all are left.
    """
    inventory = situation.seen.fresh_inventory(situation.now)
    if inventory is None:
        return None
    known = situation.view.instances
    found = {key for key in inventory.instances if key not in known} | {k for k in inventory.twins if k not in known}
    if not found:
        return facts.ConditionChanged(ORPHANS, False, "Free", "")
    named = "; ".join(f"{', '.join(i.id for i in inventory.carrying(key))} as {key}" for key in sorted(found)[:3])
    message = (
        f"{sum(len(inventory.carrying(key)) for key in found)} VMs carry this cluster's tags, and nothing in its "
        f"history asked for them: {named}. Kedge leaves them. Was the database restored from an older backup, rebuild "
        "it from the clouds (docs/operating.md); otherwise terminate by hand what is nobody's"
    )
    return facts.ConditionChanged(ORPHANS, True, "OrphanFound", message)


def _fallback(situation: Situation) -> facts.ConditionChanged:
    other = fallen_back(situation.view)
    if not other:
        return facts.ConditionChanged(FALLBACK, False, "Free", "")
    named = ", ".join(f"{key} is {machine}" for key, machine in sorted(other.items())[:3])
    more = " and others" if len(other) > 3 else ""
    message = f"the cloud had no capacity: {named}{more}. They stay so; `kedge replace` tries the first choice again"
    return facts.ConditionChanged(FALLBACK, True, "NoCapacity", message)


def _differs(view: ClusterView, wanted: facts.ConditionChanged) -> bool:
    current = view.conditions.get(wanted.type)
    if current is None:
        return wanted.status or wanted.type == CONVERGED
    if wanted.type in _BY_NAME and current.message != wanted.message:
        return True
    if wanted.type == BLOCKED and (NEXT in current.message) != (NEXT in wanted.message):
        return True  # what was tried again by itself waits for a person now, or the other way round
    if wanted.reason == WaitReason.CONFIGURATION_REFUSED and current.message != wanted.message:
        return True  # Kafka names one setting at a time
    return (current.status, current.reason) != (wanted.status, wanted.reason)


def _topics(situation: Situation) -> facts.ConditionChanged | None:
    return topics_degraded(situation.view)


def _users(situation: Situation) -> facts.ConditionChanged | None:
    """As recorded; None of a cluster that never had any."""
    view = situation.view
    known = view.users.by_name or view.settings.client_quotas.refused or USERS_DEGRADED in view.conditions
    return users_degraded(view) if known else None


_CONDITIONS: tuple[Callable[[Situation], facts.ConditionChanged | None], ...] = (
    _paused,
    _twins,
    _orphans,
    listing_refused,
    _fallback,
    _unhealthy,
    reassignment_hung,
    foreign_moves_condition,
    elections_fail,
    _topics,
    maintenance_condition,
    consumers_stuck,
    image_condition,
    drift_condition,
    network_drift_condition,
    filters_condition,
    overlay_condition,
    demotions_condition,
    healing_off_condition,
    at_min_isr,
    registration_wrong,
    broker_away,
    heartbeats_silent,
    agents_condition,
    external_empty,
    external_unread,
    misplaced_condition,
    settings_adopted,
    single_copies,
    planned_in_process,
    moves_braked,
    disk_growth_held,
    certificate_ending,
    certificate_not_served,
    ca_replacement,
    own_ca_files,
    token_keys_stale,
    disk_nearly_full,
    _users,
    kedge_rights_missing,
)
"""What is told whatever the decision: None, or the condition as it should be."""
