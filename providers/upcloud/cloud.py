"""UpCloud as a `CloudProvider`: Terraform makes and deletes, upcloud-api reads, and one thing is deleted at a time."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from providers import errors, finding, lateness, quota, settingscloud, sightings, tags
from providers.base import InstanceState, Listing, Place, Resources
from providers.handover import Handover
from providers.networks import MadeNetworks, none_made
from providers.settings_file import zones_of
from providers.tf.abilities import Import
from providers.tf.surroundings import surroundings
from providers.upcloud import access, calls, examination, inventory, removal, settings
from providers.upcloud.errors import recognise
from providers.upcloud.imports import imports_of
from providers.upcloud.tags import labels_of
from providers.upcloud.variables import Owner, addresses_in_use, module_variables, node_addresses

SETTLES_S = 300.0
"""That there is no server by an id proves it gone if we have seen the server before; of an id nobody has seen, only
once we have known of it for this long: it may be of a server that is just being made."""

_ID = re.compile(r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_ASKED_SINGLY = 20
"""A call for each: the rest of a longer question stays unanswered, and comes first when it is asked again."""


@dataclass(slots=True)
class UpcloudCloud(settingscloud.SettingsCloud):
    """One installation's view of its UpCloud accounts, as `settings_file` describes them. Thread-safe."""

    installation_id: str
    settings_file: Path
    attempts: int = 3
    page: int = inventory.PAGE
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    networks: MadeNetworks = none_made
    _settings: settings.UpcloudSettings = field(init=False)
    _access: access.UpcloudAccess = field(init=False)
    _sightings: sightings.Sightings = field(init=False)
    _asked: dict[str, int] = field(default_factory=dict)
    _in_use: dict[Place, dict[str, Owner | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._sightings = sightings.Sightings(SETTLES_S, self.clock)
        self._settings = settings.UpcloudSettings.read(self.settings_file).with_networks(self.networks)
        self._access = access.UpcloudAccess(self._settings, calls.Pauses(self.attempts, self.sleep), self.clock)

    @property
    def name(self) -> str:
        return "upcloud"

    def unlisted_s(self) -> float:
        """See `ListsLate`: titles of servers may be there twice."""
        return lateness.UNLISTED_S

    def zones(self, region: str) -> tuple[str, ...]:
        """Racks of a region in some account. They are labels: UpCloud has nothing below its own zone."""
        return zones_of(self._settings, self.name, region, lambda told: told.zones)

    def handover(self) -> Handover:
        """Disks and private addresses are given to a server when it is made: the old one goes first."""
        return Handover.DELETE_FIRST

    def list_place(self, place: Place) -> Listing:
        """One paged listing each of servers and storages, and the account's addresses, for all clusters."""
        listing = inventory.read_listing(
            self._reach(place), place, installation_id=self.installation_id, page=self.page
        )
        self._sightings.saw(instance.id for instance in listing.instances)
        self._in_use[place] = addresses_in_use(listing)
        return listing

    def describe(self, place: Place, instances: Sequence[str]) -> Mapping[str, InstanceState]:
        """`GONE` is "no such server" for an id we have seen, or have known for `SETTLES_S`, by the right account.

        What UpCloud does not answer for by id is left out, as is what no UpCloud could ever answer for.
        """
        ids = self._next_in_turn({i for i in instances if _ID.match(i)})
        states, nowhere = inventory.read_states(self._reach(place), place, ids)
        self._sightings.saw(states)
        gone = [i for i in nowhere if self._sightings.is_settled(i)]
        if gone:
            self._access.prove(place, afresh=True)
        return {**states, **dict.fromkeys(gone, InstanceState.GONE)}

    def terminate(self, place: Place, instance: str) -> None:
        """Delete a VM of this installation with its root disk, and nothing else. Idempotent.

        Raises `ResourceConflict` for anybody else's, `NotYetGone` while it stops.
        """
        api = self._reach(place)
        if not _ID.match(instance):
            return
        server = inventory.read_server(api, place, instance)
        if server is None:
            return
        if not tags.owned_by(labels_of(server), self.installation_id):
            raise errors.ResourceConflict(f"{place}: {instance} has not this installation's label; it is not deleted")
        self._sightings.saw([instance])
        removal.remove_server(api, place, server, sleep=self.sleep)

    def variables(self, resources: Resources) -> dict[str, object]:
        """Variables of `terraform/modules/upcloud`. Where an address is to be chosen, past those anybody has.

        Raises what `list_place` does, if there was none yet.
        """
        region, others = self._settings.region(resources.place), self._others_addresses(resources)
        keys = self._settings.account(resources.place).ssh_keys
        return module_variables(resources, region, others, software=self._settings.software, ssh_keys=keys)

    def packet_filter(self, place: Place, others: Sequence[str] = (), servers: Sequence[str] = ()) -> str:
        return self._settings.region(place).packet_filter(others, servers)

    def network_variables(self, place: Place) -> Mapping[str, str]:
        return {}

    def terraform_environment(self, place: Place) -> Mapping[str, str]:
        """Credentials of the account profile, proved, and the way out of this network; see `GivesEnvironment`.

        The Terraform provider has no way to name the account it may act on, so the proof is made here, afresh.
        """
        self._access.prove(place, afresh=True)
        given = {
            **surroundings(self._settings.plugins),
            **self._access.environment(place),
        }
        if self._settings.endpoint_url:
            given["UPCLOUD_DEBUG_API_BASE_URL"] = str(self._settings.endpoint_url).rstrip("/")
        return given

    def recognise(self, diagnostics: Sequence[str]) -> errors.ProviderError | None:
        return recognise(diagnostics)

    def examine(self, place: Place) -> Iterator[finding.Finding]:
        api = self._reach(place)
        return examination.examine_region(api, place, self._settings.region(place))

    def quotas(self, place: Place) -> tuple[quota.AccountQuota, ...]:
        api = self._reach(place)
        return examination.read_quotas(api, place)

    def console_page(self, place: Place, instance: str) -> str:
        """See `HasConsolePages`: the list of servers. UpCloud tells nobody the address of one server's page."""
        return "https://hub.upcloud.com/server" if _ID.match(instance) else ""

    def imports(self, target: str, resources: Resources, listing: Listing) -> tuple[Import, ...] | None:
        region = self._settings.region(resources.place)
        chosen = node_addresses(resources, region, self._others_addresses(resources))
        return imports_of(target, resources, listing, rendered_addresses=chosen)

    def foreign_vms(self, place: Place) -> Mapping[str, int]:
        return tags.count_foreign(inventory.count_owners(self._reach(place), place), self.installation_id)

    def _next_in_turn(self, ids: set[str]) -> list[str]:
        """Those nobody asked about for longest, so that each gets its answer however many are asked about."""
        chosen = sorted(ids, key=lambda i: (self._asked.get(i, 0), i))[:_ASKED_SINGLY]
        turn = 1 + max(self._asked.values(), default=0)
        self._asked.update(dict.fromkeys(chosen, turn))
        return chosen

    def _others_addresses(self, resources: Resources) -> Mapping[str, Owner | None]:
        if all(a.address is not None for a in resources.addresses):
            return {}
        if resources.place not in self._in_use:
            self.list_place(resources.place)
        known = self._in_use[resources.place]
        if {(resources.cluster_uid, a.node) for a in resources.addresses if a.address is None} <= {*known.values()}:
            return known
        return dict.fromkeys(inventory.read_taken(self._reach(resources.place), resources.place)) | known

    def _reach(self, place: Place) -> calls.Calls:
        if place.cloud != self.name:
            raise errors.PlaceUnknown(f"{place} is not in UpCloud")
        return self._access.api(place)
