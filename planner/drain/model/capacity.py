"""The one place that decides what a broker can hold, take and give: given by a person, measured, or the catalogue's.

A figure nobody knows stays missing and is told with the way to give it; a figure nobody measured becomes an
assumption on the state and from there on the certificate. None ever becomes a silent 0.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Literal, NotRequired, get_args

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from planner.drain.model.files import IdText, SomeBytes, SomeRate, problem_of
from planner.drain.model.problem import DocumentRefused
from planner.quantities import human_bytes

Needed = Literal["disk_bytes", "ingress_bytes_per_s", "egress_bytes_per_s"]
"""Without them no drain is planned. The bandwidths are what migration may use, clients' share taken off."""

HardwareFigure = Literal[
    "nic_in_bytes_per_s",
    "nic_out_bytes_per_s",
    "disk_write_bytes_per_s",
    "disk_read_bytes_per_s",
    "disk_io_bytes_per_s",
]
"""Of the machine and its volumes (`planner.drain.model.hardware`). May be unknown."""

Figure = Literal[Needed, HardwareFigure]
"""The names the state file has for them."""

NEEDED: tuple[Needed, ...] = get_args(Needed)
HARDWARE: tuple[HardwareFigure, ...] = get_args(HardwareFigure)
FIGURES: tuple[Figure, ...] = (*NEEDED, *HARDWARE)

DIFFERS = 0.1
"""A measured figure this share beside what is told of the hardware is said to differ from it."""


class FigureOrigin(StrEnum):
    """Who says so: a person of just this cluster, a measurement, the spec, or the cloud's published figures. In this
    order they are believed, unless the caller orders its sources otherwise. What nobody says is unknown.
    """

    GIVEN = "given"
    MEASURED = "measured"
    SPEC = "spec"
    CATALOGUE = "catalogue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What one broker has; None = this source does not know. Raises ValueError for what is no amount: 0, below, NaN."""

    disk_bytes: int | None = None
    ingress_bytes_per_s: float | None = None
    egress_bytes_per_s: float | None = None
    nic_in_bytes_per_s: float | None = None
    nic_out_bytes_per_s: float | None = None
    disk_write_bytes_per_s: float | None = None
    disk_read_bytes_per_s: float | None = None
    disk_io_bytes_per_s: float | None = None

    def __post_init__(self) -> None:
        for name in FIGURES:
            value = self.of(name)
            if value is not None and not (value > 0 and math.isfinite(value)):
                raise ValueError(f"{name} must be a number above 0, not {value}: leave out what is not known")

    def of(self, figure: Figure) -> float | None:
        """The figure by its name."""
        value: float | None = getattr(self, figure)
        return value


UNKNOWN = Capacity()


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureSource:
    """Figures of one origin: by broker, and for every broker that has none there.

    `by_broker_words`, `everyone_words` say how they came to be ("75 % of the catalogue's NIC"); a figure with such
    words is an assumption, one without is a fact.
    """

    origin: FigureOrigin
    by_broker: Mapping[int, Capacity] = field(default_factory=dict)
    everyone: Capacity = UNKNOWN
    by_broker_words: str = ""
    everyone_words: str = ""

    def figure(self, broker: int, figure: Figure) -> tuple[float, str] | None:
        """The value and its words."""
        own = self.by_broker.get(broker, UNKNOWN).of(figure)
        if own is not None:
            return own, self.by_broker_words
        shared = self.everyone.of(figure)
        return None if shared is None else (shared, self.everyone_words)


@dataclass(frozen=True, slots=True)
class Resolved:
    """`missing` has only brokers that lack something that is needed. `assumptions` are for the state file. `origins`:
    who said each figure that is known.
    """

    by_broker: Mapping[int, Capacity]
    missing: Mapping[int, tuple[Figure, ...]]
    assumptions: tuple[str, ...]
    origins: Mapping[int, Mapping[Figure, FigureOrigin]] = field(default_factory=dict)


def resolve(brokers: Iterable[int], sources: Sequence[FigureSource]) -> Resolved:
    """Each figure of each broker from the first source that knows it. Where what was measured differs from what the
    spec or a catalogue says by more than `DIFFERS`, an assumption tells both.
    """
    ids = sorted(set(brokers))
    found: dict[int, dict[Figure, float]] = {broker: {} for broker in ids}
    origins: dict[int, dict[Figure, FigureOrigin]] = {broker: {} for broker in ids}
    values: dict[str, dict[Figure, list[int]]] = {}
    for broker in ids:
        for figure in FIGURES:
            answers = ((s.origin, a) for s in sources if (a := s.figure(broker, figure)) is not None)
            first = next(answers, None)
            if first is None:
                continue
            origins[broker][figure], (found[broker][figure], words) = first
            if first[0] is FigureOrigin.MEASURED and figure in HARDWARE:
                words = _differing(found[broker][figure], words, next(answers, None))
            if words:
                values.setdefault(words, {}).setdefault(figure, []).append(broker)
    return Resolved(
        by_broker={broker: _capacity(figures) for broker, figures in found.items()},
        missing={b: lacks for b in ids if (lacks := tuple(f for f in NEEDED if f not in found[b]))},
        assumptions=tuple(_assumptions(values, ids)),
        origins=origins,
    )


def _differing(measured: float, words: str, other: tuple[FigureOrigin, tuple[float, str]] | None) -> str:
    if other is None or abs(measured - other[1][0]) <= DIFFERS * other[1][0]:
        return words
    difference = f"measured {human_bytes(measured)}/s, where the {other[0]} says {human_bytes(other[1][0])}/s"
    return f"{words}; {difference}" if words else difference


def missing_lines(missing: Mapping[int, tuple[Figure, ...]]) -> tuple[str, ...]:
    """`ingress_bytes_per_s of brokers 1001, 1002`: one line per figure."""
    lacking = {figure: [b for b, lacks in sorted(missing.items()) if figure in lacks] for figure in FIGURES}
    return tuple(f"{figure} of {_named(ids)}" for figure, ids in lacking.items() if ids)


class CapacityEntry(TypedDict):
    """One broker; what is left out is looked for elsewhere."""

    disk_bytes: NotRequired[SomeBytes]
    ingress_bytes_per_s: NotRequired[SomeRate]
    egress_bytes_per_s: NotRequired[SomeRate]
    nic_in_bytes_per_s: NotRequired[SomeRate]
    nic_out_bytes_per_s: NotRequired[SomeRate]
    disk_write_bytes_per_s: NotRequired[SomeRate]
    disk_read_bytes_per_s: NotRequired[SomeRate]
    disk_io_bytes_per_s: NotRequired[SomeRate]
    rack: NotRequired[Annotated[str, Field(min_length=1)]]


@with_config(ConfigDict(title="Kedge capacity file", extra="forbid"))
class CapacityFile(TypedDict):
    """What people know of their brokers: by id, and `default` for the others."""

    version: Literal[1]
    default: NotRequired[CapacityEntry]
    brokers: NotRequired[dict[IdText, CapacityEntry]]


_FILE: TypeAdapter[CapacityFile] = TypeAdapter(CapacityFile)


@dataclass(frozen=True, slots=True)
class GivenCapacity:
    """A capacity file read: the figures as a source, and the racks it names by broker."""

    source: FigureSource
    racks: Mapping[int, str]


def read_capacity(data: bytes | str) -> GivenCapacity:
    """Raises DocumentRefused with every problem of the file."""
    try:
        file = _FILE.validate_json(data)
    except ValidationError as error:
        raise DocumentRefused("capacity file", map(problem_of, error.errors(include_url=False))) from error
    brokers = {int(broker): entry for broker, entry in file.get("brokers", {}).items()}
    source = FigureSource(
        origin=FigureOrigin.GIVEN,
        by_broker={broker: _of_entry(entry) for broker, entry in brokers.items()},
        everyone=_of_entry(file.get("default", {})),
        everyone_words="the default of the capacity file",
    )
    return GivenCapacity(source, {broker: entry["rack"] for broker, entry in brokers.items() if "rack" in entry})


def _of_entry(entry: CapacityEntry) -> Capacity:
    return Capacity(**{name: value for name in FIGURES if (value := entry.get(name)) is not None})  # type: ignore[arg-type]  # by name


def _capacity(figures: Mapping[Figure, float]) -> Capacity:
    disk = figures.get("disk_bytes")
    rates = {name: value for name, value in figures.items() if name != "disk_bytes"}
    return Capacity(disk_bytes=None if disk is None else int(disk), **rates)


def _assumptions(values: Mapping[str, Mapping[Figure, list[int]]], ids: Sequence[int]) -> Iterator[str]:
    """One line per origin and set of brokers, so that both directions of a bandwidth share theirs."""
    for words, figures in values.items():
        by_brokers: dict[tuple[int, ...], list[Figure]] = {}
        for figure, brokers in figures.items():
            by_brokers.setdefault(tuple(brokers), []).append(figure)
        for concerned, names in by_brokers.items():
            whose = f"all {len(ids)} brokers" if len(concerned) == len(ids) > 1 else _named(concerned)
            yield f"{' and '.join(names)} of {whose}: {words}"


def _named(brokers: Sequence[int], most: int = 8) -> str:
    head = ", ".join(map(str, brokers[:most])) + (f" and {len(brokers) - most} more" if len(brokers) > most else "")
    return f"broker{'s' * (len(brokers) != 1)} {head}"
