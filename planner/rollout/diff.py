"""Desired against actual, node by node: what to make, replace, remove or keep, each with its reason."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from planner.rollout.desired import DesiredNode


class Change(StrEnum):
    CREATE = "create"
    REPLACE = "replace"
    RESTART = "restart"
    REMOVE = "remove"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class Incumbent:
    """The instance that fills a node today.

    `config` are the spec's Kafka settings its digest was made of, None where nobody knows them any more; `restarts`
    names the settings that differ now and that Kafka reads only when it starts.
    """

    node: str
    generation: int
    rack: str
    index: int
    service: str
    service_id: int
    digest: str
    kafka_version: str
    shape: str
    lost: bool
    config: Mapping[str, str] | None = None
    restarts: tuple[str, ...] = ()
    restart_asked: str = ""
    """Why a person wants its service started anew, "" when nobody does."""
    replace_asked: str = ""
    """Why a person wants the VM replaced, "" when nobody does."""
    broken: str = ""
    """How it is known that its disk holds nothing any more, "" where it holds what it should."""
    relist: str = ""
    """Why it has to be told the controllers anew, "" where it was told enough."""

    @property
    def key(self) -> str:
        return f"{self.node}.g{self.generation}"

    @property
    def to_mend(self) -> bool:
        """Its VM is gone, or its disk is."""
        return self.lost or bool(self.broken)


@dataclass(frozen=True, slots=True)
class NodeChange:
    """What is to become of one node, and why."""

    node: str
    change: Change
    reason: str
    desired: DesiredNode | None
    incumbent: Incumbent | None

    @property
    def service(self) -> str:
        known = self.desired or self.incumbent
        return known.service if known else ""

    @property
    def rack(self) -> str:
        known = self.desired or self.incumbent
        return known.rack if known else ""


def node_changes(desired: Iterable[DesiredNode], incumbents: Iterable[Incumbent]) -> tuple[NodeChange, ...]:
    """One change a node, sorted by node name. A lost incumbent is replaced, or removed if nobody wants its node."""
    wanted = {d.node: d for d in desired}
    actual = {i.node: i for i in incumbents}
    return tuple(_change(node, wanted.get(node), actual.get(node)) for node in sorted(wanted.keys() | actual.keys()))


def _change(node: str, want: DesiredNode | None, have: Incumbent | None) -> NodeChange:
    if have is None:
        return NodeChange(node, Change.CREATE, f"{node} does not exist yet", want, None)
    if want is None:
        return NodeChange(node, Change.REMOVE, f"{node} is not in the spec any more", None, have)
    if have.lost:
        return NodeChange(node, Change.REPLACE, f"the VM of {node} is gone", want, have)
    if have.broken:
        return NodeChange(node, Change.REPLACE, f"{node}: {have.broken}", want, have)
    if _is_another_vm(want, have):
        return NodeChange(node, Change.REPLACE, f"{node}: {_difference(want, have)}", want, have)
    if have.replace_asked:
        return NodeChange(node, Change.REPLACE, f"{node}: {have.replace_asked}", want, have)
    if have.restarts:
        return NodeChange(node, Change.RESTART, f"{node}: {_restart_words(have.restarts)}", want, have)
    if have.restart_asked:
        return NodeChange(node, Change.RESTART, f"{node}: {have.restart_asked}", want, have)
    if have.relist:
        return NodeChange(node, Change.RESTART, f"{node}: {have.relist}", want, have)
    return NodeChange(node, Change.KEEP, "", want, have)


def _is_another_vm(want: DesiredNode, have: Incumbent) -> bool:
    """Whether more differs than the Kafka settings: compared as if the spec still said what the VM was made with."""
    if have.digest == want.digest:
        return False
    return have.config is None or have.digest != want.digest_with(have.config)


def _restart_words(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"Kafka reads {names[0]}{more} when it starts"


def _difference(want: DesiredNode, have: Incumbent) -> str:
    if want.kafka_version != have.kafka_version:
        return f"Kafka {have.kafka_version} -> {want.kafka_version}"
    if want.shape != have.shape:
        return f"machine {have.shape} -> {want.shape}"
    return f"its fixed settings changed ({have.digest} -> {want.digest})"
