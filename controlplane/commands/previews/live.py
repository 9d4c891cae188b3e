"""The part of a rollout plan that touches no VM: Kafka settings that are set live, on one broker first. Pure."""

from controlplane.cluster.external_brokers import is_shared
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.rolls.canaries import first_to_try
from controlplane.converger.questions.running.setting_text import words
from controlplane.converger.questions.services.applied_settings import where_silent
from planner.observed import KafkaSnapshot
from planner.rollout import canary_step, diff, order, steps
from planner.rollout.settings_left import AppliedSettings, settings_left

LIVE_S = 5.0
"""What a live value takes until every broker of a rack shows it: 2 to 5 s on the `local` cloud."""

NODE = "settings"
"""What stands where other steps have the name of a node."""


def live_phases(
    view: ClusterView, snapshot: KafkaSnapshot | None
) -> tuple[tuple[steps.RolloutPhase, ...], tuple[steps.RolloutPhase, ...]]:
    """Phases before everything else of a roll, and those after it. `view` has the document that is planned."""
    live = _left(view)
    tried = canary_step.values_to_try(live)
    guarded = {name: value for name, value in live.items() if name not in tried}
    brokers = [i for i in view.brokers() if i.phase is Phase.JOINED and not i.lost]
    soak_s = view.document.spec.rollout.soak_s if view.document else 0.0
    first: list[steps.RolloutPhase] = []
    canary = first_to_try(brokers, order.who_leads(snapshot))
    if tried and canary is not None and len(brokers) > 1:
        named = f"set {words(tried)} live on broker {canary.service_id} first and watch it for {soak_s:.0f} s"
        alone = f"on {canary.node} alone, taken back if it does not stand it"
        first.append(_phase(named, alone, ("set", "read back", "soak"), LIVE_S + soak_s))
        others = f"set {words(tried)} live on the other {len(brokers) - 1}"
        racks = {i.planned.rack for i in brokers if i is not canary}
        why = "rack by rack; in the end as the cluster's default, and no broker's own"
        first.append(_phase(others, why, ("set", "read back"), LIVE_S * len(racks)))
    elif tried:
        first.append(_phase(f"set {words(tried)} live", "there is no other broker to be spared", ("set",), LIVE_S))
    why = "all brokers at once, once nothing rolls: Kafka refuses it on one broker alone"
    last = [_phase(f"set {words(guarded)} live", why, ("set", "read back"), LIVE_S)] if guarded else []
    return tuple(first), tuple(last)


def _left(view: ClusterView) -> dict[str, str]:
    document = view.document
    if document is None or is_shared(view):
        return {}
    there = [i for i in view.in_phase(Phase.LAUNCHED, Phase.JOINED) if not i.lost]
    applied = [AppliedSettings(i.start.config, i.planned.kafka_version) for i in there if i.start.config is not None]
    return dict(settings_left(applied, document.spec.kafka.config, where_silent=where_silent(view, document)).live)


def _phase(name: str, why: str, how: tuple[str, ...], seconds: float) -> steps.RolloutPhase:
    return steps.RolloutPhase(name, False, (steps.RolloutStep(diff.Change.KEEP, NODE, "", NODE, why, how, 0, seconds),))
