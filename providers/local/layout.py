"""Where things lie in the directory that is the local cloud, and which names may become part of a path.

<root>/config.json                                    how VMs are launched
<root>/faults.json                                    switches for tests
<root>/addresses.json                                 every address ever given out
<root>/<region>/instances/<cluster uid>/<node>.g<n>/  a VM: vm.json, boot.json, volumes/, interfaces/, agent/, logs/
<root>/<region>/tombstones/<cluster uid>/<key>.json   a VM that was terminated
<root>/<region>/volumes/<cluster uid>/<key>/          a disk; its record lies beside it
<root>/<region>/addresses/<cluster uid>/<node>.json   an address owned by a node
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from providers.errors import PlaceUnknown

if TYPE_CHECKING:
    from providers.base import Place

REGIONS: dict[str, tuple[str, ...]] = {
    "local-1": ("a", "b", "c"),
    "local-2": ("a", "b", "c"),
    "local-3": ("a", "b", "c"),
}

_UID = re.compile(r"^[a-z0-9][a-z0-9-]*$")
_KEY = re.compile(r"^[a-z0-9][a-z0-9-]*(\.[a-z0-9][a-z0-9-]*)*$")


@dataclass(frozen=True, slots=True)
class Layout:
    """Paths of one region of one local cloud."""

    root: Path
    region: str

    def __post_init__(self) -> None:
        if self.region not in REGIONS:
            raise PlaceUnknown(f"the local cloud has no region {self.region!r}; it has {', '.join(REGIONS)}")

    @property
    def instances(self) -> Path:
        return self.root / self.region / "instances"

    @property
    def volumes(self) -> Path:
        return self.root / self.region / "volumes"

    @property
    def addresses(self) -> Path:
        return self.root / self.region / "addresses"

    def vm(self, cluster_uid: str, key: str) -> Path:
        return self.instances / _uid(cluster_uid) / _key(key)

    def tombstone(self, cluster_uid: str, key: str) -> Path:
        return self.root / self.region / "tombstones" / _uid(cluster_uid) / f"{_key(key)}.json"

    def volume(self, cluster_uid: str, key: str) -> Path:
        return self.volumes / _uid(cluster_uid) / _key(key)

    def volume_record(self, cluster_uid: str, key: str) -> Path:
        return self.volumes / _uid(cluster_uid) / f"{_key(key)}.json"

    def address_record(self, cluster_uid: str, node: str) -> Path:
        return self.addresses / _uid(cluster_uid) / f"{_key(node)}.json"

    def lock(self, cluster_uid: str) -> Path:
        """One lock per cluster and region: its verbs are short, and two of them often touch the same VM."""
        return self.root / self.region / "locks" / f"{_uid(cluster_uid)}.lock"


def layout_of(root: Path, place: "Place") -> Layout:
    """Layout of a place. Raises `PlaceUnknown` for another cloud, an unknown region or a second account."""
    if place.cloud != "local" or place.account != "default":
        raise PlaceUnknown(f"{place}: the local cloud is called `local` and has one account, `default`")
    return Layout(root, place.region)


def instance_id(cluster_uid: str, key: str) -> str:
    """The cloud's id of a VM."""
    return f"{cluster_uid}/{key}"


def parse_instance_id(text: str) -> tuple[str, str] | None:
    """(cluster uid, instance key), or None for an id this cloud never gave out."""
    uid, _, key = text.partition("/")
    return (uid, key) if _UID.match(uid) and _KEY.match(key) else None


def _uid(text: str) -> str:
    if not _UID.match(text):
        raise ValueError(f"{text!r} is not a cluster uid")
    return text


def _key(text: str) -> str:
    if not _KEY.match(text):
        raise ValueError(f"{text!r} is not a key of the module contract")
    return text
