"""Tags AWS has besides those of every cloud (`providers.tags`). `terraform/modules/aws` writes the same words."""

from collections.abc import Mapping
from typing import Any

VOLUME = "kedge-volume"
"""Key of a data volume. A root disk is ours too and has none."""

SHAPE = "kedge-shape"
IMAGE = "kedge-image"
"""The neutral machine size and the Kafka version, which AWS's own type and image id do not tell."""

ZONE = "kedge-zone"
"""The zone of the spec, where it is a partition of a placement group: a volume tells EC2's zone alone."""

EPHEMERAL_VOLUMES = "kedge-ephemeral-volumes"
"""Volumes of an instance that are its own disks, keys with a space between: no API lists what is on those."""


def tags_of(described: Mapping[str, Any]) -> dict[str, str]:
    """The tags of anything EC2 describes; network interfaces have them under another name."""
    given = described.get("Tags") or described.get("TagSet") or ()
    return {tag["Key"]: tag["Value"] for tag in given}
