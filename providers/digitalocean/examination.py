"""What `kedge doctor` asks DigitalOcean: region, VPC, images, sizes, limits. Nothing is changed."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from providers.base import Place
from providers.catalog_file import sold_by
from providers.digitalocean.errors import is_not_found, translated
from providers.digitalocean.settings import DigitaloceanRegion
from providers.errors import CloudUnavailable, NotFound
from providers.finding import Finding, looked_at
from providers.quota import AccountQuota, Unit, findings

_CORRECT = "Correct digitalocean.yaml."
_ELSEWHERE = "Choose another region, or ask DigitalOcean for these sizes."
_TOKEN = "A token needs the scopes of docs/clouds/digitalocean.md."  # noqa: S105  # about one

_Look = Callable[[], tuple[bool | None, str]]


def examine_region(client: Any, place: Place, region: DigitaloceanRegion) -> Iterator[Finding]:
    """A finding for the token, for what digitalocean.yaml names in the region, and for each limit."""
    yield Finding(f"{place}: permissions", None, "DigitalOcean tells no token its scopes; it may read here", _TOKEN)
    yield looked_at(f"{place}: region", _region(client, place), _ELSEWHERE)
    yield looked_at(f"{place}: VPC", _vpc(client, place, region.vpc), _CORRECT)
    yield Finding(f"{place}: addresses", None, "DigitalOcean does not tell how many of a VPC's addresses are free")
    if not region.images:
        yield Finding(
            f"{place}: images", False, "digitalocean.yaml names none", "Name one for each Kafka version in use."
        )
    for version, image in sorted(region.images.items()):
        yield looked_at(f"{place}: image of {version}", _image(client, place, image), _CORRECT)
    yield from findings(place, read_quotas(client, place), sold_by("digitalocean"))


def read_quotas(client: Any, place: Place) -> tuple[AccountQuota, ...]:
    """Limits of the team, all regions together: Droplets and volumes; three calls. Raises `ProviderError`."""
    with translated(f"{place}: limits"):
        account = client.account.get()["account"]
        droplets = int(client.droplets.list(per_page=1, page=1)["meta"]["total"])
        volumes = int(client.volumes.list(per_page=1, page=1)["meta"]["total"])
    found = [AccountQuota("droplet_limit", Unit.VMS, float(account["droplet_limit"]), droplets)]
    if "volume_limit" in account:
        found.append(AccountQuota("volume_limit", Unit.VOLUMES, float(account["volume_limit"]), volumes))
    return tuple(found)


def _region(client: Any, place: Place) -> _Look:
    def look() -> tuple[bool | None, str]:
        with translated(f"{place}: regions"):
            told = client.regions.list(per_page=200, page=1)["regions"]
        here = next((r for r in told if r["slug"] == place.region), None)
        if here is None:
            raise NotFound(f"{place}: DigitalOcean has no region {place.region}")
        sizes = sold_by("digitalocean").raw["shapes"]
        missing = sorted(set(sizes.values()) - set(here["sizes"]))
        if not here["available"] or missing:
            why = f"it has no {', '.join(missing)}" if missing else "no new Droplets are made there"
            return False, f"{place.region}: {why}"
        return True, ", ".join(f"{size} {own}" for size, own in sizes.items())

    return look


def _vpc(client: Any, place: Place, vpc: str) -> _Look:
    def look() -> tuple[bool | None, str]:
        told = _one(client.vpcs.get, place, f"VPC {vpc}", "vpc", vpc_id=vpc)
        return told.get("region") == place.region, f"{told.get('ip_range')} in {told.get('region')}"

    return look


def _image(client: Any, place: Place, image: int) -> _Look:
    def look() -> tuple[bool | None, str]:
        told = _one(client.images.get, place, f"image {image}", "image", image_id=image)
        here, status = place.region in (told.get("regions") or ()), told.get("status")
        return here and status == "available", f"{image} is {status} in {', '.join(told.get('regions') or ())}"

    return look


def _one(call: Callable[..., Any], place: Place, what: str, part: str, **asked: object) -> Mapping[str, Any]:
    with translated(f"{place}: {what}"):
        answer = call(**asked)
    if is_not_found(answer):
        raise NotFound(f"{place}: there is no {what}")
    if not isinstance(answer, dict) or not isinstance(answer.get(part), dict):
        raise CloudUnavailable(f"{place}: DigitalOcean's answer about {what} is about something else")
    found: Mapping[str, Any] = answer[part]
    return found
