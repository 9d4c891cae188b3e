"""For which processors `software` of a cloud's settings has an agent, held to its images: for `kedge doctor`."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from providers.base import Place
from providers.catalog_file import catalog_file
from providers.made_from import EVERY
from providers.software import ARCHITECTURES, Software

FindingParts = tuple[bool | None, str, str]
"""Whether it is well, None where nobody can tell; in words; and what to do about it."""


def of_agents(cloud: str, settings: Mapping[str, Any], places: tuple[Place, ...]) -> FindingParts | None:
    """How it stands where VMs install their agent, None where images have it. `settings` was read by its cloud."""
    if not settings.get("software"):
        return None
    there = Software.model_validate(settings["software"]).agent_architectures()
    if not there:
        told = "`software.agent` is one archive, whose name does not say for which processor"
        return None, told, "name it as `kedge agent-bundle` does; VMs of another refuse it when they boot"
    lacking: dict[str, list[str]] = defaultdict(list)
    for place in places:
        for architecture in sorted(_imaged(settings, place) - set(there)):
            lacking[architecture].append(str(place))
    if lacking:
        told = "; ".join(f"none for {one}, of which there are images in {', '.join(w)}" for one, w in lacking.items())
        arch = "all" if len(lacking) > 1 else next(iter(lacking))
        what_next = f"`kedge agent-bundle --arch {arch}`, and name it in `software.agent` of {cloud}.yaml"
        return False, f"`software.agent` has one for {' and '.join(there)}, and {told}", what_next
    without = _sizes_without(cloud, there)
    more = f"; {', '.join(without)} are of other processors and have none" if without else ""
    return True, f"`software.agent` has one for {' and '.join(there)}{more}", ""


def _imaged(settings: Mapping[str, Any], place: Place) -> set[str]:
    """Architectures a region's images are told for; none where an image serves any."""
    regions = settings["accounts"][place.account].get("regions")
    told = (regions[place.region] or {}).get("images") if isinstance(regions, Mapping) else None
    by = [one for one in (told or {}).values() if isinstance(one, Mapping)]
    return {str(name) for one in by for name in one if name != EVERY and name in ARCHITECTURES.values()}


def _sizes_without(cloud: str, there: tuple[str, ...]) -> list[str]:
    sold = catalog_file(cloud)
    sizes = sold.raw["shapes"] if sold is not None else ()
    return [size for size in sizes if sold is not None and sold.machine(size).architecture not in there]
