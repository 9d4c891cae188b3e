"""One reading of a team and region: Droplets by our installation's tag, volumes by region, whatever the fleet's size.

A listing of Droplets takes one tag and no region, one of volumes a region and no tag (DigitalOcean API reference); the
rest is left out here.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from providers import tags
from providers.base import CloudInstance, CloudVolume, InstanceState, Listing, Place
from providers.digitalocean.errors import is_not_found, translated
from providers.digitalocean.tags import EPHEMERAL_VOLUMES, IMAGE, SHAPE, VOLUME, ZONE, tag, tags_of
from providers.errors import CloudUnavailable

PAGE = 200
"""`per_page` is 200 at most (DigitalOcean API reference, "Links & Pagination")."""

_MOST_PAGES = 1000
_READINGS = 3

_STATES = {
    "new": InstanceState.PENDING,
    "active": InstanceState.RUNNING,
    "off": InstanceState.STOPPING,
    "archive": InstanceState.STOPPING,
}
"""A VM that is off serves nobody and is not gone: it may be started again, and what it holds is held."""


def read_listing(client: Any, place: Place, *, installation_id: str, page: int = PAGE) -> Listing:
    """Everything of this installation. A page that fails fails the whole: half a listing would look like a loss.

    A VM with our installation's tag but not all of our tags was not made by us: it is left out and never touched.
    """
    at = datetime.now(UTC)
    ours = tag(tags.INSTALLATION, installation_id)
    with translated(f"{place}: listing"):
        machines = [d for d in _all(client.droplets.list, "droplets", page, tag_name=ours) if _is_in(d, place)]
        disks = [
            v
            for v in _all(client.volumes.list, "volumes", page, region=place.region)
            if tags.owned_by(tags_of(v.get("tags") or ()), installation_id)
        ]
    made = {d["id"]: t for d in machines if tags.is_whole(t := tags_of(d["tags"]), ZONE)}
    keys = {number: f"{t[tags.NODE]}.g{t[tags.GENERATION]}" for number, t in made.items()}
    own = {v["id"]: t for v in disks if {VOLUME, tags.CLUSTER_UID} <= (t := tags_of(v["tags"])).keys()}
    found = (_instance(d, made[d["id"]], own) for d in machines if d["id"] in made)
    volumes = (_volume(v, own[v["id"]], keys) for v in disks if v["id"] in own)
    return Listing(
        place=place,
        at=at,
        instances=tuple(sorted(found, key=lambda i: (i.cluster_uid, i.node, i.generation, i.id))),
        volumes=tuple(sorted(volumes, key=lambda v: (v.cluster_uid, v.key))),
    )


def read_one(client: Any, place: Place, droplet: int) -> Mapping[str, Any] | None:
    """One Droplet as DigitalOcean tells it, None when it answered that there is none by that id."""
    with translated(f"{place}: describing {droplet}"):
        answer = client.droplets.get(droplet_id=droplet)
    if is_not_found(answer):
        return None
    told = answer.get("droplet") if isinstance(answer, dict) else None
    if not isinstance(told, dict) or told.get("id") != droplet:
        raise CloudUnavailable(f"{place}: DigitalOcean's answer about {droplet} is about something else")
    return told


def count_owners(client: Any, place: Place, *, page: int = PAGE) -> Iterator[str]:
    """The installation of each VM that has one. There is no way to ask for a part of a tag: every VM is read."""
    with translated(f"{place}: listing other installations"):
        for droplet in _all(client.droplets.list, "droplets", page):
            owner = tags_of(droplet["tags"]).get(tags.INSTALLATION)
            if owner and _is_in(droplet, place):
                yield owner


def state_of(droplet: Mapping[str, Any]) -> InstanceState:
    """Ours of DigitalOcean's words; one it did not have when this was written is a VM in change, never gone."""
    return _STATES.get(str(droplet.get("status")), InstanceState.STOPPING)


def _all(call: Callable[..., Any], part: str, size: int, **asked: str) -> list[dict[str, Any]]:
    """Every item once. Pages are counted from the start: what is deleted while we read moves others past us unseen. The
    totals of the pages tell that; then all is read again."""
    for _ in range(_READINGS):
        pages = list(_pages(call, part, size, asked))
        found = {item["id"]: item for page in pages for item in page[part]}
        if {page["meta"]["total"] for page in pages} == {len(found)}:
            return list(found.values())
    raise CloudUnavailable(f"the {part} changed in each of {_READINGS} readings")


def _pages(call: Callable[..., Any], part: str, size: int, asked: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for number in range(1, _MOST_PAGES + 1):
        answer = call(per_page=size, page=number, **asked)
        yield answer
        if "next" not in ((answer.get("links") or {}).get("pages") or {}):
            return
    raise CloudUnavailable(f"a listing of {part} does not end after {_MOST_PAGES} pages")


def _is_in(droplet: Mapping[str, Any], place: Place) -> bool:
    return bool(droplet["region"]["slug"] == place.region)


def _instance(
    droplet: Mapping[str, Any], own: Mapping[str, str], volumes: Mapping[str, Mapping[str, str]]
) -> CloudInstance:
    attached = [volumes[v][VOLUME] for v in droplet.get("volume_ids") or () if v in volumes]
    return CloudInstance(
        id=str(droplet["id"]),
        cluster_uid=own[tags.CLUSTER_UID],
        node=own[tags.NODE],
        generation=int(own[tags.GENERATION]),
        intent_id=own[tags.INTENT],
        zone=own[ZONE],
        state=state_of(droplet),
        address=_address(droplet, "private") or None,
        volumes=tuple(sorted([*attached, *own.get(EPHEMERAL_VOLUMES, "").split()])),
        cluster_name=own.get(tags.CLUSTER_NAME, ""),
        shape=own.get(SHAPE, ""),
        image=own.get(IMAGE, ""),
        ipv6=next((str(n["ip_address"]) for n in droplet["networks"].get("v6") or ()), ""),
        public_address=_address(droplet, "public"),
    )


def _address(droplet: Mapping[str, Any], kind: str) -> str:
    return next((str(n["ip_address"]) for n in droplet["networks"]["v4"] if n["type"] == kind), "")


def _volume(disk: Mapping[str, Any], own: Mapping[str, str], keys: Mapping[int, str]) -> CloudVolume:
    holders = disk.get("droplet_ids") or []
    return CloudVolume(
        key=own[VOLUME],
        cluster_uid=own[tags.CLUSTER_UID],
        zone=own.get(ZONE, ""),
        size_gib=int(disk["size_gigabytes"]),
        # On a VM that is not ours it is attached all the same: its id says so, and nobody takes it away.
        attached_to=keys.get(holders[0], str(holders[0])) if holders else None,
        id=str(disk["id"]),
    )
