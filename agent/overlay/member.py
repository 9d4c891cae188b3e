"""One VM's part of an overlay: its guard, its tunnels, and the path to each peer, kept as they are wanted.

The agent may end at any moment: what it has set up is the kernel's, and goes on without it.
"""

import logging
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

from agent.durable import write_durably
from agent.overlay.choice import Choice, PathState, answered, choose, missed
from agent.overlay.guard import TABLE, guard
from agent.overlay.keys import KeyUnusable, own_key, public_half
from agent.overlay.network import Overlay, Peer
from agent.overlay.probing import ProbeOutcome, Prober
from agent.overlay.reading import seen
from agent.overlay.tunnels import ToolCommand, differences, removal, routed, taken
from agent.packet_filter import PacketFilter
from agent.tools import Tool, ToolFailed, output_of

_log = logging.getLogger(__name__)

PROBE_S = 0.5
LOOK_EVERY_S = 60.0
"""How often it is looked whether the kernel still has what it was told: anybody with root may have changed it."""


class OverlayMember:
    """Of one thread. `folder` is the agent's own, which nobody else may read."""

    def __init__(self, folder: Path, run: Tool, monotonic: Callable[[], float], *, probe_s: float = PROBE_S) -> None:
        self._folder, self._run, self._monotonic, self._probe_s = folder, run, monotonic, probe_s
        self._filter = PacketFilter(folder / "guard.nft", run, table=TABLE)
        self._wanted: Overlay | None = None
        self._prober: Prober | None = None
        self._choices: dict[str, Choice] = {}
        self._looked_s = float("-inf")
        self._indexes: tuple[int, ...] = ()
        self._peers: dict[str, Peer] = {}
        self._public_keys: dict[int, str] = {}

    @property
    def choices(self) -> Mapping[str, Choice]:
        """By node: the paths there are, and the one in use."""
        return self._choices

    def public_key(self, epoch: int) -> str:
        """Of this VM's key of that epoch, "" before there is one."""
        return self._public_keys.get(epoch, "")

    def keep(self, wanted: Overlay) -> None:
        """Makes it so: the guard first, then only what differs. Raises ToolFailed, KeyUnusable and OSError; what was
        done stays, and again is fine."""
        now_s, is_same = self._monotonic(), (wanted, _indexes(wanted)) == (self._wanted, self._indexes)
        if is_same and now_s - self._looked_s < LOOK_EVERY_S:
            return
        filtered = self._filter.keep(guard(wanted.prefix, [link.name for link in wanted.links]), now_s)
        if filtered is not None and filtered.problem:
            raise OSError(f"the overlay has no guard, and so nothing of it is set up: {filtered.problem}")
        key = self._key(wanted)
        there = seen(self._run, wanted)
        choices = _choices(wanted, self._choices, routed(wanted, there))
        for command in differences(wanted, key, {node: choice.path for node, choice in choices.items()}, there):
            self._do(command)
        self._choices, self._looked_s = choices, now_s
        if not is_same:
            self._probe(wanted)

    def remove(self, gone: Overlay) -> None:
        """Takes away what there is of it, the guard last; the keys stay. Raises ToolFailed; again is fine."""
        self.leave()
        for command in removal(seen(self._run, gone, makes=False)):
            self._do(command)
        self._filter.remove()
        self._choices = {}

    def turn(self, most_s: float) -> bool:
        """Probes for `most_s` at most, and takes another path where one is better; False where there is nothing to
        probe. Raises ToolFailed, after all peers had their turn."""
        if self._wanted is None or self._prober is None:
            return False
        outcomes = self._prober.turn(most_s)
        now_s, heard = self._monotonic(), {outcome.node for outcome in outcomes}
        for outcome in outcomes:
            self._choices[outcome.node] = _with(self._choices[outcome.node], outcome, now_s)
        failures = []
        for node in sorted(heard):
            try:
                self._choose(self._wanted, node, now_s)
            except ToolFailed as failure:
                failures.append(f"{node}: {failure}")
        if failures:
            raise ToolFailed("; ".join(failures))
        return True

    def _choose(self, wanted: Overlay, node: str, now_s: float) -> None:
        before = self._choices[node]
        after = choose(before, wanted.order, now_s)
        if after.path != before.path:
            for command in taken(wanted, self._peers[node], after.path):
                self._do(command)
            _log.info("%s is reached by its %s path, before by %s", node, after.path, before.path or "none")
        self._choices[node] = after

    def leave(self) -> None:
        """Stops probing. Tunnels, routes and guard stay."""
        if self._prober is not None:
            self._prober.close()
        self._prober = self._wanted = None

    def _key(self, wanted: Overlay) -> str:
        """A peer with this VM's own key is a VM made from the same disk: each of them would get the other's traffic."""
        key = own_key(self._folder / f"overlay-{wanted.epoch}.key", self._run)
        if wanted.epoch not in self._public_keys:
            self._public_keys[wanted.epoch] = public_half(key)
        for peer in wanted.peers:
            if peer.public_key == self._public_keys[wanted.epoch]:
                raise KeyUnusable(f"peer {peer.node} has this VM's key, as one made from the same disk: replace it")
        return key

    def _probe(self, wanted: Overlay) -> None:
        self.leave()
        self._prober = Prober(wanted, interval_s=self._probe_s, monotonic=self._monotonic)
        self._wanted, self._indexes = wanted, _indexes(wanted)
        self._peers = {peer.node: peer for peer in wanted.peers}

    def _do(self, command: ToolCommand) -> None:
        words = command.words
        if command.configuration:
            file = self._folder / f"{words[-1]}.conf"
            write_durably(file, command.configuration.encode(), mode=0o600)
            words = (*words, str(file))
        output_of(self._run, words)


def _indexes(wanted: Overlay) -> tuple[int, ...]:
    """Of its tunnels, 0 for one that is gone: a tunnel that was made anew has another, and the sockets of the old one
    send nothing."""
    return tuple(_index(link.name) for link in wanted.links)


def _index(name: str) -> int:
    try:
        return socket.if_nametoindex(name)
    except OSError:
        return 0


def _choices(wanted: Overlay, before: Mapping[str, Choice], routed: Mapping[str, str]) -> dict[str, Choice]:
    """Those there were go on; of a peer that is new to this agent, the path the kernel has."""
    choices = {peer.node: before.get(peer.node, Choice(path=routed[peer.node])) for peer in wanted.peers}
    return {
        peer.node: choices[peer.node] if choices[peer.node].path in peer.paths else Choice() for peer in wanted.peers
    }


def _with(choice: Choice, outcome: ProbeOutcome, now_s: float) -> Choice:
    path = choice.paths.get(outcome.path, PathState())
    after = missed(path) if outcome.rtt_s is None else answered(path, outcome.rtt_s, now_s)
    return Choice({**choice.paths, outcome.path: after}, choice.path, choice.since_s)
