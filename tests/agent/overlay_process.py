"""An agent that keeps an overlay and nothing else: `FOLDER` has `overlay.json`, read again as it changes, and gets
`choices.jsonl`, a line for each path that is taken."""

import json
import sys
import time
from ipaddress import IPv6Address, IPv6Network
from pathlib import Path
from typing import Any

from agent.host_port import HostPort
from agent.overlay.member import OverlayMember
from agent.overlay.network import Link, Overlay, Peer
from agent.tools import run_tool

PROBE_S = 1.0
"""Twice the agent's own: this may run beside much else."""


def overlay_of(told: dict[str, Any]) -> Overlay:
    return Overlay(
        IPv6Network(told["prefix"]),
        IPv6Address(told["vm"]),
        tuple(map(IPv6Address, told["services"])),
        tuple(Link(**link) for link in told["links"]),
        tuple(_peer(peer) for peer in told["peers"]),
    )


def _peer(told: dict[str, Any]) -> Peer:
    services = tuple(map(IPv6Address, told["services"]))
    paths = {path: HostPort.parse(at) if at else None for path, at in told["paths"].items()}
    return Peer(told["node"], told["public_key"], IPv6Address(told["vm"]), services, paths)


def main(folder: Path) -> None:
    member = OverlayMember(folder, run_tool, time.monotonic, probe_s=PROBE_S)
    known: dict[str, str] = {}
    with (folder / "choices.jsonl").open("a", buffering=1) as choices:
        while True:
            member.keep(overlay_of(json.loads((folder / "overlay.json").read_text())))
            member.turn(0.1)
            for node, choice in member.choices.items():
                if choice.path != known.get(node):
                    choices.write(json.dumps({"node": node, "path": choice.path, "at_s": time.monotonic()}) + "\n")
            known = {node: choice.path for node, choice in member.choices.items()}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
