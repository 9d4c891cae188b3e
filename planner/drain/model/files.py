"""The shape of the state file and of the plan file, version 1: what the JSON Schemas in docs/ are made from.

What one field alone can get wrong is refused here; what fields say about each other, in document.py and
plan_document.py. Fields that are not named here are ignored, so that later additions do not stop old readers.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from pydantic_core import ErrorDetails
from typing_extensions import TypedDict

from planner.drain.model.problem import DocumentRefused, StateProblem, StateProblemKind

BrokerId = Annotated[int, Field(ge=0, le=2**31 - 1)]
Bytes = Annotated[int, Field(ge=0, le=2**63 - 1)]
SomeBytes = Annotated[int, Field(gt=0, le=2**63 - 1)]
Rate = Annotated[float, Field(ge=0, allow_inf_nan=False)]
SomeRate = Annotated[float, Field(gt=0, allow_inf_nan=False)]
IdText = Annotated[str, Field(pattern=r"^[0-9]{1,10}$")]
DirPath = Annotated[str, Field(pattern=r"^/")]


class LogDirEntry(TypedDict):
    """`used_bytes` of the disk are in use, by logs or anything else; without it the logs that are known to be there.
    Directories on one disk have to share it out: each has a part of its bytes.
    """

    path: DirPath
    disk_bytes: SomeBytes
    used_bytes: NotRequired[Bytes]


class BrokerEntry(TypedDict):
    """The two bandwidths are what migration may use: head-room, clients and steady replication are taken off.
    The figures of a dead broker may be missing: it neither takes nor gives. Without `log_dirs` a broker is seen as one
    disk; with them none of its directories is filled beyond the limit either.

    `nic_*` are the machine's whole network, one way, whatever runs. `disk_*_bytes_per_s` are what migration may use of
    its volumes: for writing, for reading, and for both together (`disk_io`). What is left out is not known.
    """

    id: BrokerId
    rack: Annotated[str, Field(min_length=1)]
    state: NotRequired[Literal["active", "outgoing", "new", "dead"]]
    disk_bytes: NotRequired[SomeBytes]
    ingress_bytes_per_s: NotRequired[SomeRate]
    egress_bytes_per_s: NotRequired[SomeRate]
    nic_in_bytes_per_s: NotRequired[SomeRate]
    nic_out_bytes_per_s: NotRequired[SomeRate]
    disk_write_bytes_per_s: NotRequired[SomeRate]
    disk_read_bytes_per_s: NotRequired[SomeRate]
    disk_io_bytes_per_s: NotRequired[SomeRate]
    log_dirs: NotRequired[Annotated[list[LogDirEntry], Field(min_length=1)]]


class PartitionEntry(TypedDict):
    """`replicas` in preferred order; `size_bytes` is one copy of the local log. Without `min_isr` one less than the
    replicas is assumed; without the rates they are unknown. Both are named as assumptions. `log_dirs`: the directory
    of each of the replicas, null where it is not known.
    """

    topic: Annotated[str, Field(min_length=1)]
    partition: Annotated[int, Field(ge=0, le=2**31 - 1)]
    replicas: Annotated[list[BrokerId], Field(min_length=1)]
    leader: BrokerId | Literal[-1] | None
    isr: list[BrokerId]
    size_bytes: Bytes
    min_isr: NotRequired[Annotated[int, Field(ge=1, le=2**15)]]
    write_bytes_per_s: NotRequired[Rate | None]
    read_bytes_per_s: NotRequired[Rate | None]
    log_dirs: NotRequired[list[DirPath | None]]


class BrokerSetsEntry(TypedDict):
    """`brokers`: the set of each, by id. `topics`: the set their replicas stay in, by full name, by the beginning of
    names with `*` behind it, or `*`. What is not named is in the set without a name.
    """

    brokers: dict[IdText, str]
    topics: dict[Annotated[str, Field(min_length=1)], str]


@with_config(ConfigDict(title="Kedge state file"))
class StateFile(TypedDict):
    """One cluster at one moment, as input for `kedge drain plan`. `assumptions`: what whoever wrote the file had to
    take for granted; they go on the certificate.
    """

    version: Literal[1]
    disk_limit: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
    flow_bytes_per_s: SomeRate
    brokers: Annotated[list[BrokerEntry], Field(min_length=1)]
    partitions: list[PartitionEntry]
    destinations: NotRequired[dict[IdText, Annotated[list[BrokerId], Field(min_length=1)]]]
    broker_sets: NotRequired[BrokerSetsEntry]
    assumptions: NotRequired[list[str]]


class MeasureEntry(TypedDict):
    """null: it never ends, or nothing can reach it."""

    value: float | None
    bound: float | None


class CertificateEntry(TypedDict):
    """Each measure beside the bound that no plan can beat."""

    bytes: MeasureEntry
    makespan_s: MeasureEntry
    disk: MeasureEntry
    leaders: MeasureEntry
    release_s: MeasureEntry
    leader_changes: NotRequired[MeasureEntry]


class MoveEntry(TypedDict):
    """`replicas` after the move, in preferred order. Without `source` the leader now is read. `log_dirs`: the absolute
    path each of the replicas goes to, or "any": it is there already, or Kafka chooses.
    """

    topic: Annotated[str, Field(min_length=1)]
    partition: Annotated[int, Field(ge=0, le=2**31 - 1)]
    replicas: Annotated[list[BrokerId], Field(min_length=1)]
    source: NotRequired[BrokerId | None]
    log_dirs: NotRequired[list[str]]


SlotsEntry = TypedDict(
    "SlotsEntry",
    {
        "in": NotRequired[Annotated[int, Field(ge=0, le=2**31 - 1)]],
        "out": NotRequired[Annotated[int, Field(ge=0, le=2**31 - 1)]],
    },
)


class ThrottleEntry(TypedDict):
    """Without a figure the broker has its bandwidth."""

    in_bytes_per_s: NotRequired[Rate]
    out_bytes_per_s: NotRequired[Rate]


@with_config(ConfigDict(title="Kedge drain plan"))
class PlanFile(TypedDict):
    """Entries in release order. Without anything but `partitions` it is Kafka's reassignment JSON, read as a plan
    that starts everything at once.
    """

    version: Literal[1]
    partitions: list[MoveEntry]
    certificate: NotRequired[CertificateEntry]
    assumptions: NotRequired[list[str]]
    slots: NotRequired[dict[IdText, SlotsEntry]]
    throttles: NotRequired[dict[IdText, ThrottleEntry]]
    checkpoints: NotRequired[list[Annotated[int, Field(ge=0)]]]


_STATE: TypeAdapter[StateFile] = TypeAdapter(StateFile)
_PLAN: TypeAdapter[PlanFile] = TypeAdapter(PlanFile)


def parse_state(data: bytes | str) -> StateFile:
    """Shape and single figures are right; raises DocumentRefused."""
    try:
        return _STATE.validate_json(data)
    except ValidationError as error:
        raise DocumentRefused("state file", map(problem_of, error.errors(include_url=False))) from error


def checked_state(document: Mapping[str, Any]) -> StateFile:
    """As `parse_state`, of a document that is no text: nothing is written and parsed again."""
    try:
        return _STATE.validate_python(document)
    except ValidationError as error:
        raise DocumentRefused("state file", map(problem_of, error.errors(include_url=False))) from error


def parse_plan(data: bytes | str) -> PlanFile:
    """Shape and single figures are right; raises DocumentRefused."""
    try:
        return _PLAN.validate_json(data)
    except ValidationError as error:
        raise DocumentRefused("plan file", map(problem_of, error.errors(include_url=False))) from error


_FIGURE_ERRORS = ("greater", "less", "finite", "too_short", "int_parsing_size", "int_from_float")


def problem_of(error: ErrorDetails) -> StateProblem:
    """What pydantic found, as a problem with its place in the file."""
    kind = StateProblemKind.SHAPE
    if error["type"] == "json_invalid":
        kind = StateProblemKind.SYNTAX
    elif any(word in error["type"] for word in _FIGURE_ERRORS):
        kind = StateProblemKind.FIGURE
    message = "is missing" if error["type"] == "missing" else f"{error['msg']}{_shown(error)}"
    return StateProblem(kind, _path(error["loc"]), message)


def _shown(error: ErrorDetails) -> str:
    value = error.get("input")
    return f", not {value!r}" if isinstance(value, (str, int, float)) and len(repr(value)) <= 60 else ""


def _path(loc: tuple[int | str, ...]) -> str:
    path = ""
    for part in loc:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path or "file"
