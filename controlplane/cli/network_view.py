"""Networks as people read them: a line each, then what went wrong and how much room is left."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from controlplane.api.schemas.networks import NetworkOut, NetworksOut
from controlplane.cli.tables import listing
from controlplane.fleet.networks.command_texts import try_now
from controlplane.runtime.quantities import ago
from controlplane.runtime.styled_text import styled

_STYLE = {"made": "green", "being made": "cyan", "being removed": "yellow"}


def network_table(networks: Sequence[NetworkOut], *, now: datetime) -> Table:
    """One line a network."""
    headers = ["NAME", "CLOUD", "ACCOUNT", "REGION", "CIDR", "STATE", "AGE", "CLIENTS", "PORTS", "CLUSTERS"]
    rows: list[list[Text | str]] = [
        [
            network.name,
            network.cloud,
            network.account,
            network.region,
            network.cidr,
            styled("failing" if network.tries else network.state, "red" if network.tries else _STYLE[network.state]),
            ago(network.since, now),
            ", ".join(network.clients) or "none",
            _ports(network),
            ", ".join(network.clusters) or "-",
        ]
        for network in networks
    ]
    return listing(headers, rows)


def _ports(network: NetworkOut) -> str:
    """Those of brokers, then those its VMs alone reach."""
    brokers, members = (",".join(map(str, p)) or "-" for p in (network.broker_ports, network.member_ports))
    return f"{brokers} + {members}"


def _try_now(network: NetworkOut) -> str:
    return try_now(network.name, network.account, network.region, is_removed=network.state == "being removed")


def network_lines(found: NetworksOut) -> Iterator[RenderableType]:
    """What a person should know beyond the lines. Nothing where all is well and there is room."""
    for network in found.items:
        named = f"{network.name} in {network.account}/{network.region}"
        if network.told != network.state:
            yield styled(f"{named}: {network.told}", "yellow")
        if network.tries:
            yield Text(f"{named}: once that is fixed, `{_try_now(network)}` tries at once")
        for port, clients in network.port_clients.items():
            yield Text(f"{named}: lets in at port {port} alone: {', '.join(clients) or 'nobody of outside'}")
        if network.peers:
            yield Text(f"{named}: lets in members of other places, at all its ports: {', '.join(network.peers)}")
        if network.servers:
            yield Text(f"{named}: lets in servers of Kedge: {', '.join(network.servers)}")
        if network.overlay_ports:
            yield Text(f"{named}: takes tunnels of members at UDP {', '.join(map(str, network.overlay_ports))}")
        if network.open_overlay_ports:
            yield Text(f"{named}: takes tunnels of anybody at UDP {', '.join(map(str, network.open_overlay_ports))}")
        for sentence in network.drifts:
            yield styled(f"{named}: changed by hand: {sentence}", "yellow")
        if network.audit_error:
            yield styled(f"{named}: the last audit failed: {network.audit_error}", "yellow")
    if found.free < 4:
        word = "no more network" if found.free == 0 else f"{found.free} more of /{found.prefix}"
        yield styled(f"the pool {found.pool} has room for {word}: widen `networks.pool` in the settings", "yellow")
