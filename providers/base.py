"""The port of a cloud. Terraform writes, the vendor's SDK reads; the converger cannot tell which cloud it talks to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol, runtime_checkable

from providers.given_machines import GivenMachine
from providers.made_from import MadeFrom
from providers.state import InstanceState as InstanceState


@dataclass(frozen=True, slots=True)
class Place:
    """Where one Terraform state lives: a cloud, an account profile and a region."""

    cloud: str
    region: str
    account: str = "default"
    network: str = "default"
    """Which network VMs there are made in. No part of a state's key: all of a cluster there is in one network."""

    def __str__(self) -> str:
        return f"{self.cloud}/{self.account}/{self.region}"


@dataclass(frozen=True, slots=True)
class CloudInstance:
    """A VM as the cloud reports it, found by its ownership tags."""

    id: str
    cluster_uid: str
    node: str
    generation: int
    intent_id: str
    zone: str
    state: InstanceState
    address: str | None
    volumes: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    cluster_name: str = ""
    shape: str = ""
    """Machine size, and `image` the Kafka version it was born with; empty where the cloud does not tell."""
    image: str = ""
    spot: bool = False
    """Pre-emptible, by the cloud's own word."""
    ipv6: str = ""
    """Its IPv6 address, or the network of its own that it has one in; "" for none."""
    public_address: str = ""
    """Its public IPv4 address, "" for none."""

    @property
    def key(self) -> str:
        """Terraform key of the instance: `<node>.g<generation>`."""
        return f"{self.node}.g{self.generation}"


@dataclass(frozen=True, slots=True)
class CloudVolume:
    """A disk that outlives VMs. `attached_to` is an instance key or None."""

    key: str
    cluster_uid: str
    zone: str
    size_gib: int
    attached_to: str | None
    id: str = ""
    """The cloud's own id, and `device` its name on the VM, where Terraform imports by them."""
    device: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """Everything this installation owns in one place, read at one time. One listing serves all clusters there."""

    place: Place
    at: datetime
    instances: tuple[CloudInstance, ...]
    volumes: tuple[CloudVolume, ...] = ()
    node_addresses: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(cluster uid, node) -> address owned by the node rather than by one of its instances."""
    node_address_ids: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(cluster uid, node) -> the cloud's id of that address, and `binding_ids` of what ties it to a VM now."""
    binding_ids: Mapping[tuple[str, str], str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InstanceResource:
    """One VM to be in the rendered set. Frozen for ever once its intent is recorded."""

    node: str
    generation: int
    zone: str
    shape: str
    image: str
    intent_id: str
    boot_data: str
    address: str | None = None
    made_from: MadeFrom | None = None
    """None: the image the cloud's settings name for its Kafka version."""
    spot: bool = False
    """Pre-emptible. Its cloud offers that: others are refused before an intent is recorded."""
    ipv6: bool = False
    """It gets an IPv6 address beside its private IPv4 one. Its cloud has that; its network is asked before its run."""
    public_address: bool = False
    """It gets a public IPv4 address beside its private one. Its cloud gives those: see `Catalog.no_public_address`."""
    cost_tags: Mapping[str, str] = field(default_factory=dict)
    """Labels of the spec, as they are: its cloud can hold them (`providers.cost_tags`)."""
    given: GivenMachine | None = None
    """Figures of its machine, of the cluster's specs: they count where no catalogue knows that type."""

    @property
    def key(self) -> str:
        return f"{self.node}.g{self.generation}"


@dataclass(frozen=True, slots=True)
class VolumeResource:
    """One disk to be in the rendered set, keyed `<node>.<dir>.v<version>`."""

    node: str
    dir: str
    version: int
    zone: str
    kind: str
    size_gib: int
    type: str = ""
    """In the cloud's own words, and the rest in figures: "" and 0 for what it has unless told."""
    iops: int = 0
    throughput_mib_per_s: int = 0
    kms_key: str = ""
    cost_tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return f"{self.node}.{self.dir}.v{self.version}"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A volume on an instance, keyed `<instance>.<dir>`."""

    instance: str
    volume: str

    @property
    def key(self) -> str:
        return f"{self.instance}.{self.volume.split('.')[-2]}"


@dataclass(frozen=True, slots=True)
class AddressResource:
    """An address owned by a node for ever; passes from one of its instances to the next."""

    node: str
    zone: str
    address: str | None = None
    cost_tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return self.node


@dataclass(frozen=True, slots=True)
class AddressBinding:
    """A node's address on one of its instances, keyed by the instance."""

    node: str
    instance: str

    @property
    def key(self) -> str:
        return self.instance


@dataclass(frozen=True, slots=True)
class Resources:
    """The whole rendered set of one cluster in one place: same shape on every cloud (terraform/README.md)."""

    installation_id: str
    cluster_uid: str
    cluster_name: str
    place: Place
    instances: tuple[InstanceResource, ...] = ()
    volumes: tuple[VolumeResource, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    addresses: tuple[AddressResource, ...] = ()
    bindings: tuple[AddressBinding, ...] = ()


class RunKind(StrEnum):
    """The kinds of Terraform run. Each may change exactly what its intent names and nothing else."""

    SURGE = "surge"
    RELEASE = "release"
    BIND = "bind"
    GROW = "grow"
    TAG = "tag"
    RETIRE = "retire"
    DESTROY = "destroy"


@dataclass(frozen=True, slots=True)
class Tagging:
    """What a tag run changes: on each of `targets` the cost tags of `put`, and none under a key of `dropped`. Whatever
    else they carry, Kedge's own tags and those of others, stays as it is found."""

    targets: frozenset[str]
    put: Mapping[str, str]
    dropped: frozenset[str] = frozenset()

    @property
    def keys(self) -> frozenset[str]:
        """Of the tags that may change."""
        return frozenset(self.put) | self.dropped


@dataclass(frozen=True, slots=True)
class TerraformRun:
    """One guarded run. `creates` and `deletes` are `<resource>/<key>` as in `instance/brokers-a-0.g1`.

    An address of `creates` that already exists counts as done (adoption after a crash); the same holds for `deletes`
    already gone. `forget` names what the inventory proves gone: it leaves the state before the run.
    """

    intent_id: str
    kind: RunKind
    resources: Resources
    creates: frozenset[str] = frozenset()
    deletes: frozenset[str] = frozenset()
    forget: frozenset[str] = frozenset()
    grows: Mapping[str, int] = field(default_factory=dict)
    """`volume/<key>` -> GiB: what a grow run makes larger. A volume that has the size already counts as done."""
    tagging: Tagging | None = None
    """Of a tag run."""
    adopts: Resources | None = None
    """What stands before the run, where the state may know less of it than the cloud: see `providers.tf.adoption`."""


@runtime_checkable
class ListsRegions(Protocol):
    """Knows where this installation has accounts."""

    def regions(self) -> tuple[str, ...]:
        """Names of those regions, in a stable order."""


class CloudProvider(Protocol):
    """What the converger needs of a cloud. Under ten methods; optional abilities are protocols of their own."""

    @property
    def name(self) -> str: ...

    def zones(self, region: str) -> tuple[str, ...]:
        """Zone names of a region, in a stable order. Raises `PlaceUnknown`."""

    def list_place(self, place: Place) -> Listing:
        """Everything tagged with this installation's id. Raises `CloudUnavailable`, `AuthFailed`, `RateLimited`."""

    def describe(self, place: Place, instances: Sequence[str]) -> Mapping[str, InstanceState]:
        """State by instance id, `GONE` when the cloud said so for that id; an id it cannot answer for is left out."""

    def terminate(self, place: Place, instance: str) -> None:
        """The cloud's own terminate, for a VM that a retire run left behind. Idempotent."""

    def variables(self, resources: Resources) -> dict[str, object]:
        """JSON-safe variables of `terraform/modules/<cloud>`, addresses filled in where the cloud lets us choose."""
