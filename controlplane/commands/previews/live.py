"""The part of a rollout plan that touches no VM: Kafka settings that are set live, on one broker first. Pure."""

from controlplane.cluster.external_brokers import is_shared
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.rolls.canaries import first_to_try
from controlplane.converger.questions.running.setting_text import words
from controlplane.converger.questions.running.setting_work import pools_with_config
from controlplane.converger.questions.services.applied_settings import applied_of, where_silent
from events.spec.settings import pool_config
from planner.observed import KafkaSnapshot
from planner.rollout import canary_step, diff, order, steps
from planner.rollout.settings_left import settings_left

LIVE_S = 5.0
"""What a live value takes until every broker of a rack shows it: 2 to 5 s on the `local` cloud."""

NODE = "settings"
"""What stands where other steps have the name of a node."""


def live_phases(
    view: ClusterView, snapshot: KafkaSnapshot | None
) -> tuple[tuple[steps.RolloutPhase, ...], tuple[steps.RolloutPhase, ...]]:
    """Phases before everything else of a roll, and those after it. `view` has the document that is planned."""
    first: list[steps.RolloutPhase] = []
    last: list[steps.RolloutPhase] = []
    for pool in ("", *(pools_with_config(view.document) if view.document else ())):
        before, after = _of_scope(view, snapshot, pool)
        first, last = [*first, *before], [*last, *after]
    return tuple(first), tuple(last)


def _of_scope(
    view: ClusterView, snapshot: KafkaSnapshot | None, pool: str
) -> tuple[list[steps.RolloutPhase], list[steps.RolloutPhase]]:
    """Of one pool's own settings, or ("") of those that no pool has for itself."""
    live = _left(view, pool)
    tried = canary_step.values_to_try(live)
    guarded = {name: value for name, value in live.items() if name not in tried}
    there = (i for i in view.brokers() if i.phase is Phase.JOINED and not i.lost)
    brokers, of = [i for i in there if pool in ("", i.planned.pool)], f" of pool {pool}" if pool else ""
    soak_s = view.document.spec.rollout.soak_s if view.document else 0.0
    first: list[steps.RolloutPhase] = []
    canary = first_to_try(brokers, order.who_leads(snapshot))
    if tried and canary is not None and len(brokers) > 1:
        named = f"set {words(tried)} live on broker {canary.service_id} first and watch it for {soak_s:.0f} s"
        alone = f"on {canary.node} alone, taken back if it does not stand it"
        first.append(_phase(named, alone, ("set", "read back", "soak"), LIVE_S + soak_s))
        others = f"set {words(tried)} live on the other {len(brokers) - 1}{of}"
        racks = {i.planned.rack for i in brokers if i is not canary}
        why = "rack by rack; in the end as the cluster's default, and no broker's own"
        why = "rack by rack, each with the value as its own" if pool else why
        first.append(_phase(others, why, ("set", "read back"), LIVE_S * len(racks)))
    elif tried:
        first.append(_phase(f"set {words(tried)} live{of}", "there is no other broker to be spared", ("set",), LIVE_S))
    why = "all brokers at once, once nothing rolls: Kafka refuses it on one broker alone"
    last = [_phase(f"set {words(guarded)} live", why, ("set", "read back"), LIVE_S)] if guarded else []
    return first, last


def _left(view: ClusterView, pool: str) -> dict[str, str]:
    document = view.document
    if document is None or is_shared(view):
        return {}
    there = [i for i in view.in_phase(Phase.LAUNCHED, Phase.JOINED) if not i.lost and i.start.config is not None]
    wanted = pool_config(document, pool) if pool else document.spec.kafka.config
    applied = applied_of(document, there, pool)
    return dict(settings_left(applied, wanted, where_silent=where_silent(view, document)).live)


def _phase(name: str, why: str, how: tuple[str, ...], seconds: float) -> steps.RolloutPhase:
    return steps.RolloutPhase(name, False, (steps.RolloutStep(diff.Change.KEEP, NODE, "", NODE, why, how, 0, seconds),))
