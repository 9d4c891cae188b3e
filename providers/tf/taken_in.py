"""What every cloud looks up of a listing to say how a thing is imported; see `ImportsResources`."""

from providers.base import Listing, Resources
from providers.catalog import EPHEMERAL
from providers.tf.abilities import Import
from providers.tf.imports import in_module


def taken_in(resource: str, key: str, found: str) -> tuple[Import, ...] | None:
    """The one import of what has this id, None where the listing has none."""
    return (Import(in_module(resource, key), found),) if found else None


def vm_id(listing: Listing, key: str) -> str:
    """The id of a VM, "" where it is not listed."""
    return next((i.id for i in listing.instances if i.key == key), "")


def volume_id(listing: Listing, key: str) -> str:
    """The id of a volume, "" where it is not listed."""
    return next((v.id for v in listing.volumes if v.key == key), "")


def is_own(volume: str, resources: Resources) -> bool:
    """Whether it is a VM's own disk, which comes and goes with the VM."""
    return any(v.key == volume and v.kind == EPHEMERAL for v in resources.volumes)
