"""Networks that Kedge makes: facts of the fleet's stream `networks`, one stream so that no address is given twice.

`id` is a network's for ever and names its Terraform state; a name in an account and region may come again with another.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from events.registry import fact

PortClients = tuple[tuple[int, tuple[str, ...]], ...]
"""Ports of brokers where others than a network's clients are let in, and whom (by CIDR): those of listeners that name
their own. In order; none is of before they could."""


@fact("network.requested", schema=1)
@dataclass(frozen=True, slots=True)
class NetworkRequested:
    """Intent: a cluster's spec names a network that does not exist. Its CIDR and its zones' numbers are fixed here."""

    id: str
    cloud: str
    account: str
    region: str
    name: str
    cidr: str
    zones: Mapping[str, int]
    clients: tuple[str, ...]
    reason: str
    broker_ports: tuple[int, ...] = (9092,)
    """TCP ports clients are let in at, members too."""
    member_ports: tuple[int, ...] = (9093,)
    """Ports of controllers, and of ZooKeeper where a cluster has it: for members alone."""
    cloud_name: str = ""
    """What it is called in the account; "" of one that was asked for while no name told installations apart."""
    peers: tuple[str, ...] = ()
    """Networks of members in other places, by CIDR: let in at all of those ports."""
    servers: tuple[str, ...] = ()
    """Where servers of Kedge dial from, by CIDR; none of one that was asked for before they were let in."""
    port_clients: PortClients = ()
    overlay_ports: tuple[int, ...] = ()
    """UDP ports of tunnels at which members are let in, `open_overlay_ports` anybody; none without an overlay."""
    open_overlay_ports: tuple[int, ...] = ()


@fact("network.zones_requested", schema=1)
@dataclass(frozen=True, slots=True)
class NetworkZonesRequested:
    """Intent: a cluster names zones the network has no subnet in. `zones` are all of them, old numbers kept."""

    id: str
    zones: Mapping[str, int]
    reason: str


@fact("network.made", schema=1)
@dataclass(frozen=True, slots=True)
class NetworkMade:
    """Outcome: it is there, with all zones asked for. `settings` is JSON: what its module gives to that of VMs."""

    id: str
    settings: str


@fact("network.change_requested", schema=1)
@dataclass(frozen=True, slots=True)
class NetworkChangeRequested:
    """Intent: others are to be let in: clients by CIDR, ports and peers as in `network.requested`, each the union over
    the clusters in the network; `servers` as there."""

    id: str
    clients: tuple[str, ...]
    reason: str
    broker_ports: tuple[int, ...] = (9092,)
    member_ports: tuple[int, ...] = (9093,)
    peers: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    port_clients: PortClients = ()
    overlay_ports: tuple[int, ...] = ()
    open_overlay_ports: tuple[int, ...] = ()


@fact("network.changed", schema=1)
@dataclass(frozen=True, slots=True)
class NetworkChanged:
    """Outcome: the firewall lets those in. `settings` as in `network.made`."""

    id: str
    settings: str


@fact("network.removal_requested", schema=1)
@dataclass(frozen=True, slots=True)
class NetworkRemovalRequested:
    """A person asks, with the network's name typed out. No cluster's place named it then."""

    id: str
    name: str
    reason: str


@fact("network.removal_dropped", schema=1)
@dataclass(frozen=True, slots=True)
class NetworkRemovalDropped:
    """Nothing was removed: a cluster came to need the network before its removal had begun."""

    id: str
    reason: str


@fact("network.removed", schema=1)
@dataclass(frozen=True, slots=True)
class NetworkRemoved:
    """Outcome: nothing of it is left. Its CIDR may be given again."""

    id: str


@fact("network.run_failed", schema=1)
@dataclass(frozen=True, slots=True)
class NetworkRunFailed:
    """Outcome: a Terraform run on the network ended badly; it is tried again after a pause."""

    id: str
    error: str
    message: str
    retryable: bool
