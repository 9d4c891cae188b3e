"""/v1/whoami, /v1/tokens and /v1/audit: who asks, with what, and what was done."""

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query

from controlplane.api.access import bindings, caller, roles, tokens
from controlplane.api.audit.entry import Outcome
from controlplane.api.audit.store import AuditBroken, AuditFilter
from controlplane.api.moments import Moment
from controlplane.api.paging import MOST_ON_A_PAGE, AfterId, Most, Turning, following
from controlplane.api.presenters.clusters import in_utc
from controlplane.api.problems import ApiError
from controlplane.api.request_identity import Keyed, Once
from controlplane.api.schemas import access, commands as command_api, messages as message_api
from controlplane.api.services import Services

router = APIRouter(prefix=message_api.API_PREFIX, tags=["access"])

Word = Annotated[str, Query(max_length=200)]


@router.get("/whoami")
def whoami(rights: caller.Caller) -> access.WhoOut:
    """Who the caller is, and what they may do."""
    limit = rights.limit and _binding_out(rights.limit)
    return access.WhoOut(
        subject=rights.subject,
        via=rights.via,
        bindings=[_binding_out(b) for b in rights.bindings],
        limit=limit,
        granted=[_binding_out(b) for b in rights.granted],
    )


@router.get("/tokens")
def list_tokens(
    services: Services,
    rights: caller.Caller,
    turn: Turning,
    everyone: bool = False,
    after: AfterId = "",
    limit: Most = MOST_ON_A_PAGE,
) -> list[access.TokenOut]:
    """The caller's tokens, the newest first; with `everyone` all, for administrators."""
    if everyone:
        rights.require_everywhere(roles.Verb.ADMINISTER, "tokens of others")
    now = services.clock()
    own = [t for t in services.access.people.tokens.all() if everyone or t.maker == rights.subject]
    page = turn.page(following(own, lambda token: token.id, after), lambda token: token.id, limit)
    return [_token_out(t, now) for t in page]


@router.post("/tokens", dependencies=[Keyed, Once])
def make_token(body: access.TokenIn, services: Services, rights: caller.Caller) -> access.TokenMadeOut:
    """A token of the caller. Its text in the answer is told this once."""
    now = services.clock()
    life, role = timedelta(days=body.days), bindings.role_of(body.role)
    text, token = services.access.people.make_token(
        rights, label=body.label, role=role, scope=body.scope, life=life, now=now
    )
    rights.trail.judged("make token", f"{token.id} {token.label}", allowed=True)
    rights.trail.note = f"{token.role} on {token.scope} until {token.expires_at:%Y-%m-%d}"
    return access.TokenMadeOut(token=_token_out(token, now), text=text)


@router.post("/tokens/{token_id}/revoke", dependencies=[Keyed])
def revoke_token(token_id: str, services: Services, rights: caller.Caller) -> command_api.ChangedOut:
    """It opens nothing any more. One's own, the one in use too; those of others are an administrator's to revoke."""
    found = services.access.people.tokens.get(token_id)
    is_own = found is not None and (found.maker == rights.subject or rights.via == f"token:{found.id}")
    if not is_own and not rights.may_everywhere(roles.Verb.ADMINISTER):
        found = None
    if found is None:
        raise ApiError(404, "token-not-found", "there is no such token", next_step="`kedge token list` lists them.")
    rights.trail.judged("revoke token", f"{found.id} {found.label}", allowed=True)
    return command_api.ChangedOut(changed=services.access.people.tokens.revoke(token_id, services.clock()))


@router.get("/audit")
def audit(
    services: Services,
    rights: caller.Caller,
    turn: Turning,
    q: Word = "",
    who: Word = "",
    outcome: Annotated[Outcome | None, Query()] = None,
    since: Moment | None = None,
    until: Moment | None = None,
    before: Annotated[int, Query(ge=0, description="only entries below this position")] = 0,
    after: Annotated[int | None, Query(ge=0, description="only entries above this position, oldest first")] = None,
    request: Annotated[str, Query(max_length=200, description="the id of a request")] = "",
    limit: Most = 100,
) -> access.AuditOut:
    """What was done and what was denied, newest first; with `after` oldest first."""
    rights.require_everywhere(roles.Verb.AUDIT, "the installation")
    wanted = AuditFilter(q, who, outcome.value if outcome else "", in_utc(since), in_utc(until), before, after, request)
    found = services.access.audit.page(wanted, limit + 1)
    last = found[limit - 1].position if len(found) > limit else 0
    if last:
        turn.follows("before" if after is None else "after", str(last))
    older = last if after is None else 0
    return access.AuditOut(entries=[access.audit_entry_out(kept) for kept in found[:limit]], older=older)


@router.get("/audit/check", responses={409: {"description": "a row was changed past Kedge"}})
def check_audit(services: Services, rights: caller.Caller) -> access.AuditCheckOut:
    """Holds every row to its hash."""
    rights.require_everywhere(roles.Verb.AUDIT, "the installation")
    try:
        return access.AuditCheckOut(entries=services.access.audit.verify())
    except AuditBroken as broken:
        then = "Somebody wrote to the database past Kedge. Compare it with a backup."
        raise ApiError(409, "audit-broken", str(broken), next_step=then) from broken


def _token_out(token: tokens.Token, now: datetime) -> access.TokenOut:
    return access.TokenOut.like(token, role=token.role.value, state=token.state(now))


def _binding_out(found: bindings.Binding) -> access.BindingIn:
    return access.BindingIn(subject=found.subject or tokens.INSTALLATION, role=found.role.value, scope=found.scope)
