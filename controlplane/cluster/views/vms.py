"""What is known of a cluster's VMs beside each instance: ids and addresses of nodes, disks, tags, images, agents. Part
of `controlplane.cluster.view`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from controlplane.cluster.views.agents import AgentOrderView
from controlplane.cluster.views.certificates import AuthorityReplacementView, CertificateView
from controlplane.cluster.views.confirmed_losses import LossesView
from controlplane.cluster.views.cost_tags import CostTagsView
from controlplane.cluster.views.images import ImageView
from events import facts
from planner.healing import PastCure

FIRST_CONTROLLER_ID = 100
FIRST_BROKER_ID = 1000


@dataclass(frozen=True, slots=True)
class VolumeLimitView:
    """What a saturated volume did at most, and since when that is known."""

    bytes_per_s: int
    at: datetime


@dataclass(frozen=True, slots=True)
class VmsView:
    """What outlives a single VM, and what was done to VMs that stay."""

    next_broker_id: int = FIRST_BROKER_ID
    node_addresses: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    spent: Mapping[str, facts.SpentNode] = field(default_factory=lambda: MappingProxyType({}))
    """By node, what was used up before the history that is known."""
    volume_sizes: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """GiB of the volumes that were asked to grow, by key: their planned size is that of their making."""
    volumes_grown_at: Mapping[str, datetime] = field(default_factory=lambda: MappingProxyType({}))
    """By key, when their cloud was last asked to make them larger, or was seen to have done it."""
    grown_pools: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """GiB that each disk of a pool has grown to without a word of the spec, by name of the pool."""
    measured_volumes: Mapping[str, facts.MeasuredVolume] = field(default_factory=lambda: MappingProxyType({}))
    """By key, of volumes whose agents measured them when they were new."""
    volume_limits: Mapping[str, VolumeLimitView] = field(default_factory=lambda: MappingProxyType({}))
    """By key, of volumes that were saturated at work of late."""
    cost_tags: Mapping[str, CostTagsView] = field(default_factory=lambda: MappingProxyType({}))
    """Of VMs that were given others than they were made with, by instance key: see `tags_on`."""
    taggings: int = 0
    """Tag runs asked for, ever."""
    cures: tuple[PastCure, ...] = ()
    """What was done about findings of agents, oldest first."""
    agent_orders: Mapping[str, AgentOrderView] = field(default_factory=lambda: MappingProxyType({}))
    """By instance key, of VMs whose agents were ever told to become others."""
    authorities: facts.AuthoritiesMade | None = None
    """Whom nodes believe, of a cluster whose nodes speak TLS."""
    certificates: Mapping[str, CertificateView] = field(default_factory=lambda: MappingProxyType({}))
    """By instance key, of clusters whose nodes speak TLS."""
    revoked: Mapping[str, datetime] = field(default_factory=lambda: MappingProxyType({}))
    """By instance key, of VMs that somebody else may have: since when their agents are not recognised any more, and
    nothing is signed for them."""
    certificates_renewed_at: datetime | None = None
    """When services were last to be started anew since their certificates were old."""
    authority_change: AuthorityReplacementView | None = None
    """The replacement of one of the CAs that is in hand."""
    overlay_keys: Mapping[str, Mapping[int, str]] = field(default_factory=lambda: MappingProxyType({}))
    """By instance key and epoch, the public half of the key its agent has made."""
    image: ImageView | None = None
    losses: LossesView = field(default_factory=LossesView)
