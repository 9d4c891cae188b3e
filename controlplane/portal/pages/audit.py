"""Who did what, and who was refused: for administrators and auditors."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from controlplane.portal.access.roles import Verb
from controlplane.portal.accessschemas import AuditEntryOut, audit_entry_out
from controlplane.portal.audit.entry import Outcome
from controlplane.portal.audit.store import AuditFilter
from controlplane.portal.moments import moment_in
from controlplane.portal.pages.frame import Caller, page
from controlplane.portal.pages.sheet import csv_answer
from controlplane.portal.services import Services

router = APIRouter(tags=["pages"], include_in_schema=False)

ON_A_PAGE = 100
MOST_EXPORTED = 10_000

Word = Annotated[str, Query(max_length=200)]


@router.get("/audit")
def audit(
    request: Request,
    services: Services,
    rights: Caller,
    q: Word = "",
    who: Word = "",
    outcome: Word = "",
    since: Word = "",
    until: Word = "",
    before: Annotated[int, Query(ge=0)] = 0,
) -> Response:
    """A page of the trail, newest first."""
    rights.require_everywhere(Verb.AUDIT, "the installation")
    asked = {"q": q, "who": who, "outcome": outcome, "since": since, "until": until}
    shown_as = {**asked, "whose": asked["who"]}
    del shown_as["who"]  # in a page that is who looks at it
    begins, ends = moment_in(since), moment_in(until)
    unread = [text for text, found in ((since, begins), (until, ends)) if text and found is None]
    wanted = AuditFilter(q, who, _outcome(outcome), begins, ends, before)
    found = services.audit.page(wanted, ON_A_PAGE + 1)
    shown = found[:ON_A_PAGE]
    return page(
        request,
        "audit.html",
        status=422 if unread else 200,
        problem=f"{unread[0]!r} is no moment: write it as in 2026-01-31T14:00 (UTC)" if unread else "",
        entries=shown,
        older=shown[-1].position if len(found) > ON_A_PAGE else 0,
        query=urlencode({name: value for name, value in asked.items() if value}),
        outcomes=[outcome.value for outcome in Outcome],
        **shown_as,
    )


@router.get("/audit.csv")
def audit_csv(
    services: Services,
    rights: Caller,
    q: Word = "",
    who: Word = "",
    outcome: Word = "",
    since: Word = "",
    until: Word = "",
) -> Response:
    """The newest that match, as a sheet."""
    rights.require_everywhere(Verb.AUDIT, "the installation")
    wanted = AuditFilter(q, who, _outcome(outcome), moment_in(since), moment_in(until))
    rows = [audit_entry_out(kept) for kept in services.audit.page(wanted, MOST_EXPORTED)]
    return csv_answer("audit.csv", list(AuditEntryOut.model_fields), rows)


def _outcome(text: str) -> str:
    return text if text in set(Outcome) else ""
