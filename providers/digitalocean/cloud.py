"""DigitalOcean as a `CloudProvider`: Terraform makes and deletes, pydo reads, and one thing is deleted at a time."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from providers import errors, finding, lateness, quota, settingscloud, sightings, tags
from providers.base import InstanceState, Listing, Place, Resources
from providers.digitalocean import access, examination, inventory, settings
from providers.digitalocean.errors import is_not_found, recognise, translated
from providers.digitalocean.imports import imports_of
from providers.digitalocean.tags import tags_of
from providers.digitalocean.variables import module_variables
from providers.handover import Handover
from providers.networks import MadeNetworks, ipv6_word, none_made
from providers.settings_file import zones_of
from providers.tf.abilities import Import
from providers.tf.surroundings import surroundings

SETTLES_S = 60.0
"""Nothing says that DigitalOcean knows a Droplet everywhere as soon as it was made. So "no such Droplet" proves one
gone that we saw ourselves, and else only once we have known its id for this long."""

_ASKED_SINGLY = 20


@dataclass(slots=True)
class DigitaloceanCloud(settingscloud.SettingsCloud):
    """One installation's view of its teams at DigitalOcean, as `settings_file` describes them. Thread-safe."""

    installation_id: str
    settings_file: Path
    attempts: int = 3
    page: int = inventory.PAGE
    clock: Callable[[], float] = time.monotonic
    networks: MadeNetworks = none_made
    _settings: settings.DigitaloceanSettings = field(init=False)
    _access: access.DigitaloceanAccess = field(init=False, repr=False)
    _sightings: sightings.Sightings = field(init=False)

    def __post_init__(self) -> None:
        self._sightings = sightings.Sightings(SETTLES_S, self.clock)
        self._settings = settings.DigitaloceanSettings.read(self.settings_file).with_networks(self.networks)
        self._access = access.DigitaloceanAccess(self._settings, self.attempts, self.clock)

    @property
    def name(self) -> str:
        return "digitalocean"

    def handover(self) -> Handover:
        """A private address stays with its VM; reserved addresses are public."""
        return Handover.NONE

    def unlisted_s(self) -> float:
        """See `ListsLate`: names of Droplets may be there twice."""
        return lateness.UNLISTED_S

    def zones(self, region: str) -> tuple[str, ...]:
        """Labels of racks in that region in some account. They promise nothing: DigitalOcean has no zones."""
        return zones_of(self._settings, self.name, region, lambda told: told.racks)

    def list_place(self, place: Place) -> Listing:
        """One paged listing each of Droplets and volumes, for all clusters. A deleted Droplet is in none."""
        client = self._reach(place)
        listing = inventory.read_listing(client, place, installation_id=self.installation_id, page=self.page)
        self._sightings.saw(i.id for i in listing.instances)
        return listing

    def describe(self, place: Place, instances: Sequence[str]) -> Mapping[str, InstanceState]:
        """`GONE` is "no such Droplet" for that id by the right team: at once where we saw it, else after `SETTLES_S`.

        Ids are asked for one by one, at most 20 at a time; of more, those that the listing has are taken from it. What
        is left over is left out, as is what DigitalOcean could never answer for.
        """
        ids = sorted({i for i in instances if i.isdecimal()}, key=int)
        client = self._reach(place)
        states: dict[str, InstanceState] = {}
        if len(ids) > _ASKED_SINGLY:
            states = {i.id: i.state for i in self.list_place(place).instances if i.id in ids}
        nowhere: list[str] = []
        for one in [i for i in ids if i not in states][:_ASKED_SINGLY]:
            told = inventory.read_one(client, place, int(one))
            if told is not None:
                self._sightings.saw([one])
                states[one] = inventory.state_of(told)
            elif self._sightings.is_settled(one):
                nowhere.append(one)
        if nowhere:
            self._access.prove(place, afresh=True)
        return {**states, **dict.fromkeys(nowhere, InstanceState.GONE)}

    def terminate(self, place: Place, instance: str) -> None:
        """Delete a VM of this installation, not its volumes. Idempotent. Raises `ResourceConflict` for another's."""
        client = self._reach(place)
        if not instance.isdecimal():
            return
        found = inventory.read_one(client, place, int(instance))
        if found is None:
            return
        if not tags.owned_by(tags_of(found["tags"]), self.installation_id):
            raise errors.ResourceConflict(f"{place}: {instance} has not this installation's tag; it is not deleted")
        with translated(f"{place}: deleting {instance}"):
            answer = client.droplets.destroy(droplet_id=int(instance))
        if answer and not is_not_found(answer):
            raise errors.ResourceConflict(f"{place}: deleting {instance}: {answer}")

    def variables(self, resources: Resources) -> dict[str, object]:
        """Variables of `terraform/modules/digitalocean`. Raises `PlaceUnknown` for a node that is to own an address."""
        place = resources.place
        account, region = self._settings.account(place), self._settings.region(place)
        return module_variables(resources, account, region, software=self._settings.software)

    def has_ipv6(self, place: Place) -> bool:
        return self._settings.has_ipv6(place)

    def network_variables(self, place: Place) -> Mapping[str, str]:
        return ipv6_word(self.has_ipv6(place))

    def terraform_environment(self, place: Place) -> Mapping[str, str]:
        """The account's token, and the way out of this network; see `GivesEnvironment`.

        Whose the token is, is proved first: DigitalOcean's Terraform provider cannot be told whose it must be.
        """
        self._access.prove(place, afresh=True)
        given = {
            **surroundings(self._settings.plugins),
            "DIGITALOCEAN_TOKEN": self._access.token(place).get_secret_value(),
        }
        if self._settings.endpoint_url:
            given["DIGITALOCEAN_API_URL"] = str(self._settings.endpoint_url)
        return given

    def recognise(self, diagnostics: Sequence[str]) -> errors.ProviderError | None:
        return recognise(diagnostics)

    def examine(self, place: Place) -> Iterator[finding.Finding]:
        client = self._reach(place)
        return examination.examine_region(client, place, self._settings.region(place))

    def quotas(self, place: Place) -> tuple[quota.AccountQuota, ...]:
        client = self._reach(place)
        return examination.read_quotas(client, place)

    def console_page(self, place: Place, instance: str) -> str:
        is_droplet = instance.isascii() and instance.isdigit()
        return f"https://cloud.digitalocean.com/droplets/{instance}" if is_droplet else ""

    def imports(self, target: str, resources: Resources, listing: Listing) -> tuple[Import, ...] | None:
        return imports_of(target, resources, listing)

    def foreign_vms(self, place: Place) -> Mapping[str, int]:
        return tags.count_foreign(
            inventory.count_owners(self._reach(place), place, page=self.page), self.installation_id
        )

    def _reach(self, place: Place) -> Any:
        if place.cloud != self.name:
            raise errors.PlaceUnknown(f"{place} is not in DigitalOcean")
        return self._access.client(place)
