"""Leads a living cluster from plaintext between its nodes to TLS, and back while it can: one step at a time, each
recorded before it is made.

    security.step_requested -> every service of one kind is started anew (`restarts`), behind the gates of any restart
    -> security.step_completed, once all of them serve and the metadata log names the controllers where they listen

In mode `zookeeper` two steps end with what the ensemble keeps itself (`ensemble_content`), once all have made them.

No step begins before the one before it is over, and none is skipped (`planner.rollout.security_steps`). A service that
does not come back is given what it had before, and nothing goes on until a person has looked.
"""

from collections.abc import Sequence

from agent.wire import ENSEMBLE_STEP_WIRE_VERSION, STEP_WIRE_VERSION
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.security import SecurityView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.quorum.ensemble_content import content_left
from controlplane.converger.questions.quorum.security_steps import endpoint_trouble, late_step, step_in_words
from controlplane.converger.questions.services.agent_evidence import says_it_is_down
from controlplane.converger.questions.services.cluster_healthy import cluster_is_whole
from controlplane.converger.questions.services.service_reports import agents_of_before, state_of
from controlplane.converger.situation.decision import Decision, record, wait
from controlplane.converger.situation.situation import Situation
from events import facts
from planner.observed import KafkaSnapshot
from planner.rollout.security_steps import STEPS, between, next_position

_DYNAMIC = "kraft.version"


def security_step(situation: Situation) -> Decision | None:
    """Begins the next step, turns back where the spec does, or ends the one in hand. None where none is left, and while
    services are to be started anew for the one in hand."""
    view = situation.view
    document, security = view.document, view.settings.security
    if document is None or security is None or view.quorum.founding is None:
        return None
    wants_tls = document.spec.security.internal == "tls"
    if not security.is_in_hand and next_position(security.to, wants_tls=wants_tls) == security.to:
        return None
    if view.settings.restarts or view.settings.restart_refusal is not None:
        return _refused(view) if view.settings.restart_refusal is not None else None
    if security.is_in_hand:
        return _turned(view, security, wants_tls) or _ended(situation, security)
    return _next(situation, security, wants_tls)


def _refused(view: ClusterView) -> Decision | None:
    """`restart_step` says what it waits for, as long as a service is to be started anew."""
    if any(late_step(view, i) for i in view.alive()):
        return None
    key, reason = view.settings.restart_refusal or ("", "")
    sentence = f"no further step between plaintext and TLS: {key} was {reason}"
    return wait(WaitReason.SECURITY_BLOCKED, sentence, next_command=f"kedge resume {view.name}", patience_s=0)


def _turned(view: ClusterView, security: SecurityView, wants_tls: bool) -> Decision | None:
    """The spec in force asks for the other way."""
    wanted = security.high if wants_tls else security.low
    if wanted == security.to or security.step is None:
        return None
    step = security.step.name
    where = "on to TLS" if wants_tls else "back to plaintext"
    reason = f"the spec of generation {view.generation} goes {where}"
    return record(f"{step} is {'made' if wants_tls else 'undone'}: {reason}", _requested(view, wanted, step, reason))


def _ended(situation: Situation, security: SecurityView) -> Decision | None:
    view, step = situation.view, security.step
    if step is None:
        return None
    own = [i for i in view.alive() if i.planned.service == step.service]
    if any(late_step(view, i) for i in own if not i.lost):
        return None
    what = step_in_words(security)
    waiting = next((i for i in own if i.phase is not Phase.JOINED or i.lost), None)
    if waiting is not None:
        said = "lost" if waiting.lost else waiting.phase
        return wait(WaitReason.NOT_SETTLED, f"{what}: {waiting.key} is {said}")
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        return wait(WaitReason.KAFKA_UNKNOWN, f"{what}: {situation.seen.why_no_kafka}")
    if trouble := _trouble(situation, kafka, own):
        look = f"kedge describe {view.name}, and Kafka's log on that VM"
        return wait(
            WaitReason.SECURITY_STEP, f"{what}: {trouble}", next_command=look, patience_s=_patience_s(situation)
        )
    if (left := content_left(situation, security)) is not None:
        return left
    reason = f"all {len(own)} {step.services} serve with it" + _END_WORDS.get(step.service, "")
    completed = facts.SecurityStepCompleted(step.name, security.to, reason)
    return record(f"{what} is over: {reason}", completed)


_END_WORDS = {"controller": ", and the metadata log names each where it listens"}


def _next(situation: Situation, security: SecurityView, wants_tls: bool) -> Decision:
    view = situation.view
    after = next_position(security.to, wants_tls=wants_tls)
    step = between(security.to, after, security.quorum)
    what = f"{step.name} of the way to TLS" if wants_tls else f"back from {step.name} of the way to TLS"
    blocked = _not_settled(view, what) or _cannot(situation, what)
    if blocked is not None:
        return blocked
    if not situation.allowance.may_roll:
        return wait(WaitReason.FLEET_BRAKE, f"{what} waits: {situation.allowance.reason}")
    number = len(STEPS) - after if wants_tls else after
    left = f"{number} more {'steps' if number != 1 else 'step'} after it"
    reason = f"{step.does if wants_tls else f'{step.services} are as before it'}; {left}"
    return record(f"{what} begins: {reason}", _requested(view, after, step.name, reason))


def _not_settled(view: ClusterView, what: str) -> Decision | None:
    waiting = next((i for i in view.alive() if i.phase is not Phase.JOINED or i.lost), None)
    if waiting is not None:
        said = "lost" if waiting.lost else waiting.phase
        return wait(WaitReason.NOT_SETTLED, f"{what} waits: {waiting.key} is {said}")
    if view.intents or view.moves.drain is not None or view.quorum.change is not None:
        return wait(WaitReason.NOT_SETTLED, f"{what} waits: VMs or voters are being changed")
    if view.vms.authority_change is not None:
        return wait(WaitReason.NOT_SETTLED, f"{what} waits: a CA is being replaced")
    if view.quorum.migration is not None:
        return wait(WaitReason.MIGRATION, f"{what} waits for the end of the migration to KRaft")
    return None


def _cannot(situation: Situation, what: str) -> Decision | None:
    view = situation.view
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        return wait(WaitReason.KAFKA_UNKNOWN, f"{what} waits: {situation.seen.why_no_kafka}")
    dynamic = kafka.features.get(_DYNAMIC)
    if not view.in_zookeeper_mode and (dynamic is None or dynamic.finalised < 1):
        sentence = (
            f"{what} is not begun: the quorum is static ({_DYNAMIC} 0), so no controller can tell the others another "
            "address. It is made dynamic when the feature levels of 4.1 are finalised"
        )
        again = f"kedge apply, with plaintext, or without kafka.metadataVersion ({view.name})"
        return wait(WaitReason.SECURITY_BLOCKED, sentence, next_command=again, patience_s=0)
    needed = ENSEMBLE_STEP_WIRE_VERSION if view.in_zookeeper_mode else STEP_WIRE_VERSION
    old = agents_of_before(situation, view.alive(), needed)
    if old:
        sentence = f"{what} waits: the agent of {old} knows of no such step, or was not heard"
        again = "kedge agents publish, with an agent of this release"
        return wait(WaitReason.SECURITY_BLOCKED, sentence, next_command=again, patience_s=_patience_s(situation))
    if trouble := _trouble(situation, kafka, view.alive()):
        return wait(WaitReason.SECURITY_STEP, f"{what} waits: {trouble}", patience_s=_patience_s(situation))
    return None


def _trouble(situation: Situation, kafka: KafkaSnapshot, services: Sequence[InstanceView]) -> str:
    """Whom it is waited for, and why."""
    down = next((i for i in services if says_it_is_down(situation, i)), None)
    if down is not None:
        return f"{down.key} is {state_of(situation, down)}"
    brokers = [i.service_id for i in situation.view.brokers() if i.phase is Phase.JOINED]
    whole = cluster_is_whole(kafka, brokers, excepted=frozenset())
    if not whole.open:
        return whole.reason
    return next((said for i in services if (said := endpoint_trouble(situation, kafka, i))), "")


def _patience_s(situation: Situation) -> float:
    return situation.join_deadline_s + 30


def _requested(view: ClusterView, position: int, step: str, reason: str) -> facts.SecurityStepRequested:
    return facts.SecurityStepRequested(step, position, view.generation, reason)
