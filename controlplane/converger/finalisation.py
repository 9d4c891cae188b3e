"""The end of a roll: soak, then raise the feature levels one by one, then say that the generation is reached."""

from controlplane.converger.verdict import RaiseFeature, Situation, Verdict, act, record, wait
from controlplane.kafka.features import Blocked, FeatureStep, metadata_level_of, next_feature_step
from controlplane.replacement import Phase
from events import facts


def finalisation_step(situation: Situation) -> Verdict | None:
    """Works only once every node is as the spec wants it. None when the generation is reached."""
    view = situation.view
    if view.document is None or (view.converged == view.generation and not view.recycling):
        return None
    unsettled = [i for i in view.alive() if i.phase is not Phase.JOINED or i.lost]
    if unsettled:
        i = unsettled[0]
        return wait(
            "NotSettled", f"generation {view.generation} not reached: {i.key} is {'lost' if i.lost else i.phase}"
        )
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        return wait("KafkaUnknown", "every VM is as declared; Kafka's metadata cannot be read")
    if view.finalising is not None:
        feature, level = view.finalising
        seen = kafka.features.get(feature)
        if seen is not None and seen.finalised >= level:
            return record(f"{feature} is finalised at {level}", facts.FeatureFinalised(feature, level))
    target = view.document.spec.kafka.metadata_version or view.document.spec.kafka.version
    step = next_feature_step(kafka, metadata_level_of(target))
    if isinstance(step, Blocked):
        return wait("FinalisationBlocked", f"cannot raise the feature levels to {target}: {step.reason}")
    if step is None:
        return record(f"generation {view.generation} reached", facts.RecycleCompleted(view.generation))
    return _raise(situation, step, target)


def _raise(situation: Situation, step: FeatureStep, target: str) -> Verdict:
    view = situation.view
    if view.finalising == (step.name, step.level):
        return act(f"raising {step.name} to {step.level}", RaiseFeature(step.name, step.level))
    soak_s = view.document.spec.rollout.soak_s if view.document else 0.0
    left = soak_s - situation.seconds_since(view.replaced_at) if view.replaced_at else 0.0
    if left > 0:
        sentence = f"every VM is as declared; soaking {left:.0f} s more before {target} is finalised for good"
        return wait("Soak", sentence, patience_s=soak_s + 30)
    requested = facts.FinalisationRequested(step.name, step.level, f"all nodes support {target}")
    return record(f"finalising {step.name} at {step.level}", requested)
