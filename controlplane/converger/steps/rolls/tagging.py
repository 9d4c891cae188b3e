"""Cost tags of what stands follow the labels of the spec: in place, one node at a time, while its service runs on.

    tagging.requested -> a tag run changes exactly these tags -> tagging.completed

Nothing is stopped and nothing is moved, so no gate is asked. A run that fails is given up for an hour: nothing that
keeps a cluster alive waits for a bill. What is made anew is made with its tags and needs no run.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta

from controlplane.cluster.folds.tagging import tags_on
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.jobs import JobSeen
from controlplane.cluster.places import place_of
from controlplane.cluster.views.cost_tags import CostTagsView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.intents import IntentView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.situation.decision import Decision, record, wait
from controlplane.converger.situation.situation import Situation
from events import facts
from events.ids import intent_id
from providers.cost_tags import cost_tags, misfit

AGAIN_AFTER = timedelta(hours=1)
"""A run that failed is tried again after that, or once the labels, or the list of the settings, say something else."""


def wanted_tags(situation: Situation, cloud: str) -> Mapping[str, str]:
    """The cost tags that a VM of a cloud is to carry by the spec in force and the settings of the server."""
    document = situation.view.document
    return cost_tags(document.metadata.labels, situation.cost_tags, cloud) if document is not None else {}


def tags_to_make(situation: Situation, predecessor: InstanceView | None, cloud: str) -> Mapping[str, str] | None:
    """Those of a VM to be made, None for none: of one that takes over the disk and the address of a predecessor the
    ones they carry, so that all it has are changed together later; else those that are wanted now."""
    if predecessor is None:
        return wanted_tags(situation, cloud) or None
    return tags_on(situation.view, predecessor).tags or None


def tagging_step(situation: Situation) -> Decision | None:
    """Asks for the tags of the next node. None where all carry theirs, or those that do not failed just now."""
    view = situation.view
    for instance, has, wanted in _differing(situation):
        if has.failed_at is not None and has.asked == wanted and situation.now < has.failed_at + AGAIN_AFTER:
            continue
        dropped = tuple(sorted(has.may_have - wanted.keys()))
        intent = intent_id(view.uid, "tag", instance.key, view.vms.taggings + 1)
        reason = _in_words(has, wanted, dropped)
        asked = facts.TaggingRequested(intent, instance.key, wanted, dropped, reason)
        return record(f"tagging {instance.key} in place: {reason}", asked)
    return None


def tagged_step(intent: IntentView, job: JobSeen | None, what: str) -> Decision | None:
    """What becomes of a tag run that has ended; None while it has not."""
    if intent.failed_at is not None and (not intent.retryable or intent.refusals or intent.failures > 1):
        return record(
            f"Terraform: {what} is given up for now: {intent.error}", facts.TaggingFailed(intent.id, intent.error)
        )
    if job is None or job.is_open or job.state == "failed":
        return None
    return record(f"{intent.keys[0]} carries its cost tags", facts.TaggingCompleted(intent.id))


def tags_left_step(situation: Situation) -> Decision | None:
    """Says which tags are missing, and why: the last rung, so that nothing else waits."""
    sentences = [*_unfit(situation), *_failed(situation)]
    if not sentences:
        return None
    return wait(WaitReason.COST_TAGS_MISSING, f"cost tags: {'; '.join(sentences)}", patience_s=0)


def _differing(situation: Situation) -> Iterator[tuple[InstanceView, CostTagsView, Mapping[str, str]]]:
    view = situation.view
    if not situation.cost_tags and not view.vms.cost_tags and not any(i.planned.cost_tags for i in view.alive()):
        return
    by_cloud: dict[str, Mapping[str, str]] = {}
    for instance in sorted(view.alive(), key=lambda i: i.key):
        if instance.phase is not Phase.JOINED or not instance.bound or instance.lost:
            continue
        cloud = place_of(view, instance).cloud
        wanted = by_cloud.setdefault(cloud, wanted_tags(situation, cloud))
        has = tags_on(view, instance)
        if has.tags != wanted or has.failed_at is not None:
            yield instance, has, wanted


def _failed(situation: Situation) -> Iterator[str]:
    for instance, has, _ in _differing(situation):
        if has.failed_at is not None:
            again = has.failed_at + AGAIN_AFTER
            yield f"{instance.key}: {has.error} (again at {again:%H:%M} UTC)"


def _unfit(situation: Situation) -> Iterator[str]:
    """Refused at admission; here where the list of the settings is younger than the spec."""
    document = situation.view.document
    if document is None or not situation.cost_tags:
        return
    labels = document.metadata.labels
    clouds = sorted({pool.place.cloud for pool in document.spec.pools})
    for key in sorted(set(situation.cost_tags) & labels.keys()):
        for cloud in clouds:
            if reason := misfit(cloud, key, labels[key]):
                yield f"label `{key}` is on no VM of {cloud}: {reason}"


def _in_words(has: CostTagsView, wanted: Mapping[str, str], dropped: tuple[str, ...]) -> str:
    put = [f"{key}={value}" for key, value in sorted(wanted.items()) if has.tags.get(key) != value]
    return "; ".join(
        [*([f"cost tags {', '.join(put)}"] if put else []), *([f"without {', '.join(dropped)}"] if dropped else [])]
    ) or ("cost tags once more")
