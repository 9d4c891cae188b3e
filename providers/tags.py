"""Ownership tags: how a VM says whose it is, *before* it exists, so that a crash can never leave an orphan.

The keys are lower case, of letters and dashes only, which is the strictest rule among the clouds (labels of
Google Compute and Hetzner); clouds with flat tags join key and value with a colon.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from providers.base import InstanceResource, Resources

INSTALLATION = "kedge-installation"
CLUSTER_UID = "kedge-cluster-uid"
CLUSTER_NAME = "kedge-cluster-name"
NODE = "kedge-node"
GENERATION = "kedge-generation"
INTENT = "kedge-intent"


def instance_tags(resources: "Resources", instance: "InstanceResource") -> dict[str, str]:
    """All tags of one VM. `INTENT` is what adoption goes by."""
    return {
        INSTALLATION: resources.installation_id,
        CLUSTER_UID: resources.cluster_uid,
        CLUSTER_NAME: resources.cluster_name,
        NODE: instance.node,
        GENERATION: str(instance.generation),
        INTENT: instance.intent_id,
    }


def owned_by(tags: Mapping[str, str], installation_id: str) -> bool:
    """Whether the object is this installation's. Anything else is a stranger's and is never touched."""
    return tags.get(INSTALLATION) == installation_id
