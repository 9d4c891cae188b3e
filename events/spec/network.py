"""How the nodes of a cluster reach one another, beside the networks of their places."""

from typing import Literal

from events.spec import scalars
from events.spec.fields import FieldClass, Part, classed

MOST_OVERLAY_NODES = 200
OVERLAY_PORTS = 4
"""UDP, one after another: two kinds of path, each for the keys in use and for the next ones."""
OVERLAY_PROBE_PORT = 51_819
"""UDP, within the tunnels: agents probe one another at it (`agent.overlay.probing`)."""


class OverlaySpec(Part):
    """An encrypted IPv6 network between a cluster's nodes, over whatever networks they are in."""

    type: Literal["wireguard"] = classed(
        FieldClass.IDENTITY,
        "`wireguard`: tunnels of WireGuard between all nodes; what is not of another node gets in nowhere.",
    )
    port: scalars.Whole = classed(
        FieldClass.IDENTITY,
        "First of four UDP ports, one after another, at which nodes take tunnels.",
        default=51_820,
        ge=1024,
        le=65_536 - OVERLAY_PORTS,
    )


class NetworkSpec(Part):
    """How nodes reach one another."""

    overlay: OverlaySpec | None = classed(
        FieldClass.IDENTITY,
        "One encrypted IPv6 network for all nodes, wherever they are. It is only checked by now: no cluster with one "
        "is declared. Absent: nodes reach one another at their private addresses.",
        default=None,
    )
