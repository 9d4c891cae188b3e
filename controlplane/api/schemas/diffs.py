"""What the HTTP API says of what differs: desired from observed, and one generation of a spec from another."""

from datetime import datetime
from typing import Any

from pydantic import Field

from controlplane.api.schemas.messages import Message
from controlplane.api.schemas.specs import FieldChangeOut, StepOut


class FieldOut(Message):
    """One thing that was asked for, and what there is."""

    id: str = Field(description="its own in the answer: what `after` takes")
    subject: str = Field(description="`cluster`, or a node")
    name: str
    desired: str
    observed: str
    same: bool
    drift: bool = Field(description="it changed though nobody declared that")


class ReportedOut(Message):
    """A Kafka setting that was declared, by value: which brokers were told it, and which say they run with it."""

    name: str
    declared: str | None
    told: dict[str, list[int]]
    runs: dict[str, list[int]]
    silent: list[int] = Field(description="brokers that did not answer")
    word: str = Field(description="same, differs or unknown")


class DiffOut(Message):
    """What differs, and what is left to do about it. `fields` may be a page of those asked for."""

    cluster: str
    metadata_age_s: float | None
    differ: int
    same: int
    fields: list[FieldOut]
    reported: list[ReportedOut] = Field(description="empty unless asked for")
    reported_unknown: str = Field(description="why brokers could not be asked, empty where they could")
    pending: list[StepOut]


class DeclaredOut(Message):
    """One declaration of a cluster. `text` is the spec with every field, as YAML."""

    cluster: str
    generation: int
    declared_at: datetime
    declared_by: str
    source: str
    in_force: bool
    position: int = Field(description="of its event in the log")
    document: dict[str, Any]
    text: str


class ComparedOut(Message):
    """Two generations: what the newer one changes, field by field. `total` counts them; `changes` may be a page."""

    cluster: str
    old: int
    new: int
    changes: list[FieldChangeOut]
    total: int
