"""Hetzner Cloud as a `CloudProvider`: Terraform makes and deletes, hcloud reads, and one thing is deleted at a time."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path

from hcloud import APIException, Client

from providers import errors, finding, settingscloud, tags
from providers.base import InstanceState, Listing, Place, Resources
from providers.handover import Handover
from providers.hetzner import access, inventory, placement, settings
from providers.hetzner.errors import is_not_found, recognise, translated
from providers.hetzner.examination import examine_region, look_ahead
from providers.hetzner.imports import imports_of
from providers.hetzner.network_pieces import network_pieces
from providers.hetzner.tags import tags_of
from providers.hetzner.variables import module_variables
from providers.networks import MadeNetworks, NetworkRun, none_made
from providers.settings_file import zones_of
from providers.tf.abilities import Import
from providers.tf.surroundings import surroundings

_ID = re.compile(r"^[1-9]\d{0,18}$")

_ASKED_SINGLY = 20
"""Hetzner has no call for the states of several servers. What is over it is left out, and asked for the next time."""


@dataclass(slots=True)
class HetznerCloud(settingscloud.SettingsCloud):
    """One installation's view of its projects at Hetzner, as `settings_file` describes them. Thread-safe."""

    installation_id: str
    settings_file: Path
    attempts: int = 3
    page: int = inventory.PAGE
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    networks: MadeNetworks = none_made
    _settings: settings.HetznerSettings = field(init=False)
    _access: access.HetznerAccess = field(init=False)
    _limits: dict[Place, inventory.PlaceLimits] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._settings = settings.HetznerSettings.read(self.settings_file).with_networks(self.networks)
        self._access = access.HetznerAccess(self._settings, self.attempts, self.clock, self.sleep)

    @property
    def name(self) -> str:
        return "hetzner"

    def zones(self, region: str) -> tuple[str, ...]:
        """Zones of a region that have a subnet in some account."""
        return zones_of(self._settings, self.name, region, lambda told: told.subnets)

    def handover(self) -> Handover:
        """A VM leaves the node network, the next one enters it with the same address; neither is stopped for it."""
        return Handover.REBIND

    def list_place(self, place: Place) -> Listing:
        """One paged listing each of servers and volumes, for all clusters. Deleted servers are not in it."""
        client, region = self._reach(place)
        listing, limits = inventory.read_listing(
            client, place, region, installation_id=self.installation_id, page=self.page
        )
        self._limits[place] = limits
        return listing

    def describe(self, place: Place, instances: Sequence[str]) -> Mapping[str, InstanceState]:
        """`GONE` is Hetzner's own "not found" for that id, by a token that is of the place's project then as well.

        Ids are never given twice. What no Hetzner could ever answer for is left out.
        """
        client, _ = self._reach(place)
        asked = sorted({i for i in instances if _ID.match(i)}, key=int)[:_ASKED_SINGLY]
        states = inventory.read_states(client, place, asked)
        if None in states.values():
            self._access.prove(place, afresh=True)
        return {one: state or InstanceState.GONE for one, state in states.items()}

    def terminate(self, place: Place, instance: str) -> None:
        """Delete a server of this installation. Idempotent. Raises `ResourceConflict` for anybody else's."""
        client, _ = self._reach(place)
        if not _ID.match(instance):
            return
        found = inventory.find(client, place, instance)
        if found is None:
            return
        if not tags.owned_by(tags_of(found["labels"]), self.installation_id):
            raise errors.ResourceConflict(f"{place}: {instance} has not this installation's label; it is not deleted")
        with translated(f"{place}: deleting server {instance}"):
            try:
                client.request(method="DELETE", url=f"/servers/{instance}")
            except APIException as error:
                if not is_not_found(error):
                    raise

    def variables(self, resources: Resources) -> dict[str, object]:
        """Variables of `terraform/modules/hetzner`. Where something is to be placed, a listing was read before."""
        place = resources.place
        region = self._settings.region(place)
        placed = resources.addresses or (resources.instances and region.placement_groups)
        if placed and place not in self._limits:
            self.list_place(place)
        limits = self._limits.get(place, inventory.PlaceLimits())
        if placed and placement.is_placed_anew(resources, region.placement_groups, limits):
            client = self._access.client(place)
            limits = inventory.beside_foreign_vms(client, place, region, limits, installation_id=self.installation_id)
        impatient = self._settings.endpoint_url is not None
        keys = self._settings.account(resources.place).ssh_keys
        return module_variables(
            resources, region, limits, software=self._settings.software, ssh_keys=keys, impatient=impatient
        )

    def packet_filter(self, place: Place, others: Sequence[str] = (), servers: Sequence[str] = ()) -> str:
        return self._settings.region(place).packet_filter(others, servers)

    def has_ipv6(self, place: Place) -> bool:
        """See `TellsIpv6`. A server has it beside its networks, whatever they were made with."""
        return self._settings.says_ipv6(place)

    def network_variables(self, place: Place) -> Mapping[str, str]:
        if self._settings.endpoint_url is None:
            return {}
        return {"poll_interval": "50ms", "poll_function": "constant"}  # a stand-in does not mind

    def network_pieces(self, run: NetworkRun) -> Mapping[str, str]:
        return network_pieces(self._access.client(run.place), run)

    def terraform_environment(self, place: Place) -> Mapping[str, str]:
        """The token of the account, and the way out of this network; see `GivesEnvironment`."""
        given = {
            **surroundings(self._settings.plugins),
            **self._access.environment(place),
        }
        if self._settings.endpoint_url:
            given["HCLOUD_ENDPOINT"] = str(self._settings.endpoint_url).rstrip("/")
        return given

    def recognise(self, diagnostics: Sequence[str]) -> errors.ProviderError | None:
        return recognise(diagnostics)

    def examine(self, place: Place) -> Iterator[finding.Finding]:
        client, region = self._reach(place)
        return examine_region(client, place, region)

    def look_ahead(self, wanted: Resources, new: Set[str]) -> Iterator[finding.Finding]:
        client, region = self._reach(wanted.place)
        return look_ahead(client, wanted, new, region)

    def console_page(self, place: Place, instance: str) -> str:
        """See `HasConsolePages`. No token tells the number of its project, so the settings do."""
        project = self._settings.account(place).console_project
        where = f"https://console.hetzner.cloud/projects/{project}/servers/{instance}/overview"
        return where if project and _ID.match(instance) else ""

    def imports(self, target: str, resources: Resources, listing: Listing) -> tuple[Import, ...] | None:
        return imports_of(target, resources, listing)

    def foreign_vms(self, place: Place) -> Mapping[str, int]:
        client, _ = self._reach(place)
        return tags.count_foreign(inventory.count_owners(client, place), self.installation_id)

    def _reach(self, place: Place) -> tuple[Client, settings.HetznerRegion]:
        if place.cloud != self.name:
            raise errors.PlaceUnknown(f"{place} is not at Hetzner")
        return self._access.client(place), self._settings.region(place)
