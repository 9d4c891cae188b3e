"""What the API says of people, callers, tokens and the audit."""

from datetime import datetime

from pydantic import Field

from controlplane.api.audit.entry import Kept
from controlplane.api.schemas.messages import Message


class BindingIn(Message):
    """A role of a subject on a scope: `user:NAME`, and `*`, `team:NAME` or `label:KEY=VALUE`."""

    subject: str
    role: str = Field(description="viewer, operator, owner, approver or admin")
    scope: str


class UserIn(Message):
    name: str


class UserOut(Message):
    """A person who may sign in. `must_change`: the password was made by the server."""

    name: str
    must_change: bool
    disabled: bool = False
    made_at: datetime
    bindings: list[BindingIn]


class PasswordOut(Message):
    """A password that was made, told this once."""

    name: str
    password: str


class WhoOut(Message):
    """Who the caller is. With a token, `limit` and `granted` are the most it may do, however much its maker may."""

    subject: str
    via: str = Field(description="session, token:ID or home token")
    bindings: list[BindingIn]
    limit: BindingIn | None = None
    granted: list[BindingIn] = Field(default=[], description="what was bound to the token itself since it was made")


class TokenIn(Message):
    """A token to be made for the caller. It never may more than they may."""

    label: str
    role: str = Field(description="the most it may do: viewer, operator, owner, approver, auditor or admin")
    scope: str = Field(default="*", description="`*`, `team:NAME`, `label:KEY=VALUE` or `cluster:NAME`")
    days: float = Field(default=90.0, gt=0, le=366)


class TokenOut(Message):
    """A token without its secret, which is kept nowhere."""

    id: str
    label: str
    maker: str
    role: str
    scope: str
    state: str = Field(description="active, expired or revoked")
    made_at: datetime
    expires_at: datetime
    used_at: datetime | None = None
    used_from: str = ""


class TokenMadeOut(Message):
    """A new token with its text, told this once."""

    token: TokenOut
    text: str


class AuditEntryOut(Message):
    """One call that changed something or was denied. `event_position`: its events are at or before it."""

    position: int
    at: datetime
    who: str
    via: str
    client: str
    verb: str
    object: str
    call: str
    outcome: str
    status: int
    event_position: int | None
    note: str
    request: str = Field(default="", description="id of the request, as its answer and the server's log have it")
    sha256: str


class AuditOut(Message):
    """A page of the trail, newest first. `older` is what to give as `before` for the next one, 0 at the end."""

    entries: list[AuditEntryOut]
    older: int


class AuditCheckOut(Message):
    """Every row was held to its hash and to the one before it."""

    entries: int


def audit_entry_out(kept: Kept) -> AuditEntryOut:
    """An entry as the API tells it."""
    e = kept.entry
    return AuditEntryOut.like(e, position=kept.position, outcome=e.outcome.value, sha256=kept.sha256)
