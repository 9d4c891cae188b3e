"""Labels UpCloud has besides those of every cloud (`providers.tags`). `terraform/modules/upcloud` writes the same ones.

Nothing is encoded: a key of a label may be 2-32 and its value 0-255 printable characters (UpCloudLtd/upcloud 5.41.0,
internal/utils/labels.go), which holds every key and value there is.
"""

from collections.abc import Iterable, Mapping
from typing import Any

VOLUME = "kedge-volume"
"""Key of a data volume. A root disk is made with its VM, which gives it no label."""

ZONE = "kedge-zone"
REGION = "kedge-region"
"""The rack, which UpCloud knows nothing of, and UpCloud's own zone, so that a listing asks for one region only."""

SHAPE = "kedge-shape"
IMAGE = "kedge-image"
"""The neutral machine size and the Kafka version, which the plan and the template of a VM do not tell."""

VOLUMES = "kedge-volumes"
EPHEMERAL_VOLUMES = "kedge-ephemeral-volumes"
"""Volumes a VM was made with, keys with a space between: disks of their own, and parts of its root disk."""

ADDRESS = "kedge-address"
"""The address of a node, on the VM that was made with it and on the node's disks, which outlive that VM."""

_LONGEST = 255
"""Characters of a label's value."""


def labels_of(described: Mapping[str, Any]) -> dict[str, str]:
    """The labels of a server (`{"label": [...]}`) or of a storage (a plain list)."""
    given = described.get("labels") or ()
    listed = given.get("label") or () if isinstance(given, Mapping) else given
    return {label["key"]: label["value"] for label in listed}


def joined(keys: Iterable[str]) -> str:
    """Keys as one value. Raises `ValueError` when they do not fit: left out ones would look detached."""
    value = " ".join(sorted(keys))
    if len(value) > _LONGEST:
        raise ValueError(f"{value!r} is longer than the {_LONGEST} characters of a label")
    return value
