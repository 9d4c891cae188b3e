"""What the API says of pairs of clusters, and takes for them."""

from datetime import datetime

from pydantic import Field

from controlplane.api.schemas.messages import Message


class DoorOut(Message):
    """Where clients of a cluster come in. `epoch`: of the last order to close or open it."""

    cluster: str
    role: str = Field(description="primary or standby")
    state: str = Field(description="open, opening, closing, closed")
    epoch: int


class CopyOut(Message):
    """The copy to the standby of a warm pair, as it was found seconds ago."""

    replicator: str = Field(description="key of the VM that copies, empty while none does")
    is_running: bool = Field(description="whether its agent says that it does")
    lag_s: float | None = Field(
        default=None,
        description="how old the oldest acknowledged record may be that the standby has not; null: not known",
    )
    lag_records: int | None = Field(default=None, description="records it has not, at most; null: not known")
    behind: dict[str, int] = Field(
        default_factory=dict, description="of those, by partition, the partitions that are the most behind"
    )
    problem: str = Field(default="", description="why something of that is not known, or cannot be copied")


class FailoverOut(Message):
    """One pair. Between its registration and its declaration, which a crash can part, its `state` is Registered: the
    same declaration again goes on with it."""

    name: str
    uid: str
    state: str
    mode: str
    owner: str = ""
    primary: str
    standby: str
    dns: str = Field(default="", description="the name clients find the primary by")
    names_lead_to: str = Field(default="", description="the cluster that name leads to, or is about to")
    name_problem: str = Field(default="", description="what is wrong with that name in DNS, where that is known")
    doors: list[DoorOut] = Field(default_factory=list)
    unproved: dict[str, str] = Field(
        default_factory=dict, description="of the door that is closing, by VM, why it is not proved shut"
    )
    copy_to_standby: CopyOut | None = Field(default=None, description="of a warm pair; null of a cold one")
    order: str = Field(default="", description="the failover, or the way back, in hand")
    planned: bool | None = Field(default=None, description="of that order; null where none is in hand")
    returns: bool = Field(default=True, description="whether the order in hand can still be aborted")
    generation: int = Field(default=0, description="documents of it that were declared")
    declared_at: datetime | None = None
    declared_by: str = ""
    source: str = ""
    path: str = ""
    commit: str = ""
    undeclared: str = Field(default="", description="the commit as of which no file of its source declares it any more")
    last_order: str = Field(default="", description="the last failover that is over")
    last_promoted: bool | None = Field(default=None, description="whether that made its standby the primary")
    only_on_standby: dict[str, int] = Field(
        default_factory=dict,
        description="behind an unplanned failover, by partition, how many records the standby, which was the primary,"
        " has and the primary has not, at most: the partitions that have the most",
    )
    next: str = Field(default="", description="the step that is due, or what is waited for, in words")
    needs_person: bool = Field(default=False, description="whether nothing but a person, or a repair, ends that wait")
    sentence: str = Field(description="what it waits for, or what is wrong")


class FailoversOut(Message):
    items: list[FailoverOut]


class WithdrawalIn(Message):
    """`confirm` is the pair's name again, as a person types it."""

    confirm: str = Field(max_length=63)
    reason: str = Field(default="", max_length=1000)


class FailoverOrderIn(Message):
    """`confirm` is the pair's name again, as a person types it. `plan_digest`: only if it still stands as that plan was
    shown of it."""

    planned: bool = True
    accept_loss: bool = Field(default=False, description="what may be lost was read, and is accepted")
    confirm: str = Field(max_length=63)
    reason: str = Field(default="", max_length=1000)
    plan_digest: str | None = Field(default=None, max_length=200)


class FailoverAbortIn(Message):
    reason: str = Field(default="", max_length=1000)


class DoorCertificationIn(Message):
    """A person's word that no VM of the old primary lets clients in. `confirm` is the pair's name again, `reason` how
    they know."""

    confirm: str = Field(max_length=63)
    reason: str = Field(max_length=1000)


class FailoverSaidOut(Message):
    """The pair it is about, and what happens."""

    name: str
    changed: bool
    sentence: str
    order: str = Field(default="", description="the failover it is about")


class PlannedStepOut(Message):
    """One step of a failover. Behind the point of no return nothing of it is aborted."""

    what: str
    proof: str = Field(description="by what it is known, or what is then done")
    undo: str = Field(description="what an abort behind it does")
    is_point_of_no_return: bool = False


class FailoverRefusalOut(Message):
    code: str
    message: str
    fix: str


class FailoverPlanOut(Message):
    """What a failover would do, what it may lose, and why it does not begin. Looking at it changes nothing."""

    name: str
    planned: bool
    primary: str
    standby: str
    steps: list[PlannedStepOut]
    loss: list[str] = Field(description="what may be lost, in words")
    loses_nothing: bool = Field(description="no acknowledged record is lost")
    refusals: list[FailoverRefusalOut] = Field(description="why it does not begin; empty where it could begin now")
    digest: str = Field(default="", description="to order it only as it is shown here")
