"""What is known of a cluster's load beside its metadata: the same figures for who decides that it is uneven and for who
plans. What is missing is unknown, never 0."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from planner.drain.model.capacity import FigureSource, HardwareFigure
from planner.observed import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownLoad:
    """Rates of partitions and networks of brokers in bytes/s, one way. `cpu_used`: the share of its processors a broker
    uses, 0 to 1; `processors`: how many it has. `demoted`: brokers that are to lead nothing.
    """

    write_bytes_per_s: Mapping[TopicPartition, float] = field(default_factory=dict)
    read_bytes_per_s: Mapping[TopicPartition, float] = field(default_factory=dict)
    nic_in_bytes_per_s: Mapping[int, float] = field(default_factory=dict)
    nic_out_bytes_per_s: Mapping[int, float] = field(default_factory=dict)
    cpu_used: Mapping[int, float] = field(default_factory=dict)
    processors: Mapping[int, int] = field(default_factory=dict)
    demoted: frozenset[int] = frozenset()


NO_LOAD = KnownLoad()
"""Only the metadata is known."""


def figures_of(brokers: Iterable[int], sources: Iterable[FigureSource], figure: HardwareFigure) -> Mapping[int, float]:
    """By broker, from the first source that knows it (`capacity.resolve` without its account)."""
    known = tuple(sources)
    found = {b: next((a[0] for s in known if (a := s.figure(b, figure)) is not None), None) for b in brokers}
    return {b: value for b, value in found.items() if value is not None}
