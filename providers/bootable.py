"""Whether a machine could boot what its cloud's settings file has for it: said before anything is declared.

Where VMs fetch Kafka from a mirror, it has to have that version. A VM of one architecture boots no image, and runs no
agent, of another. Rendering refuses both too, amid a roll.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from providers import base, catalog_file, errors, given_machines, made_from, settings_file, variables
from providers.software import Software


@dataclass(frozen=True, slots=True)
class NextVm:
    """A VM that would be made. `images`: those by architecture of the revision it is made from, none where those of the
    settings serve. `given`: types the spec gives figures of. `own_build`: the spec names the archive of Kafka."""

    machine: str
    kafka_version: str
    images: Mapping[str, str] = field(default_factory=dict)
    given: Sequence[given_machines.GivenMachine] = ()
    own_build: bool = False


@runtime_checkable
class TellsBootable(Protocol):
    """Knows what its settings file has for a machine."""

    def unbootable(self, place: base.Place, vm: NextVm) -> str:
        """Why no such VM could serve there, "" where one could, or it cannot be told."""


def unbootable(settings: settings_file.CloudSettings[Any], place: base.Place, vm: NextVm) -> str:
    """See `TellsBootable.unbootable`. A place or a machine that is unknown is told by others."""
    try:
        kind, told = catalog_file.sold_by(place.cloud, vm.given).machine(vm.machine), settings.configured_images(place)
    except errors.PlaceUnknown:
        return ""
    images = vm.images or told.get(vm.kafka_version, told.get(variables.ANY))
    for_which = _architectures(images)
    if for_which is not None and kind.architecture not in for_which:
        there = ", ".join(sorted(for_which)) or "none"
        has = f"{place.cloud}.yaml has images of Kafka {vm.kafka_version}"
        whose = "its revision has images" if vm.images else has
        return f"machine {vm.machine!r} is {kind.architecture}, and in {place} {whose} for {there} alone"
    return _not_fetched(settings.software, place, vm, kind.architecture)


def _not_fetched(software: Software | None, place: base.Place, vm: NextVm, architecture: str) -> str:
    if software is None:
        needs = "so the build of Kafka that the spec names reaches no VM (docs/boot.md)"
        return f"VMs there fetch nothing: {place.cloud}.yaml has no `software`, {needs}" if vm.own_build else ""
    if not vm.images and not vm.own_build and vm.kafka_version not in software.kafka:
        there = ", ".join(sorted(software.kafka)) or "none"
        return f"`software.kafka` of {place.cloud}.yaml has no Kafka {vm.kafka_version} for its VMs; it has {there}"
    if software.agent_for(architecture) is None:
        there = " and ".join(software.agent_architectures())
        whose = f"`software.agent` of {place.cloud}.yaml"
        how = f"`kedge agent-bundle --arch {architecture}` writes one for it"
        return f"machine {vm.machine!r} is {architecture}, and {whose} is for {there}; {how}"
    return ""


def _architectures(images: object) -> frozenset[str] | None:
    """Of those an image is for; None where any machine boots them, or none is told of."""
    if not isinstance(images, Mapping) or not images or made_from.EVERY in images:
        return None
    return frozenset(map(str, images))
