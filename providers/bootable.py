"""Whether a machine could boot what its cloud's settings file has for it: said before anything is declared.

Where VMs fetch Kafka from a mirror, it has to have that version. A VM of one architecture boots no image, and runs no
agent, of another. Rendering refuses both too, amid a roll.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from providers.base import Place
from providers.catalogfile import sold_by
from providers.errors import PlaceUnknown
from providers.givenmachines import GivenMachine
from providers.madefrom import EVERY
from providers.settingsfile import CloudSettings
from providers.variables import ANY


@runtime_checkable
class TellsBootable(Protocol):
    """Knows what its settings file has for a machine."""

    def unbootable(
        self,
        place: Place,
        machine: str,
        kafka_version: str,
        revision: Mapping[str, str],
        given: Sequence[GivenMachine] = (),
    ) -> str:
        """Why no VM of that machine could serve there, "" where one could, or it cannot be told. `revision`: the
        images by architecture of the revision VMs are made from, none where the settings' own serve. `given`: types the
        spec gives figures of."""
        ...


def unbootable(
    settings: CloudSettings[Any],
    place: Place,
    machine: str,
    kafka_version: str,
    revision: Mapping[str, str],
    given: Sequence[GivenMachine] = (),
) -> str:
    """See `TellsBootable.unbootable`. A place or a machine that is unknown is told by others."""
    try:
        kind, told = sold_by(place.cloud, given).machine(machine), settings.told_images(place)
    except PlaceUnknown:
        return ""
    images = revision or told.get(kafka_version, told.get(ANY))
    for_which = _architectures(images)
    if for_which is not None and kind.architecture not in for_which:
        there = ", ".join(sorted(for_which)) or "none"
        whose = "its revision has images" if revision else f"{place.cloud}.yaml has images of Kafka {kafka_version}"
        return f"machine {machine!r} is {kind.architecture}, and in {place} {whose} for {there} alone"
    software = settings.software
    if software is not None and not revision and kafka_version not in software.kafka:
        there = ", ".join(sorted(software.kafka)) or "none"
        return f"`software.kafka` of {place.cloud}.yaml has no Kafka {kafka_version} for its VMs; it has {there}"
    if software is not None and software.agent_for(kind.architecture) is None:
        there = " and ".join(software.agent_architectures())
        whose = f"`software.agent` of {place.cloud}.yaml"
        how = f"`kedge agent-bundle --arch {kind.architecture}` writes one for it"
        return f"machine {machine!r} is {kind.architecture}, and {whose} is for {there}; {how}"
    return ""


def _architectures(images: object) -> frozenset[str] | None:
    """Of those an image is for; None where any machine boots them, or none is told of."""
    if not isinstance(images, Mapping) or not images or EVERY in images:
        return None
    return frozenset(map(str, images))
