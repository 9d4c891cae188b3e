"""What the API says of things that were changed by hand in the clouds."""

from datetime import datetime

from controlplane.api.schemas.messages import Message


class DriftedOut(Message):
    """One value that is not as it was recorded. Without an attribute the whole thing is gone."""

    target: str
    address: str
    attribute: str
    recorded: str
    found: str
    sentence: str


class AuditOut(Message):
    """The last audit of one place. `at` is the last that ended well, `error` why the last one at all told nothing."""

    place: str
    at: datetime | None
    tried_at: datetime | None
    resources: int
    error: str
    drifts: list[DriftedOut]


class DriftOut(Message):
    """The audits of a cluster's places; one that was never audited has no `at`. `asked_at`: the last that was asked
    for by a person.
    """

    cluster: str
    asked_at: datetime | None
    audits: list[AuditOut]


class AuditAskedOut(Message):
    """What happens next."""

    asked_at: datetime
    sentence: str
