"""The local cloud as a `CloudProvider`: VMs are process groups of this machine, made and deleted by real Terraform."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from providers import bootable, errors, tags, traces
from providers.base import InstanceState, Listing, Place, Resources
from providers.harm import PLAIN, Harm, Manner
from providers.local.address import NodeAddresses
from providers.local.claimed_addresses import ClaimedAddresses, claims_dir
from providers.local.config import AGENT_COMMAND, Config, write_config
from providers.local.disk import DiskRecords
from providers.local.errors import recognise
from providers.local.faults import Faults
from providers.local.harm import harm_vm
from providers.local.image_tag import image_tag
from providers.local.inventory import read_listing
from providers.local.launch import package_path
from providers.local.layout import REGIONS, Layout, layout_of, parse_instance_id
from providers.local.machine import Machines, power_cut
from providers.local.ranges import RANGES, NetworkName, name_of
from providers.local.record import locked
from providers.local.traces import count_foreign_vms, read_agent_traces, read_spent_generations
from providers.notices import MaintenanceNotice, NoticeKind
from providers.variables import module_variables


@dataclass(slots=True)
class LocalCloud:
    """One local cloud below `root` (absolute). `kafka_dir` holds the images, `<version>/libs`; see `Config`.

    `command` is what VMs boot; the default is the agent's init, tests give a stand-in.
    """

    root: Path
    installation_id: str
    python: str
    kafka_dir: Path | None = None
    enforce_disk: bool = False
    network: NetworkName = "loopback"
    command: tuple[str, ...] = AGENT_COMMAND
    _last_listing: dict[Place, Listing] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.root = self.root.absolute()
        write_config(self.root, self._config)

    @property
    def name(self) -> str:
        return "local"

    @property
    def faults(self) -> Faults:
        """The fault switches, for tests."""
        return Faults(self.root)

    def regions(self) -> tuple[str, ...]:
        """See `ListsRegions`."""
        return tuple(REGIONS)

    def zones(self, region: str) -> tuple[str, ...]:
        """Zones of a region, which serve as racks. Raises `PlaceUnknown`."""
        return REGIONS[Layout(self.root, region).region]

    def unbootable(self, place: Place, vm: bootable.NextVm) -> str:
        """See `TellsBootable`: VMs here have the releases of `kafka_dir`. Of a folder without any nobody can tell."""
        if vm.images or vm.own_build or self.kafka_dir is None:
            return ""
        there = sorted(libs.parent.name for libs in self.kafka_dir.glob("*/libs"))
        if not there or vm.kafka_version in there:
            return ""
        return f"Kafka {vm.kafka_version} is not on this machine: {self.kafka_dir} has {', '.join(there)}"

    def list_place(self, place: Place) -> Listing:
        """What is there now. With the fault `list_lag`: what the previous listing said, under a fresh time."""
        layout = self._reach(place)
        if self.faults.take("list_lag"):
            last = self._last_listing.get(place)
            return Listing(
                place=place,
                at=datetime.now(UTC),
                instances=last.instances if last else (),
                volumes=last.volumes if last else (),
                node_addresses=last.node_addresses if last else {},
            )
        self._last_listing[place] = read_listing(layout, place, self.installation_id)
        return self._last_listing[place]

    def describe(self, place: Place, instances: Sequence[str]) -> Mapping[str, InstanceState]:
        """State by instance id: `GONE` after a power cut and after termination; ids it never gave out are left out."""
        machines = self._machines(self._reach(place))
        now = datetime.now(UTC)
        answers = {text: machines.state(*parsed, now=now) for text in instances if (parsed := parse_instance_id(text))}
        return {text: state for text, state in answers.items() if state is not None}

    def terminate(self, place: Place, instance: str) -> None:
        """Power cut, disks and addresses released, directory gone. Idempotent. Raises `ResourceConflict` for a VM of
        another installation."""
        layout = self._reach(place)
        if parsed := parse_instance_id(instance):
            self._machines(layout).terminate(*parsed, self.installation_id)

    def variables(self, resources: Resources) -> dict[str, object]:
        """Variables of `terraform/modules/local`; the same resources give the same addresses, always."""
        layout = layout_of(self.root, resources.place)
        uid = resources.cluster_uid
        return module_variables(
            resources,
            cloud={"root": str(self.root), "python": self.python},
            instance=lambda i: {
                "address": self._choose_address(f"{uid}/{i.key}", i.address),
                "tags": tags.instance_tags(resources, i, image_tag(i, self._config.kafka_dir)),
            },
            address=lambda a: self._choose_address(self._owner_in(layout, uid, a.node), a.address),
        )

    def terraform_environment(self, place: Place) -> Mapping[str, str]:
        """Where the provisioners find this package: a checkout need not be installed.

        And Go's memory: a command here is over before its heap (100 MiB) is worth collecting, which is a fifth of its
        time; the limit is for a state that is far larger. No plugin runs beside it that would take the same.
        """
        return {"PYTHONPATH": package_path(), "GOGC": "off", "GOMEMLIMIT": "512MiB"}

    def grow_volumes(self, resources: Resources, sizes: Mapping[str, int]) -> None:
        """See `GrowsVolumes`: Terraform runs no provisioner for an update."""
        layout = layout_of(self.root, resources.place)
        with locked(layout.lock(resources.cluster_uid)):
            for target, size_gib in sizes.items():
                DiskRecords(layout, self.enforce_disk).grow(resources.cluster_uid, target.partition("/")[2], size_gib)

    def creates_are_repeatable(self) -> bool:
        """Yes: every verb adopts what its intent made before."""
        return True

    def recognise(self, diagnostics: Sequence[str]) -> errors.ProviderError | None:
        """The typed error behind Terraform's words, if one of our verbs said so."""
        return recognise(diagnostics)

    def agent_traces(self, place: Place) -> Mapping[str, traces.AgentTrace]:
        """See `ReadsAgents`: the disks of our VMs are directories of this machine."""
        return read_agent_traces(self._reach(place), self.installation_id)

    def spent_generations(self, place: Place) -> Mapping[tuple[str, str], int]:
        """See `RemembersTheGone`: every VM that was terminated has left a tombstone."""
        return read_spent_generations(self._reach(place))

    def foreign_vms(self, place: Place) -> Mapping[str, int]:
        """See `SeesForeignVms`."""
        return count_foreign_vms(self._reach(place), self.installation_id)

    def notices(self, place: Place) -> Mapping[str, MaintenanceNotice]:
        """See `TellsMaintenance`: what the fault switch says, since no host of this cloud ever goes down."""
        there = read_listing(layout_of(self.root, place), place, self.installation_id).instances
        dates = {i.id: at for i in there if (at := self.faults.vm("maintenance_at_s", i.key)) is not None}
        return {
            vm: MaintenanceNotice(NoticeKind.STOP, datetime.fromtimestamp(at, UTC), words="fault switch")
            for vm, at in dates.items()
        }

    def power_cut(self, place: Place, instance: str) -> None:
        """Tests and demos only: the VM loses power. Its record and its disks stay; the listing says `GONE`."""
        if parsed := parse_instance_id(instance):
            power_cut(layout_of(self.root, place).vm(*parsed))

    def harm(self, place: Place, instance: str, harm: Harm, for_s: float, manner: Manner = PLAIN) -> None:
        """See `HarmsVms`."""
        if parsed := parse_instance_id(instance):
            harm_vm(layout_of(self.root, place).vm(*parsed), self.root, harm, for_s, manner)

    def power_on(self, place: Place, instance: str) -> None:
        """Tests and demos only: a VM that lost power starts again."""
        if parsed := parse_instance_id(instance):
            self._machines(layout_of(self.root, place)).power_on(*parsed)

    def _owner_in(self, layout: Layout, uid: str, node: str) -> str:
        """Who owns a node's address in a region: while the node moves it has one in each of two."""
        alone, there = f"{uid}/{node}", f"{uid}/{node}@{layout.region}"
        record = NodeAddresses(layout).read(uid, node)
        if record is not None:
            return there if self._claims().known(there) == record["address"] else alone
        others = (Layout(self.root, region) for region in REGIONS if region != layout.region)
        return there if any(NodeAddresses(other).read(uid, node) for other in others) else alone

    def _choose_address(self, owner: str, recorded: str | None) -> str:
        claims = self._claims()
        address = recorded or claims.address_for(owner)
        if name_of(address) != self.network:
            raise errors.ResourceConflict(
                f"{owner} has the address {address} of the network {name_of(address)}, and VMs of two networks do not "
                f"reach each other: serve with KEDGE_CLOUDS__VM_NETWORK={name_of(address)}, or delete the cluster first"
            )
        claims.adopt(owner, address)
        return address

    def _claims(self) -> ClaimedAddresses:
        return ClaimedAddresses(self.root, self.installation_id, claims_dir(), RANGES[self.network])

    def _reach(self, place: Place) -> Layout:
        layout = layout_of(self.root, place)
        if self.faults.take("rate_limits"):
            raise errors.RateLimited(f"{place}: too many calls (fault switch)")
        if self.faults.take("api_errors"):
            raise errors.CloudUnavailable(f"{place}: the cloud does not answer (fault switch)")
        return layout

    def _machines(self, layout: Layout) -> Machines:
        return Machines(layout, self._config)

    @property
    def _config(self) -> Config:
        return Config(
            python=self.python,
            kafka_dir=str(self.kafka_dir.absolute()) if self.kafka_dir else "",
            enforce_disk=self.enforce_disk,
            network=self.network,
            command=self.command,
        )
