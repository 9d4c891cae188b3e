"""Tags Azure has besides those of every cloud (`providers.tags`). `terraform/modules/azure` writes the same words.

A tag has a name of 512 characters and a value of 256 (Azure Resource Manager, "tag resources"): ours fit as they are,
and nothing is encoded. Names are compared without case there, and whoever edits tags may change it: read in lower case.
"""

from collections.abc import Mapping
from typing import Any

VOLUME = "kedge-volume"
"""Key of a data volume. The disk of the operating system has none."""

ZONE = "kedge-zone"
"""Zone of the spec. Azure's own, 1 to 3, mean another building in each subscription."""

SHAPE = "kedge-shape"
IMAGE = "kedge-image"
"""The neutral machine size and the Kafka version, which Azure's own size and image id do not tell."""

EPHEMERAL_VOLUMES = "kedge-ephemeral-volumes"
"""Volumes of an instance that are its own disks, keys with a space between: no API lists what is on those."""


def tags_of(described: Mapping[str, Any]) -> dict[str, str]:
    """The tags of anything Azure describes."""
    return {str(name).lower(): str(value) for name, value in (described.get("tags") or {}).items()}
