"""AWS as a `CloudProvider`: Terraform makes and deletes, boto3 reads, and one thing is terminated at a time."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from providers import tags
from providers.aws.access import AwsAccess
from providers.aws.errors import is_not_found, recognise, translated
from providers.aws.examination import examine_region
from providers.aws.imports import imports_of
from providers.aws.inventory import PAGE, count_owners, read_listing, read_states
from providers.aws.lookahead import look_ahead
from providers.aws.network_pieces import network_pieces
from providers.aws.notices import read_notices
from providers.aws.quota import read_quotas
from providers.aws.settings import AwsSettings
from providers.aws.tags import tags_of
from providers.aws.variables import module_variables
from providers.base import InstanceState, Listing, Place, Resources
from providers.catalog_file import sold_by
from providers.console import tail
from providers.errors import PlaceUnknown, ProviderError, ResourceConflict
from providers.finding import Finding
from providers.lateness import UNLISTED_S
from providers.networks import MadeNetworks, NetworkRun, ipv6_word, none_made
from providers.notices import MaintenanceNotice
from providers.quota import AccountQuota
from providers.settings_file import zones_of
from providers.settingscloud import SettingsCloud
from providers.tf.abilities import Import
from providers.tf.surroundings import surroundings

SETTLES_S = 300.0
"""EC2 is eventually consistent: for a while after it was made an instance may be "not found". So that answer proves
an instance gone only once we have known its id for this long."""

_ID = re.compile(r"^i-([0-9a-f]{8}|[0-9a-f]{17})$")
_BATCH = 200
"""Values a filter may have (EC2 API Reference, Filter)."""

_ASKED_SINGLY = 20


@dataclass(slots=True)
class AwsCloud(SettingsCloud):
    """One installation's view of its AWS accounts, as `settings_file` describes them. Thread-safe."""

    installation_id: str
    settings_file: Path
    attempts: int = 3
    page: int = PAGE
    clock: Callable[[], float] = time.monotonic
    networks: MadeNetworks = none_made
    _settings: AwsSettings = field(init=False)
    _access: AwsAccess = field(init=False)
    _known_since: dict[str, float] = field(default_factory=dict)
    _terminated: set[tuple[Place, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._settings = AwsSettings.read(self.settings_file).with_networks(self.networks)
        self._access = AwsAccess(self._settings, self.attempts, self.clock)

    @property
    def name(self) -> str:
        return "aws"

    def unlisted_s(self) -> float:
        """See `ListsLate`: EC2 is eventually consistent, and names are mere tags."""
        return UNLISTED_S

    def holds_mounted(self) -> bool:
        """See `HoldsMounted`: EC2 answers with 200 and keeps the volume `busy` (EC2 API Reference, DetachVolume)."""
        return True

    def zones(self, region: str) -> tuple[str, ...]:
        """Zones of a region that have a subnet in some account; names mean what that account's names mean."""
        return zones_of(self._settings, self.name, region, lambda told: told.subnets)

    def list_place(self, place: Place) -> Listing:
        """One paged listing each of VMs, volumes and interfaces, for all clusters. Terminated VMs are not in it."""
        ec2, account_id = self._reach(place)
        listing = read_listing(ec2, place, installation_id=self.installation_id, account_id=account_id, page=self.page)
        for instance in listing.instances:
            self._known_since.setdefault(instance.id, self.clock())
        return listing

    def describe(self, place: Place, instances: Sequence[str]) -> Mapping[str, InstanceState]:
        """`GONE` is `terminated`, or "no such instance" once EC2 had `SETTLES_S` to settle, by the right account.

        What EC2 does not answer for by id is left out, as is what no EC2 could ever answer for. A VM once terminated
        stays so, and no id is given twice: it is not asked for again, as often as a tick wants to know.
        """
        known = {i for i in instances if (place, i) in self._terminated}
        ids = sorted({i for i in instances if _ID.match(i) and i not in known})
        states: dict[str, InstanceState] = dict.fromkeys(known, InstanceState.GONE)
        if not ids:
            return states
        ec2, account_id = self._reach(place)
        for start in range(0, len(ids), _BATCH):
            states |= read_states(ec2, place, ids[start : start + _BATCH], account_id=account_id)
        self._terminated |= {(place, i) for i, state in states.items() if state is InstanceState.GONE}
        now = self.clock()
        settled = [i for i in ids if i not in states and now - self._known_since.setdefault(i, now) >= SETTLES_S]
        nowhere = [i for i in settled[:_ASKED_SINGLY] if self._is_nowhere(ec2, place, i)]
        if nowhere:
            self._access.prove(place, afresh=True)
        return {**states, **dict.fromkeys(nowhere, InstanceState.GONE)}

    def terminate(self, place: Place, instance: str) -> None:
        """Terminate a VM of this installation. Idempotent. Raises `ResourceConflict` for anybody else's."""
        ec2, _ = self._reach(place)
        if not _ID.match(instance):
            return
        with translated(f"{place}: terminating {instance}"):
            found = ec2.describe_instances(Filters=[{"Name": "instance-id", "Values": [instance]}])
            machines = [m for r in found["Reservations"] for m in r["Instances"]]
            if not machines or machines[0]["State"]["Name"] in ("shutting-down", "terminated"):
                return
            if not tags.owned_by(tags_of(machines[0]), self.installation_id):
                raise ResourceConflict(f"{place}: {instance} has not this installation's tag; it is not terminated")
            ec2.terminate_instances(InstanceIds=[instance])

    def variables(self, resources: Resources) -> dict[str, object]:
        """Variables of `terraform/modules/aws`."""
        place = resources.place
        account, region = self._settings.account(place), self._settings.region(place)
        return module_variables(resources, account, region, software=self._settings.software)

    def has_ipv6(self, place: Place) -> bool:
        return self._settings.has_ipv6(place)

    def network_variables(self, place: Place) -> Mapping[str, str]:
        return {"account_id": self._settings.account(place).id, **ipv6_word(self.has_ipv6(place))}

    def network_pieces(self, run: NetworkRun) -> Mapping[str, str]:
        ec2, _ = self._reach(run.place)
        return network_pieces(ec2, run)

    def terraform_environment(self, place: Place) -> Mapping[str, str]:
        """Credentials of the account profile, the region, and the way out of this network; see `GivesEnvironment`."""
        given = {
            **surroundings(self._settings.plugins, "AWS_CA_BUNDLE"),
            **self._access.environment(place),
            "AWS_REGION": place.region,
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        if self._settings.endpoint_url:
            given["AWS_ENDPOINT_URL"] = str(self._settings.endpoint_url)
        return given

    def recognise(self, diagnostics: Sequence[str]) -> ProviderError | None:
        return recognise(diagnostics)

    def examine(self, place: Place) -> Iterator[Finding]:
        ec2, _ = self._reach(place)
        return examine_region(ec2, place, self._settings.region(place), lambda: self.quotas(place))

    def quotas(self, place: Place) -> tuple[AccountQuota, ...]:
        ec2, account_id = self._reach(place)
        return read_quotas(ec2, self._access.limits(place), place, sold_by(self.name), account_id=account_id)

    def look_ahead(self, wanted: Resources, new: Set[str]) -> Iterator[Finding]:
        ec2, _ = self._reach(wanted.place)
        first = next(i for i in wanted.instances if f"instance/{i.key}" in new)
        rendered: Any = self.variables(replace(wanted, instances=(first,), bindings=()))["instances"]
        return look_ahead(ec2, wanted, new, self._settings.region(wanted.place), rendered[first.key])

    def notices(self, place: Place) -> Mapping[str, MaintenanceNotice]:
        ec2, _ = self._reach(place)
        return read_notices(ec2, place)

    def console(self, place: Place, instance: str) -> str:
        """See `TellsConsole`. EC2 keeps the last 64 KiB; `Latest` is as it is now, on Nitro machines."""
        ec2, _ = self._reach(place)
        with translated(f"{place}: console of {instance}"):
            told = ec2.get_console_output(InstanceId=instance, Latest=True)
        return tail(str(told.get("Output", "")))

    def console_page(self, place: Place, instance: str) -> str:
        """See `HasConsolePages`. China and GovCloud have consoles of their own."""
        region = place.region
        apart = {"cn-": "amazonaws.cn", "us-gov-": "amazonaws-us-gov.com"}
        domain = next((name for prefix, name in apart.items() if region.startswith(prefix)), "aws.amazon.com")
        where = f"https://{region}.console.{domain}/ec2/home?region={region}"
        return f"{where}#InstanceDetails:instanceId={instance}" if _ID.match(instance) else ""

    def imports(self, target: str, resources: Resources, listing: Listing) -> tuple[Import, ...] | None:
        return imports_of(target, resources, listing)

    def foreign_vms(self, place: Place) -> Mapping[str, int]:
        ec2, account_id = self._reach(place)
        return tags.count_foreign(count_owners(ec2, place, account_id=account_id), self.installation_id)

    def _is_nowhere(self, ec2: Any, place: Place, instance: str) -> bool:
        with translated(f"{place}: describing {instance}"):
            try:
                ec2.describe_instances(InstanceIds=[instance])
            except ClientError as error:
                if is_not_found(error):
                    return True
                raise
        return False

    def _reach(self, place: Place) -> tuple[Any, str]:
        if place.cloud != self.name:
            raise PlaceUnknown(f"{place} is not in AWS")
        return self._access.ec2(place), self._settings.account(place).id
