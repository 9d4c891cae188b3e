"""The plan of the way from plaintext to TLS between nodes, of what is left of it, or of the way back. Pure."""

from collections.abc import Collection, Iterable

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.questions.quorum.security_steps import late_step
from events.spec.change import FieldChange
from events.spec.model import KafkaClusterDocument
from planner.rollout.diff import Change, NodeChange
from planner.rollout.security_steps import FIRST, LAST, Quorum, SecurityStep, between, next_position, steps_of
from planner.rollout.steps import RESTART_S, RolloutPhase, RolloutStep

_RESTARTED = ("stop", "start", "back in sync")

CLIENTS = (
    "clients are left where they are: the listener in plaintext stays open as long as the spec has it. Have them move "
    "to one of TLS, which is open after B1, then remove it from `listeners`"
)


def no_way_back(quorum: Quorum) -> str:
    """From where on there is none."""
    return (
        f"it has a point of no return: once {steps_of(quorum)[-1].name} is over nodes speak TLS alone. Until then "
        "`security: {internal: plaintext}`, applied again with the one listener, undoes the steps one by one"
    )


IN_SIX_STEPS = "all services are restarted in place, three times each, in six steps; no VM is replaced"
BACK_IN_STEPS = "the steps that were made are undone one by one, by restarts in place"


def tls_way_phases(view: ClusterView, document: KafkaClusterDocument) -> tuple[RolloutPhase, ...]:
    """What is left to do for it, in order: a phase a step. `view` is of this document."""
    security = view.settings.security
    if security is None:
        return ()
    wants_tls = document.spec.security.internal == "tls"
    end = LAST if wants_tls else FIRST
    position, phases = security.to, []
    if security.is_in_hand and security.step is not None:
        position = security.high if wants_tls else security.low
        made = [i for i in view.alive() if wants_tls == (security.to == security.high) and not late_step(view, i)]
        phases.append(_phase(view, security.step, wants_tls, made={i.key for i in made}))
    while position != end:
        after = next_position(position, wants_tls=wants_tls)
        phases.append(_phase(view, between(position, after, security.quorum), wants_tls))
        position = after
    return tuple(phase for phase in phases if phase.steps)


def makes_a_step_alone(change: NodeChange) -> bool:
    """Whether it is started anew for the step in hand and for nothing else: the phases above have it."""
    old = change.incumbent
    is_step = change.change is Change.RESTART and old is not None and bool(old.reasons.tls_step)
    return is_step and not change.is_new_to_it and not change.restart_asked


def tls_way_warnings(view: ClusterView, document: KafkaClusterDocument) -> list[str]:
    """What clients have to do, and the point of no return, while that lies ahead."""
    security = view.settings.security
    if security is None or (security.is_over and security.to == LAST) or document.spec.security.internal != "tls":
        return []
    return [CLIENTS, no_way_back(security.quorum)]


def tls_way_effects(
    view: ClusterView, document: KafkaClusterDocument, changes: Iterable[FieldChange]
) -> dict[str, str]:
    """What each changed field comes to on the way, by its path."""
    if view.settings.security is None or (view.security.is_over and view.security.to == LAST):
        return {}
    wants_tls = document.spec.security.internal == "tls"
    found = {}
    for change in changes:
        if change.path == "spec.security.internal":
            found[change.path] = IN_SIX_STEPS if wants_tls else BACK_IN_STEPS
        elif change.path.startswith("spec.listeners") and wants_tls:
            found[change.path] = "open on all brokers once B1 is over"
    return found


def _phase(view: ClusterView, step: SecurityStep, wants_tls: bool, made: Collection[str] = frozenset()) -> RolloutPhase:
    there = (i for i in view.alive() if i.planned.service == step.service and i.key not in made)
    own = sorted(there, key=_turn)
    what = step.does if wants_tls else f"back from it: {step.services} are as before"
    also = f"; {step.clients}" if step.clients and wants_tls else ""
    how = "rack by rack" if step.service == "broker" else "one at a time, the leader last"
    title = f"{step.name}: restart {len(own)} {step.services} in place, {how}: {what}{also}"
    return RolloutPhase(title, False, tuple(_steps(own, step.name)))


def _turn(instance: InstanceView) -> tuple[str, str]:
    return (instance.planned.rack, instance.node)


def _steps(own: Iterable[InstanceView], name: str) -> Iterable[RolloutStep]:
    for i in own:
        p = i.planned
        yield RolloutStep(Change.RESTART, p.node, p.rack, p.service, f"{p.node}: {name}", _RESTARTED, 0, RESTART_S)
