"""Desired against actual, node by node: what to make, replace, remove or keep, each with its reason."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from planner.rollout.desired import DesiredNode


class Change(StrEnum):
    CREATE = "create"
    REPLACE = "replace"
    REMOVE = "remove"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class Incumbent:
    """The instance that fills a node today."""

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

    @property
    def key(self) -> str:
        return f"{self.node}.g{self.generation}"


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
    if have.digest != want.digest:
        return NodeChange(node, Change.REPLACE, f"{node}: {_difference(want, have)}", want, have)
    return NodeChange(node, Change.KEEP, "", want, have)


def _difference(want: DesiredNode, have: Incumbent) -> str:
    if want.kafka_version != have.kafka_version:
        return f"Kafka {have.kafka_version} -> {want.kafka_version}"
    if want.shape != have.shape:
        return f"machine {have.shape} -> {want.shape}"
    return f"its fixed settings changed ({have.digest} -> {want.digest})"
