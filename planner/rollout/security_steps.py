"""How a living cluster goes from plaintext between its nodes to TLS, and back: the steps, in their order. Pure.

    0 plaintext -C1-> 1 -B1-> 2 -C2-> 3 -B2-> 4 -B3-> 5 -C3-> 6 TLS alone

Each is a restart in place of all controllers (C) or all brokers (B), and is undone by another one. None is skipped: a
voter whose endpoints lack the listener its leader dials by is refused by it and ends itself (run on 4.2.0), which is
what C2 is for.

In mode `zookeeper` the servers of the ensemble (Z) are in the place of the controllers, with the same positions: a
server dials the others in plaintext until Z2, and takes both until Z3.
"""

from dataclasses import dataclass
from typing import Literal

PLAIN, OVER = "", "tls"
"""What a service is started with before its first step, and after its last one; between them its step by name."""


Quorum = Literal["controller", "zookeeper"]
"""The service of who votes."""


EnsemblePart = Literal["", "membership", "owners"]
"""`membership`: whether it says where servers listen in plaintext. Once it does not, their own files say so until Z3: a
server that has closed that port could not open it by a change of the membership. `owners`: whether what brokers write
nodes alone may change. They come by certificates since B1, so all get at what B2 makes theirs, there and back."""


@dataclass(frozen=True, slots=True)
class SecurityStep:
    """`does` tells people what the services are after it, `clients` what it means to clients. `puts`: what ZooKeeper
    keeps itself, and no start of a service changes, is put right at its end, there and back."""

    name: str
    service: str
    does: str
    clients: str = ""
    puts: EnsemblePart = ""

    @property
    def services(self) -> str:
        """Who is restarted for it, in words."""
        return "ZooKeeper servers" if self.service == "zookeeper" else f"{self.service}s"


_OPENED = "listeners that the spec adds are open from here on; those of before go on"
_COPIES = "brokers speak TLS to one another: nothing is copied in plaintext any more"

STEPS = (
    SecurityStep("C1", "controller", "controllers listen with TLS, too (9090)"),
    SecurityStep(
        "B1",
        "broker",
        "brokers speak TLS to controllers, and listen with TLS for one another (9091), too",
        _OPENED,
    ),
    SecurityStep("C2", "controller", "controllers speak TLS to one another, and know who may do what"),
    SecurityStep("B2", "broker", _COPIES),
    SecurityStep("B3", "broker", "brokers are what they are in a cluster born with TLS"),
    SecurityStep("C3", "controller", "controllers listen with TLS alone: 9093 is closed, and there is no way back"),
)
ENSEMBLE_STEPS = (
    SecurityStep("Z1", "zookeeper", "servers listen with TLS, too (2182), and take one another's connections in both"),
    SecurityStep(
        "B1",
        "broker",
        "brokers speak TLS to the ensemble, and listen with TLS for one another (9091), too",
        _OPENED,
    ),
    SecurityStep(
        "Z2",
        "zookeeper",
        "servers speak TLS to one another, and their membership names 2181 no more",
        puts="membership",
    ),
    SecurityStep(
        "B2",
        "broker",
        f"{_COPIES}; they know who may do what, and what they keep in ZooKeeper is the nodes' own",
        puts="owners",
    ),
    SecurityStep("B3", "broker", "brokers are what they are in a cluster born with TLS"),
    SecurityStep("Z3", "zookeeper", "servers listen with TLS alone: 2181 is closed, and there is no way back"),
)
FIRST, LAST = 0, len(STEPS)
"""Positions: how many steps are made."""


def steps_of(quorum: Quorum) -> tuple[SecurityStep, ...]:
    """Those of a cluster with such voters."""
    return ENSEMBLE_STEPS if quorum == "zookeeper" else STEPS


def config_at(service: str, position: int, quorum: Quorum = "controller") -> str:
    """What a service of that kind is started with once so many steps are made: `PLAIN`, a step's name, or `OVER`."""
    own = [(number, step) for number, step in enumerate(steps_of(quorum), start=1) if step.service == service]
    if not own:  # no step is theirs: they keep what they were born with
        return OVER if position == LAST else PLAIN
    made = [step for number, step in own if number <= position]
    if not made:
        return PLAIN
    return OVER if made[-1] is own[-1][1] else made[-1].name


def between(before: int, after: int, quorum: Quorum = "controller") -> SecurityStep:
    """The step that leads from one position to the next one, or is undone on the way to the one before."""
    if abs(before - after) != 1 or not (min(before, after) >= FIRST and max(before, after) <= LAST):
        raise ValueError(f"no step leads from position {before} to {after}: none is skipped")
    return steps_of(quorum)[min(before, after)]


def next_position(position: int, *, wants_tls: bool) -> int:
    """Where to go next; the same where nothing is left to do."""
    return min(position + 1, LAST) if wants_tls else max(position - 1, FIRST)


def controller_listeners(config: str, *, plain_port: int, tls_port: int) -> frozenset[tuple[str, int]]:
    """(name, port) of what a controller with that configuration listens by: what has to be in the metadata log."""
    plain, tls = ("CONTROLLER", plain_port), ("CONTROLPLANE", tls_port)
    return frozenset({PLAIN: [plain], OVER: [tls]}.get(config, [plain, tls]))
