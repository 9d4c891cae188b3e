"""The fold of image revisions a cluster is given: part of `controlplane.cluster.fold.evolve`."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds.steps import Rules
from controlplane.cluster.places import place_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.images import ImageView
from controlplane.cluster.views.instances import InstanceView
from events import facts
from events.image_facts import revision_name

LOCAL = "local"


def _chosen(view: ClusterView, e: facts.ImageChosen, at: datetime) -> ClusterView:
    return replace(view, vms=replace(view.vms, image=ImageView(e, at)))


def reached(view: ClusterView, at: datetime) -> ClusterView:
    """Everything is as declared, so every VM is made from the revision, if it is one of the version in force."""
    image = image_in_force(view)
    if image is None or image.reached_at is not None:
        return view
    return replace(view, vms=replace(view.vms, image=replace(image, reached_at=at)))


def image_in_force(view: ClusterView) -> ImageView | None:
    """The revision VMs are made from now, None where that is the image the cloud's settings name.

    A revision of another Kafka version than the declared one counts no more.
    """
    image, document = view.vms.image, view.document
    if image is None or document is None or image.chosen.kafka_version != document.spec.kafka.version:
        return None
    return image


def awaits_image(view: ClusterView) -> bool:
    """Whether VMs are made from another revision than they should be."""
    image = image_in_force(view)
    return image is not None and image.reached_at is None


def outdated_image(view: ClusterView, instance: InstanceView) -> str:
    """Why a VM has to be replaced by one of the revision in force: `image 4.2.0-r2 -> 4.2.0-r3 (critical: ...)`.

    "" also where the revision has nothing for the place it lives in: that came to the spec after the choice.
    """
    image = image_in_force(view)
    if image is None or revision_of(instance) == image.name:
        return ""
    place = place_of(view, instance)
    if image_in(image.chosen, place.cloud, place.region) is None:
        return ""
    chosen = image.chosen
    why = f" ({chosen.security}: {chosen.reason})" if chosen.security else ""
    return f"image {revision_of(instance) or 'of the settings'} -> {image.name}{why}"


def image_in(what: facts.ImagePublished | facts.ImageChosen, cloud: str, region: str) -> facts.PlannedImage | None:
    """What VMs there are made from, None where the revision has nothing for them.

    An archive for plain images is had everywhere but on `local`, whose VMs fetch nothing when they boot; it goes onto
    the image the cloud's settings name.
    """
    ids = {i.architecture: i.id for i in what.images if (i.cloud, i.region) == (cloud, region)}
    if not ids and (not what.url or cloud == LOCAL):
        return None
    return facts.PlannedImage(revision_name(what.kafka_version, what.number), ids, what.url, what.sha256)


def build_name(revision: str, kafka_version: str, sha256: str) -> str:
    """What a VM is made from, for people: a revision, else a build of one's own, else a Kafka version."""
    return revision or (f"{kafka_version} of {sha256[:12]}" if sha256 else kafka_version)


def revision_of(instance: InstanceView) -> str:
    """The revision a VM was made from, "" for the image of the settings."""
    return instance.planned.image.revision if instance.planned.image else ""


RULES: Rules = {
    facts.ImageChosen: _chosen,
}
