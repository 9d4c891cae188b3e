"""How a living cluster goes from plaintext between its nodes to TLS, and back: the steps, in their order. Pure.

    0 plaintext -C1-> 1 -B1-> 2 -C2-> 3 -B2-> 4 -B3-> 5 -C3-> 6 TLS alone

Each is a restart in place of all controllers (C) or all brokers (B), and is undone by another one. None is skipped: a
voter whose endpoints lack the listener its leader dials by is refused by it and ends itself (run on 4.2.0), which is
what C2 is for.
"""

from collections.abc import Collection
from dataclasses import dataclass

PLAIN, OVER = "", "tls"
"""What a service is started with before its first step, and after its last one; between them its step by name."""


@dataclass(frozen=True, slots=True)
class SecurityStep:
    """`does` tells people what the services are after it, `clients` what it means to clients."""

    name: str
    service: str
    does: str
    clients: str = ""


STEPS = (
    SecurityStep("C1", "controller", "controllers listen with TLS, too (9090)"),
    SecurityStep(
        "B1",
        "broker",
        "brokers speak TLS to controllers, and listen with TLS for one another (9091), too",
        "listeners that the spec adds are open from here on; those of before go on",
    ),
    SecurityStep("C2", "controller", "controllers speak TLS to one another, and know who may do what"),
    SecurityStep("B2", "broker", "brokers speak TLS to one another: nothing is copied in plaintext any more"),
    SecurityStep("B3", "broker", "brokers are what they are in a cluster born with TLS"),
    SecurityStep("C3", "controller", "controllers listen with TLS alone: 9093 is closed, and there is no way back"),
)
FIRST, LAST = 0, len(STEPS)
"""Positions: how many steps are made."""


def config_at(service: str, position: int) -> str:
    """What a service of that kind is started with once so many steps are made: `PLAIN`, a step's name, or `OVER`."""
    own = [(number, step) for number, step in enumerate(STEPS, start=1) if step.service == service]
    if not own:  # ZooKeeper's servers: born with what they have, as no step is theirs
        return OVER if position == LAST else PLAIN
    made = [step for number, step in own if number <= position]
    if not made:
        return PLAIN
    return OVER if made[-1] is own[-1][1] else made[-1].name


def between(before: int, after: int) -> SecurityStep:
    """The step that leads from one position to the next one, or is undone on the way to the one before."""
    if abs(before - after) != 1 or not (min(before, after) >= FIRST and max(before, after) <= LAST):
        raise ValueError(f"no step leads from position {before} to {after}: none is skipped")
    return STEPS[min(before, after)]


def next_position(position: int, *, wants_tls: bool) -> int:
    """Where to go next; the same where nothing is left to do."""
    return min(position + 1, LAST) if wants_tls else max(position - 1, FIRST)


def controller_listeners(config: str, *, plain_port: int, tls_port: int) -> frozenset[tuple[str, int]]:
    """(name, port) of what a controller with that configuration listens by: what has to be in the metadata log."""
    plain, tls = ("CONTROLLER", plain_port), ("CONTROLPLANE", tls_port)
    return frozenset({PLAIN: [plain], OVER: [tls]}.get(config, [plain, tls]))


def step_names(positions: Collection[int]) -> str:
    """`C1, B1`: the steps between the lowest and the highest of these."""
    return ", ".join(step.name for step in STEPS[min(positions) : max(positions)])
