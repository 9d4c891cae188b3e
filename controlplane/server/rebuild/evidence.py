"""What is left of a cluster when its history is gone: VMs with their tags, agents' documents, Kafka, people's specs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from agent.wire import BootData, Document, ServiceDocument
from events import facts
from events.ids import ClusterUid
from events.spec.model import KafkaClusterDocument
from planner.observed import KafkaSnapshot
from providers.base import CloudInstance, CloudVolume, Place


class Weight(StrEnum):
    """What a finding means for the person who reads it."""

    REFUSES = "refuses"
    """Nothing is written before this is mended or left out."""
    DIFFERS = "differs"
    """Spec and world differ: nothing is done about it until the cluster is resumed."""
    ASSUMED = "assumed"
    """Nobody could tell; this was taken for granted."""
    NOTED = "noted"
    """Left alone, now and later."""


@dataclass(frozen=True, slots=True)
class RebuildFinding:
    """One thing a person should know. `subject` is an instance, a node, a uid or a file."""

    weight: Weight
    subject: str
    message: str
    next_step: str = ""


@dataclass(frozen=True, slots=True)
class FoundVm:
    """A VM, and what lies on its disk where the cloud lets us look: None for what could not be read."""

    seen: CloudInstance
    document: Document | None = None
    boot: BootData | None = None
    place: Place | None = None
    """Whose listing it is in."""

    @property
    def key(self) -> str:
        return self.seen.key

    @property
    def service(self) -> ServiceDocument | None:
        """The service its agent was last told of; None also for an agent that was told to run nothing yet."""
        return self.document.services[0] if self.document and self.document.services else None


@dataclass(frozen=True, slots=True)
class FoundCluster:
    """All VMs that carry one cluster uid, with what belongs to them."""

    uid: ClusterUid
    name: str
    places: tuple[Place, ...]
    vms: tuple[FoundVm, ...]
    volumes: Mapping[str, CloudVolume] = field(default_factory=dict)
    node_addresses: Mapping[str, str] = field(default_factory=dict)
    spent: Mapping[str, int] | None = None
    """Node -> highest generation there ever was; None where the cloud forgets the terminated."""
    kafka: KafkaSnapshot | None = None
    kafka_missing: str = ""
    """Why Kafka could not be read."""
    authorities: facts.AuthoritiesMade | None = None
    """The CAs its nodes believe, where a copy has them; None also where it speaks plaintext."""
    authorities_missing: str = ""
    """Why a copy that has them is of no use."""


@dataclass(frozen=True, slots=True)
class DeclaredSpec:
    """A document of a person's spec file."""

    document: KafkaClusterDocument
    file: str

    @property
    def name(self) -> str:
        return self.document.metadata.name


@dataclass(frozen=True, slots=True)
class RebuildEvidence:
    """All that was read, by whom it belongs to."""

    installation_id: str
    places: tuple[Place, ...]
    clusters: tuple[FoundCluster, ...]
    specs: tuple[DeclaredSpec, ...]
    foreign_vms: Mapping[str, int] = field(default_factory=dict)
    """Installation id -> VMs that are not ours."""
    key_fits: bool | None = None
    """Whether the home's server key is the one these VMs were born with; None when no boot data could be read."""
