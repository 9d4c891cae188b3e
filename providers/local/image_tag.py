"""Which image directory a new VM of the local cloud is made from, as its tag."""

from collections.abc import Mapping
from pathlib import Path

from providers import base, errors, made_from, variables
from providers.local.distribution import unpacked
from providers.local.image_dir import IMAGE, image_dir


def image_tag(instance: base.InstanceResource, kafka_dir: str) -> Mapping[str, str]:
    """The tag, none where the VM has the image of the settings. Raises `PlaceUnknown` for a directory without jars."""
    image = variables.own_image(instance, made_from.X86_64) or _own_build(instance, kafka_dir)
    if not image:
        return {}
    libs = Path(image_dir(kafka_dir, {IMAGE: image})) / instance.image / "libs"
    if ".." in Path(image).parts or Path(image).is_absolute() or not libs.is_dir():
        raise errors.PlaceUnknown(f"image {image!r} of the local cloud: there is no {libs}")
    return {IMAGE: image}


def _own_build(instance: base.InstanceResource, kafka_dir: str) -> str:
    """Of a build of Kafka that the spec names. An archive of the catalogue is for plain images, and here are none."""
    made = instance.made_from
    if made is None or made.revision or not made.url:
        return ""
    if not kafka_dir:
        raise errors.PlaceUnknown("the local cloud has no folder of images to unpack a build of Kafka in")
    return unpacked(Path(kafka_dir), instance.image, made.url, made.sha256)
