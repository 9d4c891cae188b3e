"""The fold of one cluster's stream: what was asked, what was decided, what came of it.

`evolve(view, recorded) -> view` is pure and total. An event it cannot place marks the view unreadable, which freezes
every effect on that cluster; it never raises and never guesses.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from controlplane.cluster import spec_source as specsource
from controlplane.cluster.folds import (
    agents as agentfold,
    anomalies as anomalyfold,
    certificates as certificatefold,
    chaos as chaosfold,
    client_quotas as clientquotafold,
    confirmed_losses as lossfold,
    ensemble as ensemblefold,
    external as externalfold,
    game_days as gamefold,
    growth as growthfold,
    healing as healingfold,
    images as imagefold,
    instances as instancefold,
    latency_brake as brakefold,
    migration as migrationfold,
    nodes as nodefold,
    offset_resets as resetfold,
    orders as orderfold,
    overlay as overlayfold,
    postponed_drains as postponed_fold,
    producer_quota as quotafold,
    quorum as quorumfold,
    rebalances as balancefold,
    rolls as rollfold,
    security as securityfold,
    settings as settingfold,
    spec_order as specorderfold,
    stuck_moves as movefold,
    tagging as taggingfold,
    topics as topicfold,
    users as userfold,
    windows as windowfold,
)
from controlplane.cluster.folds.steps import Rules, frozen
from controlplane.cluster.lifecycle import IllegalTransition
from controlplane.cluster.view import ClusterView, ConditionView
from events import codec, envelope, errors, facts
from events.spec.conversion import UnknownApiVersion, from_data
from providers.given_machines import given_by, newest

_NO_PROGRESS = (
    *(facts.ConditionChanged, facts.BrakeArmed, facts.BrakeChanged),
    *(facts.CertificateIssued, facts.OverlayKeyReported, facts.PublicAddressesSeen),
)
"""What tells of a cluster and moves nothing on: whoever waits waits on."""


def fold(view: ClusterView, history: Iterable[envelope.Recorded]) -> ClusterView:
    """The view after all these events."""
    for recorded in history:
        view = evolve(view, recorded)
    return view


def evolve(view: ClusterView, recorded: envelope.Recorded) -> ClusterView:
    """The view after one event. Total: what cannot be placed sets `unreadable`."""
    if view.history.unreadable:
        return replace(_said_meanwhile(view, recorded), version=recorded.version)
    try:
        event = codec.decode(recorded)
        apply = _APPLY.get(type(event))
        if apply is None:
            raise LookupError(f"no rule for event type {recorded.type}")
        after = quorumfold.with_lists(view, apply(view, event, recorded.recorded_at))
        after = orderfold.dated(view, after, event, recorded.recorded_at)
        after = postponed_fold.counted(after, event, recorded.recorded_at)
    except (errors.EventsError, IllegalTransition, UnknownApiVersion, LookupError, ValueError) as error:
        reason = f"event {recorded.version} ({recorded.type}): {error}"
        return replace(view, version=recorded.version, history=replace(view.history, unreadable=reason))
    except Exception as error:  # noqa: BLE001 - one cluster's history must not keep the whole fleet from being folded
        reason = f"event {recorded.version} ({recorded.type}): {type(error).__name__}: {error}"
        return replace(view, version=recorded.version, history=replace(view.history, unreadable=reason))
    moved_on = view.history.progressed_at if isinstance(event, _NO_PROGRESS) else recorded.recorded_at
    return replace(after, version=recorded.version, history=replace(after.history, progressed_at=moved_on))


def _said_meanwhile(view: ClusterView, recorded: envelope.Recorded) -> ClusterView:
    """Conditions say what Kedge finds, of a history that cannot be read too: not known, they would be recorded at every
    tick anew."""
    try:
        event = codec.decode(recorded)
    except (errors.EventsError, LookupError, ValueError):
        return view
    if not isinstance(event, facts.ConditionChanged):
        return view
    condition = ConditionView(event.status, event.reason, event.message, recorded.recorded_at)
    return replace(view, conditions=frozen({**view.conditions, event.type: condition}))


def _declared(view: ClusterView, e: facts.ClusterDeclared, at: datetime) -> ClusterView:
    document = from_data(e.document)
    view = userfold.tiers_declared(securityfold.declared(view, document), document)
    view = growthfold.declared(windowfold.over(clientquotafold.forgiven(settingfold.forgiven(view))), document)
    ensemble, order = migrationfold.declared(view, document), specorderfold.declared(view, document, at)
    machines = newest((*view.declaration.machines, *given_by(document)))
    return replace(
        view,
        name=e.name,
        generation=e.generation,
        document=document,
        declaration=replace(view.declaration, declared_at=at, spec_order=order, machines=machines),
        quorum=replace(view.quorum, ensemble_spec=ensemble),
    )


def _deletion(view: ClusterView, e: facts.ClusterDeletionRequested, at: datetime) -> ClusterView:
    return replace(view, requests=replace(view.requests, tombstone=e.reason or "asked for", tombstone_at=at))


def _paused(view: ClusterView, e: facts.ClusterPaused, at: datetime) -> ClusterView:
    return replace(view, requests=replace(view.requests, paused=e.reason or "paused", paused_until=e.until))


def _resumed(view: ClusterView, e: facts.ClusterResumed, at: datetime) -> ClusterView:
    view = userfold.forgiven(topicfold.forgiven(balancefold.forgiven(settingfold.forgiven(view))))
    view = clientquotafold.forgiven(view)
    # When the last try failed stays known: what it made may still be missing in listings.
    forgiven = {k: replace(i, failures=0, refusals=0, retryable=True) for k, i in view.intents.items()}
    drain = view.moves.drain
    if drain is not None:
        drain = replace(drain, round=1, planning=drain.planning.forgiven())
    return replace(
        view,
        roll=replace(view.roll, join_failures=0),
        intents=frozen(forgiven),
        moves=replace(view.moves, drain=drain),
        requests=replace(view.requests, paused="", paused_until=None, aborting="", held=""),
    )


def _aborted(view: ClusterView, e: facts.RecycleAborted, at: datetime) -> ClusterView:
    view = windowfold.over(balancefold.given_up(nodefold.given_up(view), e.reason or "aborted"))
    return replace(
        view,
        requests=replace(
            view.requests, aborting=e.reason or "aborted", paused=e.reason or "aborted", paused_until=None
        ),
    )


def _condition(view: ClusterView, e: facts.ConditionChanged, at: datetime) -> ClusterView:
    condition = ConditionView(e.status, e.reason, e.message, at)
    order = view.declaration.spec_order if e.status else specorderfold.ended(view, e.type, at)
    return replace(
        view,
        conditions=frozen({**view.conditions, e.type: condition}),
        declaration=replace(view.declaration, spec_order=order),
    )


_OWN: Rules = {
    facts.ClusterDeclared: _declared,
    facts.SourceChanged: specsource.changed,
    facts.ClusterDeletionRequested: _deletion,
    facts.ClusterPaused: _paused,
    facts.ClusterResumed: _resumed,
    facts.RecycleAborted: _aborted,
    facts.ConditionChanged: _condition,
}

_APPLY: Rules = {
    **_OWN,
    **instancefold.RULES,
    **rollfold.RULES,
    **settingfold.RULES,
    **nodefold.RULES,
    **orderfold.RULES,
    **growthfold.RULES,
    **quotafold.RULES,
    **clientquotafold.RULES,
    **taggingfold.RULES,
    **healingfold.RULES,
    **anomalyfold.RULES,
    **quorumfold.RULES,
    **ensemblefold.RULES,
    **migrationfold.RULES,
    **externalfold.RULES,
    **movefold.RULES,
    **brakefold.RULES,
    **chaosfold.RULES,
    **gamefold.RULES,
    **resetfold.RULES,
    **balancefold.RULES,
    **topicfold.RULES,
    **userfold.RULES,
    **lossfold.RULES,
    **windowfold.RULES,
    **imagefold.RULES,
    **agentfold.RULES,
    **certificatefold.RULES,
    **overlayfold.RULES,
    **securityfold.RULES,
}
