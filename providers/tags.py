"""Ownership tags: how a VM says whose it is, *before* it exists, so that a crash can never leave an orphan.

The keys are lower case, of letters and dashes only, which is the strictest rule among the clouds (labels of
Google Compute and Hetzner); clouds with flat tags join key and value with a colon.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from providers.base import InstanceResource, Resources

INSTALLATION = "kedge-installation"
CLUSTER_UID = "kedge-cluster-uid"
CLUSTER_NAME = "kedge-cluster-name"
NODE = "kedge-node"
GENERATION = "kedge-generation"
INTENT = "kedge-intent"

LONGEST = 256
"""Characters of a tag's value, at AWS (EC2 User Guide, tag restrictions) and in Azure."""


def instance_tags(
    resources: "Resources", instance: "InstanceResource", more: Mapping[str, str] | None = None
) -> dict[str, str]:
    """All tags of one VM, with those of `more` that have a value. `INTENT` is what adoption goes by."""
    return {
        INSTALLATION: resources.installation_id,
        CLUSTER_UID: resources.cluster_uid,
        CLUSTER_NAME: resources.cluster_name,
        NODE: instance.node,
        GENERATION: str(instance.generation),
        INTENT: instance.intent_id,
        **{key: value for key, value in (more or {}).items() if value},
    }


def is_whole(tags: Mapping[str, str], *more: str) -> bool:
    """Whether a VM has all the tags we give, `more` of its cloud's own among them: else it was not made by us."""
    needed = (CLUSTER_UID, NODE, INTENT, *more)
    return all(tags.get(name) for name in needed) and tags.get(GENERATION, "").isdecimal()


def count_foreign(owners: Iterable[str], installation_id: str) -> dict[str, int]:
    """How many VMs each other installation has, by its id; `owners` has the installation of every VM."""
    return {owner: n for owner, n in sorted(Counter(owners).items()) if owner != installation_id}


def owned_by(tags: Mapping[str, str], installation_id: str) -> bool:
    """Whether the object is this installation's. Anything else is foreign and is never touched."""
    return tags.get(INSTALLATION) == installation_id


def joined(keys: Iterable[str]) -> str:
    """Keys as one value. Raises `ValueError` when they do not fit: left out ones would look detached."""
    value = " ".join(sorted(keys))
    if len(value) > LONGEST:
        raise ValueError(f"{value!r} is longer than the {LONGEST} characters of a tag")
    return value
