"""What the API takes and says of a spec: its problems, its plan, and what came of it."""

from datetime import datetime
from typing import Any, Final

from pydantic import Field

from controlplane.api.schemas.costs import PlanCostOut
from controlplane.api.schemas.messages import Message


class ProblemOut(Message):
    """One thing wrong with a spec, at its place in the file."""

    file: str
    line: int
    column: int
    code: str
    severity: str = Field(description="error or warning")
    message: str
    fix: str


class SpecIn(Message):
    """A spec file as it is, and its name for messages."""

    text: str
    file: str = "spec.yaml"


class ApplyIn(SpecIn):
    """Declare what the file says. With `plan_digest`, only if the plan is still exactly that one."""

    plan_digest: str | None = None
    message: str = ""
    dry_run: bool = False


class ValidateOut(Message):
    """Every problem of a file at once. `ok` is False when at least one is an error."""

    ok: bool
    clusters: list[str]
    problems: list[ProblemOut]
    topics: list[str] = Field(default_factory=list, description="CLUSTER/TOPIC of each topic of the file")
    users: list[str] = Field(default_factory=list, description="CLUSTER/USER of each user of the file")
    failovers: list[str] = Field(default_factory=list, description="names of the pairs of clusters of the file")


class StepOut(Message):
    """One node's part in a roll."""

    change: str
    node: str
    rack: str
    service: str
    reason: str
    how: list[str]
    bytes: int
    seconds: float


class PhaseOut(Message):
    name: str
    parallel: bool
    steps: list[StepOut]


class FieldChangeOut(Message):
    """One changed field of the spec with its class: static, restart, dynamic, behavioural or identity."""

    path: str
    old: Any
    new: Any
    field_class: str
    effect: str = Field(default="", description="what will happen, where more is known than the class says")


YOUNG_S: Final = 15.0
"""Sizes of replicas as old as this are told without their age."""


class PlanOut(Message):
    """What applying a document would do to one cluster. `digest` pins it: `apply` refuses when it has moved."""

    cluster: str
    exists: bool
    generation: int = Field(description="the generation it would become")
    changes: list[FieldChangeOut]
    phases: list[PhaseOut]
    bytes: int
    sizes_age_s: float | None = Field(default=None, description="of what `bytes` is from; null: nobody has read it")
    seconds: float
    warnings: list[str]
    digest: str
    brake: str = Field(default="", description="what the fleet's brake says to it now, when it replaces VMs")
    window: str = Field(default="", description="what windows and freezes say to it now, where there are any")
    networks: list[str] = Field(default_factory=list, description="networks that are made before the first VM")
    clients: list[str] = Field(default_factory=list, description="clients too old for the Kafka version, in words")
    moves: list[str] = Field(default_factory=list, description="pools that move to another place, and what that copies")
    afterwards: list[str] = Field(default_factory=list, description="data that moves once the steps are done, in words")
    preset: list[str] = Field(default_factory=list, description="what `preset` of the spec stands for, in words")
    sizes: list[str] = Field(
        default_factory=list, description="heap and threads of new VMs, where their machine decides them, in words"
    )
    cost: PlanCostOut | None = Field(default=None, description="null where no cloud of it sells anything")

    @property
    def is_empty(self) -> bool:
        return not self.changes and not self.phases


class PlansOut(Message):
    """The plans of all documents of a file, or its problems."""

    ok: bool
    problems: list[ProblemOut]
    plans: list[PlanOut]
    digest: str = Field(default="", description="pins all of it, topics too: what `apply` takes as `plan_digest`")
    topics: list[str] = Field(default_factory=list, description="what would be declared of topics, a line each")
    users: list[str] = Field(default_factory=list, description="what would be declared of users, a line each")
    failovers: list[str] = Field(default_factory=list, description="what would be declared of pairs, a line each")
    reserved: list[str] = Field(
        default_factory=list, description="why a second person must approve; empty: none is needed"
    )

    @property
    def beside(self) -> list[str]:
        """What would be declared beside clusters, a line each."""
        return [*self.topics, *self.users, *self.failovers]


class AppliedOut(Message):
    """What came of an apply, by cluster."""

    cluster: str
    uid: str
    generation: int
    changed: bool
    created: bool


class TopicsAppliedOut(Message):
    """What came of the topics, or of the users, of an apply, by cluster."""

    cluster: str
    changed: bool
    sentence: str


class PairAppliedOut(Message):
    """What came of one pair of clusters of an apply."""

    name: str
    changed: bool
    sentence: str


class ApplyOut(Message):
    ok: bool
    problems: list[ProblemOut]
    applied: list[AppliedOut]
    plans: list[PlanOut]
    topics: list[TopicsAppliedOut] = Field(default_factory=list)
    users: list[TopicsAppliedOut] = Field(default_factory=list)
    failovers: list[PairAppliedOut] = Field(default_factory=list)
    proposal: str = Field(default="", description="id of the proposal it became: nothing is declared before a yes")
    reserved: list[str] = Field(default_factory=list, description="why a second person must approve")


class SpecSourceOut(Message):
    """Where the spec of a cluster comes from. Parts of a file's address are empty for `api`.

    `sync`: Synced, OutOfSync, Refused, Unknown; "" for `api`.
    """

    source: str = Field(default="api", description="`git:BINDING` or `api`")
    repository: str = ""
    branch: str = ""
    path: str = ""
    commit: str = Field(default="", description="the commit whose declaration is in force")
    author: str = Field(default="", description="whom that commit names: claimed, unless `signed_by` says otherwise")
    signed_by: str = Field(default="", description="fingerprint of the author's listed key that signed the commit")
    sync: str = ""
    reason: str = ""
    message: str = ""
    since: datetime | None = None
