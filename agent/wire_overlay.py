"""The part of the contract that is about the encrypted network between nodes; `agent.wire` has the whole of it."""

from datetime import datetime
from ipaddress import IPv6Address, IPv6Network
from typing import Literal

from pydantic import Field

from agent.wire_base import Wire


class OverlayLink(Wire):
    """One tunnel of the VM: all its peers by one kind of path."""

    name: str = Field(description="of the interface")
    path: str = Field(description="the kind of path, as in `private`")
    port: int = Field(description="UDP, on all addresses of the VM")


class OverlayPeer(Wire):
    """Another VM of the cluster."""

    node: str
    generation: int
    public_key: str = Field(description="of the epoch of the document, base64")
    vm: IPv6Address
    services: tuple[IPv6Address, ...] = Field(default=(), description="an address is one VM's alone")
    paths: dict[str, str | None] = Field(
        description="by kind of path where it is called, `host:port` with an address; null: it is behind NAT, and calls"
    )


class OverlayDocument(Wire):
    """The VM's part of its cluster's overlay."""

    state: Literal["on", "off"] = Field(
        default="on", description="`off`: what was made of it is taken away; of a document without overlay nothing is"
    )
    prefix: IPv6Network
    epoch: int = Field(ge=1, description="of its key: a new value asks for a new one")
    vm: IPv6Address = Field(description="this VM's own address, whatever runs on it")
    services: tuple[IPv6Address, ...] = Field(default=(), description="of the services that run here")
    links: tuple[OverlayLink, ...] = Field(description="the preferred kind of path first")
    peers: tuple[OverlayPeer, ...] = Field(default=(), description="those whose key is known")
    mtu: int = Field(default=1280, ge=1280, le=65_455, description="of packets within the tunnels, bytes")


class OverlayPeerReport(Wire):
    """How this VM reaches another one."""

    node: str
    generation: int
    path: str = Field(default="", description="the kind of path in use; empty: none was found yet")
    up: bool = Field(default=False, description="whether that path answers; no path is up where it does not")
    since: datetime | None = Field(default=None, description="when this agent took it; absent: it found it in use")
    rtt_ms: float | None = Field(default=None, description="of the last answer by that path; absent: none came yet")
    lost: int = Field(default=0, description="probes by that path without an answer, of the last 40")
    mtu: int | None = Field(default=None, description="bytes that are known to pass; absent: not measured")


class OverlayReport(Wire):
    """The VM's part of the overlay as it is."""

    unable: str = Field(default="", description="why this VM can have no overlay; empty: it can, as far as is known")
    problem: str = Field(default="", description="what keeps it from being as the document says")
    kept: bool = Field(default=False, description="guard, tunnels and addresses are those of the document")
    epoch: int = Field(default=0, description="of the key; 0: there is none yet")
    public_key: str = Field(default="", description="base64; its private half is on the VM alone")
    peers: tuple[OverlayPeerReport, ...] = ()
