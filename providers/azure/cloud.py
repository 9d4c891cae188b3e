"""Azure as a `CloudProvider`: Terraform makes and deletes, the SDK reads, and one thing is terminated at a time."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from azure.core.exceptions import HttpResponseError

from agent.host_port import HostPort
from providers import errors, finding, quota, settingscloud, sightings, tags
from providers.azure import access, examination, inventory, settings
from providers.azure.console import read_console
from providers.azure.errors import is_not_there, recognise, translated
from providers.azure.ids import canonical, machine_of
from providers.azure.imports import imports_of
from providers.azure.lookahead import look_ahead
from providers.azure.notices import read_notices
from providers.azure.tags import tags_of
from providers.azure.variables import module_variables
from providers.base import InstanceState, Listing, Place, Resources
from providers.handover import Handover
from providers.networks import MadeNetworks, ipv6_word, none_made
from providers.notices import MaintenanceNotice
from providers.settings_file import zones_of
from providers.tf.abilities import Import
from providers.tf.surroundings import surroundings

SETTLES_S = 300.0
"""Resource Manager is eventually consistent between its regions: for a while after it was made a VM may be "not found".
So that answer proves one gone only if it was seen before, or once its id has been known to us for this long."""

_ASKED_SINGLY = 20
"""Azure has no call for a list of ids: few are asked for one by one, more by the listings of the subscription."""


@dataclass(slots=True)
class AzureCloud(settingscloud.SettingsCloud):
    """One installation's view of its subscriptions, as `settings_file` describes them. Thread-safe."""

    installation_id: str
    settings_file: Path
    attempts: int = 3
    clock: Callable[[], float] = time.monotonic
    networks: MadeNetworks = none_made
    _settings: settings.AzureSettings = field(init=False)
    _access: access.AzureAccess = field(init=False)
    _sightings: sightings.Sightings = field(init=False)

    def __post_init__(self) -> None:
        self._sightings = sightings.Sightings(SETTLES_S, self.clock)
        self._settings = settings.AzureSettings.read(self.settings_file).with_networks(self.networks)
        self._access = access.AzureAccess(self._settings, self.attempts, self.clock)

    @property
    def name(self) -> str:
        return "azure"

    def handover(self) -> Handover:
        """See `DeclaresHandover`: a network interface goes on a VM when that is made, or while it is deallocated."""
        return Handover.DELETE_FIRST

    def zones(self, region: str) -> tuple[str, ...]:
        """Zones of a region in some account's settings; names mean what that account's names mean."""
        return zones_of(self._settings, self.name, region, lambda told: told.zones)

    def list_place(self, place: Place) -> Listing:
        """One paged listing each of VMs, their states, disks and network interfaces, for all clusters."""
        clients, account_id = self._reach(place)
        listing = inventory.read_listing(clients, place, installation_id=self.installation_id, account_id=account_id)
        self._sightings.saw(i.id for i in listing.instances)
        return listing

    def describe(self, place: Place, instances: Sequence[str]) -> Mapping[str, InstanceState]:
        """`GONE` is "not found" for that id, of a VM that was seen or had `SETTLES_S` to settle, by the right account.

        What Azure does not answer for by id is left out, as is what no Azure could ever answer for.
        """
        clients, account_id = self._reach(place)
        spelled = {canonical(i): i for i in instances if machine_of(i, account_id) is not None}
        states: dict[str, InstanceState] = {}
        if len(spelled) > _ASKED_SINGLY:
            listed = inventory.read_states(clients, place, account_id=account_id)
            states = {i: state for i, state in listed.items() if i in spelled}
        nowhere = []
        for arm_id in sorted(spelled.keys() - states.keys())[:_ASKED_SINGLY]:
            machine = self._machine(clients, place, arm_id)
            if machine is not None:
                states[arm_id] = inventory.state_of(machine, machine["properties"].get("instanceView") or {})
            elif self._sightings.is_settled(arm_id):
                nowhere.append(arm_id)
        self._sightings.saw(states)
        if nowhere:
            self._access.prove(place, afresh=True)
        return {spelled[i]: state for i, state in {**states, **dict.fromkeys(nowhere, InstanceState.GONE)}.items()}

    def terminate(self, place: Place, instance: str) -> None:
        """Delete a VM of this installation. Idempotent. Raises `ResourceConflict` for anybody else's.

        Its network interface stays, which is Terraform's to delete, and so does the disk of its operating system: with
        the VM gone, Terraform does not know of that any more, and a person deletes it.
        """
        clients, account_id = self._reach(place)
        parts = machine_of(instance, account_id)
        machine = self._machine(clients, place, canonical(instance)) if parts else None
        if parts is None or machine is None:
            return
        if not tags.owned_by(tags_of(machine), self.installation_id):
            raise errors.ResourceConflict(f"{place}: {instance} has not this installation's tag; it is not terminated")
        self._sightings.saw([canonical(instance)])
        if str(machine["properties"].get("provisioningState")).lower() == "deleting":
            return
        with translated(f"{place}: terminating {instance}"):
            clients.compute.virtual_machines.begin_delete(*parts, polling=False)

    def variables(self, resources: Resources) -> dict[str, object]:
        """Variables of `terraform/modules/azure`."""
        place = resources.place
        account, region = self._settings.account(place), self._settings.region(place)
        return module_variables(resources, account, region, software=self._settings.software)

    def has_ipv6(self, place: Place) -> bool:
        return self._settings.has_ipv6(place)

    def network_variables(self, place: Place) -> Mapping[str, str]:
        account = self._settings.account(place)
        return {"account_id": account.id, "tenant_id": account.tenant_id, **ipv6_word(self.has_ipv6(place))}

    def terraform_environment(self, place: Place) -> Mapping[str, str]:
        """Credentials of the account, and the way out of this network; see `GivesEnvironment`."""
        given = {
            **surroundings(self._settings.plugins),
            **self._access.environment(place),
        }
        if (url := self._settings.endpoint_url) is not None:
            given["ARM_METADATA_HOSTNAME"] = str(HostPort(url.host or "", url.port or 443))
        return given

    def recognise(self, diagnostics: Sequence[str]) -> errors.ProviderError | None:
        return recognise(diagnostics)

    def examine(self, place: Place) -> Iterator[finding.Finding]:
        clients, _ = self._reach(place)
        return examination.examine_region(clients, place, self._settings.region(place))

    def quotas(self, place: Place) -> tuple[quota.AccountQuota, ...]:
        clients, _ = self._reach(place)
        return examination.read_quotas(clients, place)

    def look_ahead(self, wanted: Resources, new: Set[str]) -> Iterator[finding.Finding]:
        clients, _ = self._reach(wanted.place)
        return look_ahead(clients, wanted, new, self._settings.region(wanted.place))

    def notices(self, place: Place) -> Mapping[str, MaintenanceNotice]:
        clients, account_id = self._reach(place)
        return read_notices(clients, place, account_id=account_id)

    def console(self, place: Place, instance: str) -> str:
        """See `TellsConsole`: boot diagnostics, by the address Azure signs for a few minutes."""
        clients, account_id = self._reach(place)
        parts = machine_of(instance, account_id)
        return "" if parts is None else read_console(clients, place, *parts)

    def console_page(self, place: Place, instance: str) -> str:
        """See `HasConsolePages`: the portal goes by the id of a resource."""
        found = machine_of(instance, self._settings.account(place).id)
        return f"https://portal.azure.com/#resource{quote(instance)}/overview" if found else ""

    def imports(self, target: str, resources: Resources, listing: Listing) -> tuple[Import, ...] | None:
        return imports_of(target, resources, listing)

    def foreign_vms(self, place: Place) -> Mapping[str, int]:
        clients, account_id = self._reach(place)
        return tags.count_foreign(inventory.count_owners(clients, place, account_id=account_id), self.installation_id)

    def _machine(self, clients: access.Clients, place: Place, arm_id: str) -> Mapping[str, Any] | None:
        """What Azure says of that VM; None if it says there is none of that name."""
        parts = machine_of(arm_id, self._settings.account(place).id)
        if parts is None:
            return None
        with translated(f"{place}: describing {arm_id}"):
            try:
                found: Mapping[str, Any] = clients.compute.virtual_machines.get(*parts, expand="instanceView")
            except HttpResponseError as error:
                if is_not_there(error):
                    return None
                raise
        return found

    def _reach(self, place: Place) -> tuple[access.Clients, str]:
        if place.cloud != self.name:
            raise errors.PlaceUnknown(f"{place} is not in Azure")
        return self._access.clients(place), self._settings.account(place).id
