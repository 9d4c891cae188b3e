"""Google Cloud as a `CloudProvider`: Terraform makes and deletes, the SDK reads, and one thing is deleted at a time."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from google.api_core.exceptions import GoogleAPICallError

from providers import errors, finding, preflight, quota, settingscloud, sightings, tags
from providers.base import InstanceState, Listing, Place, Resources
from providers.console import LAST_BYTES, tail
from providers.google import access, examination, inventory, permissions, settings
from providers.google.errors import recognise, translated
from providers.google.imports import imports_of
from providers.google.notices import read_notices
from providers.google.tags import decoded
from providers.google.variables import module_variables
from providers.handover import Handover
from providers.networks import MadeNetworks, ipv6_word, none_made
from providers.notices import MaintenanceNotice
from providers.settings_file import zones_of
from providers.tf.abilities import Import
from providers.tf.surroundings import surroundings

SETTLES_S = 300.0
"""An id this server never saw alive proves nothing by not being found at once: it has to stay so for that long."""

_ID = re.compile(
    r"^(?P<zone>[a-z][a-z0-9]*(?:-[a-z0-9]+)+)/(?P<name>[a-z][a-z0-9-]{0,62})/(?P<number>[1-9][0-9]{0,19})$"
)

_ASKED_SINGLY = 20


@dataclass(slots=True)
class GoogleCloud(settingscloud.SettingsCloud):
    """One installation's view of its projects, as `settings_file` describes them. Thread-safe.

    The id of an instance is `<zone>/<name>/<number>`.
    """

    installation_id: str
    settings_file: Path
    attempts: int = 3
    page: int = inventory.PAGE
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    networks: MadeNetworks = none_made
    _settings: settings.GoogleSettings = field(init=False)
    _access: access.GoogleAccess = field(init=False)
    _sightings: sightings.Sightings = field(init=False)

    def __post_init__(self) -> None:
        self._sightings = sightings.Sightings(SETTLES_S, self.clock)
        self._settings = settings.GoogleSettings.read(self.settings_file).with_networks(self.networks)
        self._access = access.GoogleAccess(self._settings, self.attempts, self.clock, self.sleep)

    @property
    def name(self) -> str:
        return "google"

    def handover(self) -> Handover:
        """See `DeclaresHandover`: an address of a VM's first interface is there from its birth to its end."""
        return Handover.DELETE_FIRST

    def zones(self, region: str) -> tuple[str, ...]:
        """Zones of a region that have a subnetwork in some account."""
        return zones_of(self._settings, self.name, region, lambda told: told.subnetworks)

    def list_place(self, place: Place) -> Listing:
        """One paged listing each of VMs, disks and addresses, for all clusters. A deleted VM is not in it."""
        self._reach(place)
        listing = inventory.read_listing(self._access, place, installation_id=self.installation_id, page=self.page)
        self._sightings.saw(i.id for i in listing.instances)
        return listing

    def describe(self, place: Place, instances: Sequence[str]) -> Mapping[str, InstanceState]:
        """`GONE` is "no such VM" by name, or another number under that name, said by the right project.

        An id this server never saw alive has to be missing for `SETTLES_S`. What Google does not answer for by name is
        left out, as is what could never be an id. Many ids cost one listing, and then a call for each it has not.
        """
        ids = sorted({i for i in instances if _ID.match(i)})
        self._reach(place)
        states: dict[str, InstanceState] = {}
        if len(ids) > _ASKED_SINGLY:
            states = {i.id: i.state for i in self.list_place(place).instances if i.id in set(ids)}
        missing = []
        for one in [i for i in ids if i not in states][:_ASKED_SINGLY]:
            state = self._state(place, one)
            if state is not None:
                states[one] = state
            elif self._sightings.is_settled(one):
                missing.append(one)
        if missing:
            self._access.prove(place, afresh=True)
        return {**states, **dict.fromkeys(missing, InstanceState.GONE)}

    def terminate(self, place: Place, instance: str) -> None:
        """Delete a VM of this installation. Idempotent. Raises `ResourceConflict` for anybody else's."""
        found = _ID.match(instance)
        self._reach(place)
        if found is None:
            return
        machine = inventory.read_machine(self._access, place, found["zone"], found["name"])
        if machine is None or inventory.id_of(machine) != instance:
            return
        if not tags.owned_by(decoded(machine.labels), self.installation_id):
            raise errors.ResourceConflict(f"{place}: {instance} has not this installation's label; it is not deleted")
        request = {
            "project": self._settings.account(place).project,
            "zone": found["zone"],
            "instance": found["name"],
        }
        with translated(f"{place}: deleting {instance}"):
            try:
                self._access.client(place, "Instances").delete_unary(request=request, **self._access.how(place))
            except GoogleAPICallError as error:
                if error.code != 404:
                    raise

    def variables(self, resources: Resources) -> dict[str, object]:
        """Variables of `terraform/modules/google`."""
        place = resources.place
        account, region = self._settings.account(place), self._settings.region(place)
        return module_variables(resources, account, region, software=self._settings.software)

    def has_ipv6(self, place: Place) -> bool:
        return self._settings.has_ipv6(place)

    def network_variables(self, place: Place) -> Mapping[str, str]:
        return {"project": self._settings.account(place).project, **ipv6_word(self.has_ipv6(place))}

    def terraform_environment(self, place: Place) -> Mapping[str, str]:
        """A token of the account's credentials, and the way out of this network; see `GivesEnvironment`."""
        given = {
            **surroundings(self._settings.plugins),
            **self._access.environment(place),
        }
        if self._settings.endpoint_url:
            given["GOOGLE_COMPUTE_CUSTOM_ENDPOINT"] = f"{str(self._settings.endpoint_url).rstrip('/')}/compute/v1/"
        return given

    def recognise(self, diagnostics: Sequence[str]) -> errors.ProviderError | None:
        return recognise(diagnostics)

    def examine(self, place: Place) -> Iterator[finding.Finding]:
        self._reach(place)
        return examination.examine_region(self._access, place)

    def quotas(self, place: Place) -> tuple[quota.AccountQuota, ...]:
        self._reach(place)
        return examination.read_quotas(self._access, place)

    def look_ahead(self, wanted: Resources, new: Set[str]) -> Iterator[finding.Finding]:
        """See `PreflightCheck`. Google tells nobody how many addresses of a subnetwork are free."""
        place, making = wanted.place, permissions.needed_to_make()
        self._reach(place)
        return preflight.of_permissions(place, lambda: set(making) - self._access.permissions(place, making))

    def notices(self, place: Place) -> Mapping[str, MaintenanceNotice]:
        self._reach(place)
        return read_notices(self._access, place, installation_id=self.installation_id)

    def console(self, place: Place, instance: str) -> str:
        """See `TellsConsole`: the first serial port. A negative start is "so many of the most recent bytes"."""
        self._reach(place)
        found = _ID.match(instance)
        if found is None:
            return ""
        project = self._settings.account(place).project
        request = {"project": project, "zone": found["zone"], "instance": found["name"], "start": -LAST_BYTES}
        with translated(f"{place}: console of {instance}"):
            told = self._access.client(place, "Instances").get_serial_port_output(
                request=request, **self._access.how(place)
            )
        return tail(str(told.contents))

    def console_page(self, place: Place, instance: str) -> str:
        """See `HasConsolePages`: by name, not by number; a VM of the same name that came later is another one."""
        found, project = _ID.match(instance), self._settings.account(place).project
        where = "https://console.cloud.google.com/compute/instancesDetail/zones"
        return f"{where}/{found['zone']}/instances/{found['name']}?project={quote(project)}" if found else ""

    def imports(self, target: str, resources: Resources, listing: Listing) -> tuple[Import, ...] | None:
        return imports_of(target, resources, listing, self._settings.account(resources.place).project)

    def foreign_vms(self, place: Place) -> Mapping[str, int]:
        self._reach(place)
        return tags.count_foreign(inventory.count_owners(self._access, place), self.installation_id)

    def _state(self, place: Place, instance: str) -> InstanceState | None:
        """None when Google says that there is no such VM."""
        told = _ID.match(instance)
        if told is None:
            return None
        machine = inventory.read_machine(self._access, place, told["zone"], told["name"])
        if machine is None or inventory.id_of(machine) != instance:
            return None
        self._sightings.saw([instance])
        return inventory.state_of(machine)

    def _reach(self, place: Place) -> None:
        """Raises `PlaceUnknown`, and `AuthFailed` for another project."""
        if place.cloud != self.name:
            raise errors.PlaceUnknown(f"{place} is not in Google Cloud")
        self._settings.leaves_network(place)  # refuses a place nobody told of
        self._access.prove(place)
