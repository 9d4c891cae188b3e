"""Quotas that the spec declares, of everybody and of client ids, beside whatever else the cluster does.

    look -> quotas.change_requested -> changed -> look -> quotas.changed

What was declared is Kedge's, and is taken away with its declaration; what nobody declared is left alone. A server that
dies in between finds what is left of a change by looking.
"""

from collections.abc import Mapping
from dataclasses import replace

from controlplane.cluster.client_quotas import declared_quotas, quotas_wait
from controlplane.cluster.holds import hold_on
from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.decision import Decision, record
from controlplane.converger.situation.effects import ChangeClientQuotas
from controlplane.converger.situation.situation import Situation
from events import facts
from events.ids import derived_id
from events.quantities import named
from planner.rights.difference import quota_changes
from planner.rights.step import QuotaChange
from planner.rights.wanted import QuotaEntity, entity_words, user_entity

_PRODUCERS = "producer_byte_rate"

Quotas = Mapping[QuotaEntity, Mapping[str, int]]


def with_client_quotas(situation: Situation, decision: Decision) -> Decision:
    """The decision, with what is done about quotas beside it. What it has to record comes first."""
    if decision.events:
        return decision
    found = quotas_decision(situation)
    if found is not None:
        return decision.and_beside(found)
    why = situation.seen.missing.get("quotas") if quotas_wait(situation.view) else None
    return decision if why is None else replace(decision, sentence=f"{decision.sentence}; quotas wait: {why}")


def quotas_decision(situation: Situation) -> Decision | None:
    """What is to be recorded or changed now. None where there is nothing, or it cannot be told."""
    view, seen = situation.view, situation.seen.access.client_quotas
    if view.history.unreadable or view.requests.held or view.deleted or view.requests.tombstone:
        return None
    if not view.roll.converged or seen is None:
        return None
    known, declared = view.settings.client_quotas, declared_quotas(view.document)
    if known.change is not None:
        return _in_hand(view, seen.quotas, seen.refused)
    if known.refused or hold_on(view, situation.now) is not None:
        return None
    kept = {entity: values for entity, values in seen.quotas.items() if entity in declared or entity in known.owned}
    changes = _not_slowed(view, quota_changes(declared, kept))
    if not changes:
        return None if known.owned == declared else record("quotas are as declared", _changed("", declared))
    again = known.owned == declared
    reason = f"{'putting right what others changed of' if again else 'setting'} quotas of {_whose(changes)}"
    change = derived_id("quotas", view.uid, str(known.changes + 1))
    return record(reason, facts.QuotasChangeRequested(change, _entity_quotas(changes), reason))


def _in_hand(view: ClusterView, there: Mapping[QuotaEntity, Mapping[str, float]], refused: str) -> Decision | None:
    """What was asked for is there, or is sent (again): the world tells, never memory."""
    known = view.settings.client_quotas
    if known.change is None:
        return None
    asked = _not_slowed(view, known.change.quotas)
    left = {e: missing for e, change in asked.items() if (missing := _missing(change, there.get(e, {})))}
    if left and not refused:
        return Decision(f"setting quotas of {_whose(left)}", effects=(ChangeClientQuotas(known.change.id, left),))
    owned = _after({e: v for e, v in known.change.quotas.items() if e not in left}, known.owned)
    words = f"quotas were refused: {refused}" if left else "quotas are as was asked for"
    return record(words, _changed(known.change.id, owned, refused if left else ""))


def _after(changes: Mapping[QuotaEntity, Mapping[str, int | None]], owned: Quotas) -> Quotas:
    """All that are the spec's once these are made. Of others, that were there before, it takes nothing over."""
    found = {entity: dict(values) for entity, values in owned.items()}
    for entity, change in changes.items():
        merged = {**found.get(entity, {}), **change}
        found[entity] = {key: value for key, value in merged.items() if value is not None}
    return {entity: values for entity, values in found.items() if values}


def _missing(change: QuotaChange, there: Mapping[str, float]) -> QuotaChange:
    return {key: value for key, value in change.items() if there.get(key) != value}


def _not_slowed(view: ClusterView, changes: Mapping[QuotaEntity, QuotaChange]) -> Mapping[QuotaEntity, QuotaChange]:
    """While a disk is nearly full the producers' default is another's (`steps.moves.producer_quota`)."""
    if view.settings.producer_quota is None:
        return changes
    everybody = user_entity(None)
    rest = {k: v for k, v in changes.get(everybody, {}).items() if k != _PRODUCERS}
    left = {entity: change for entity, change in changes.items() if entity != everybody}
    return left | ({everybody: rest} if rest else {})


def _changed(change: str, quotas: Quotas, refused: str = "") -> facts.QuotasChanged:
    return facts.QuotasChanged(change, _entity_quotas(quotas), refused)


def _entity_quotas(quotas: Mapping[QuotaEntity, QuotaChange]) -> tuple[facts.EntityQuota, ...]:
    return tuple(
        facts.EntityQuota(entity, {key: None if v is None else int(v) for key, v in sorted(values.items())})
        for entity, values in sorted(quotas.items(), key=str)
    )


def _whose(quotas: Mapping[QuotaEntity, QuotaChange]) -> str:
    return named([entity_words(entity) for entity in sorted(quotas, key=str)])
