"""Every error of the API is one shape, application/problem+json: what, why, what next. Never a stack trace."""

import logging
from collections.abc import Callable
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from controlplane.api.access import accounts, bindings, rights, tokens
from controlplane.api.request_ids import request_id_of
from controlplane.api.schemas.messages import ErrorOut
from controlplane.background.forges.forge import ForgeFault
from controlplane.background.git_sync.service import SourceNotFound
from controlplane.cluster.commands import ClusterNotFound, CommandRefused, SpecRefused
from controlplane.commands.failovers import PairNotFound
from controlplane.fleet.proposals.stream import ProposalNotFound
from events.errors import QueryTooLong, StoreUnavailable, StreamConflict

_log = logging.getLogger(__name__)

PROBLEM_JSON = "application/problem+json"

NO_PAGES = ("/v1/", "/agent/", "/terraform/", "/hooks/", "/openapi.json", "/healthz", "/readyz")
"""Where no browser ever looks: errors are problem+json whatever it says to accept."""


class ApiError(HTTPException):
    """An answer that is an error. `code` is a stable word, `next_step` what the caller can do."""

    def __init__(
        self, status: int, code: str, title: str, *, detail: str = "", next_step: str = "", retry_after_s: int = 0
    ) -> None:
        headers = {"Retry-After": str(retry_after_s)} if retry_after_s else {}
        if status == HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = "Bearer"
        super().__init__(status, detail, headers)
        self.body = ErrorOut(title=title, status=status, detail=detail, code=code, next=next_step)

    def response(self, request_id: str = "") -> Response:
        """problem+json, of the request with that id."""
        body = self.body.model_copy(update={"request": request_id})
        return Response(
            body.model_dump_json(), self.status_code, headers=dict(self.headers or {}), media_type=PROBLEM_JSON
        )


ErrorPage = Callable[[Request, ApiError], Response]


def answer_problems(app: FastAPI, error_page: ErrorPage) -> None:
    """Makes the app answer every error in this shape; a browser gets it as the page that this makes of it."""
    app.state.error_page = error_page
    for kind in (HTTPException, RequestValidationError, ClusterNotFound, SourceNotFound, CommandRefused, SpecRefused):
        app.add_exception_handler(kind, _answer)
    for refusal in (rights.Forbidden, accounts.UserRefused, bindings.BindingRefused, tokens.TokenRefused):
        app.add_exception_handler(refusal, _answer)
    app.add_exception_handler(ProposalNotFound, _answer)
    app.add_exception_handler(PairNotFound, _answer)
    app.add_exception_handler(ForgeFault, _answer)
    app.add_exception_handler(StreamConflict, _answer)
    app.add_exception_handler(StoreUnavailable, _answer)
    # Of the gate itself: what routes did not foresee is answered there, with the headers and noted.
    app.add_exception_handler(Exception, _answer)


_NOT_FOUND: dict[type[Exception], tuple[str, str]] = {
    ClusterNotFound: ("cluster-not-found", "`kedge get` lists the clusters."),
    SourceNotFound: ("source-not-found", "`kedge sources` lists them."),
    accounts.UserNotFound: ("user-not-found", "`GET /v1/users` and the portal's page People list them."),
    ProposalNotFound: ("proposal-not-found", "kedge proposals"),
    PairNotFound: ("failover-not-found", "`kedge failovers` lists them."),
}


def wants_page(request: Request) -> bool:
    """Whether a browser asks, for a page or a part of one, and not for the API."""
    return "text/html" in request.headers.get("accept", "") or request.headers.get("hx-request") == "true"


def answer_of(error: Exception, request: Request) -> Response:
    """The answer to an error: a page for a browser, problem+json for a program."""
    request_id = request_id_of(request.scope)
    error_ = api_error(error, request_id)
    if wants_page(request) and not request.url.path.startswith(NO_PAGES):
        as_page: ErrorPage = request.app.state.error_page
        return as_page(request, error_)
    return error_.response(request_id)


async def _answer(request: Request, error: Exception) -> Response:
    return answer_of(error, request)


def api_error(error: Exception, request_id: str) -> ApiError:
    """The answer to an error. One that nobody foresaw is logged under the request's id, and only that is told."""
    match error:
        case ApiError():
            return error
        case HTTPException():
            phrase = HTTPStatus(error.status_code).phrase
            code = phrase.lower().replace(" ", "-")
            detail = "" if error.detail == phrase else str(error.detail)
            return ApiError(error.status_code, code, phrase, detail=detail)
        case RequestValidationError():
            return ApiError(422, "request-invalid", "the request is not what this call takes", detail=_invalid(error))
        case ClusterNotFound() | SourceNotFound() | accounts.UserNotFound() | ProposalNotFound() | PairNotFound():
            code, then = _NOT_FOUND[type(error)]
            return ApiError(404, code, str(error), next_step=then)
        case CommandRefused():
            return ApiError(409, error.code, "refused", detail=str(error), next_step=error.what_next)
        case SpecRefused():
            detail = "\n".join(str(problem) for problem in error.problems)
            return ApiError(422, "spec-refused", "the spec is refused", detail=detail)
        case rights.Forbidden():
            return ApiError(403, "forbidden", str(error), next_step=error.needs)
        case accounts.UserRefused() | bindings.BindingRefused() | tokens.TokenRefused():
            return ApiError(422, "refused", str(error))
        case ForgeFault():
            title, detail = f"{error.what} failed", f"{error.where}: {error.why}"
            code, then = f"forge-{error.reason.lower()}", error.next_step
            if error.is_passing:
                return ApiError(503, code, title, detail=detail, next_step=then, retry_after_s=int(error.wait_s) or 15)
            return ApiError(409, code, title, detail=detail, next_step=then)
        case StreamConflict():
            return ApiError(
                409, "busy", "others are writing to this cluster", detail=str(error), next_step="Try again."
            )
        case QueryTooLong():
            title, then = "the database took too long", "Ask for less, as by a narrower filter; or again in a while."
            return ApiError(504, "query-too-long", title, detail=str(error), next_step=then, retry_after_s=15)
        case StoreUnavailable():
            title, then = "the database does not answer", "Try again; the same request twice is done once."
            return ApiError(503, "store-unavailable", title, detail=str(error), next_step=then, retry_after_s=1)
        case _:
            _log.error("request %s failed", request_id, exc_info=error)
            detail = f"request {request_id} in the server's log"
            return ApiError(500, "internal", "an unexpected error", detail=detail)


def _invalid(error: RequestValidationError) -> str:
    """Where and why, without the value: it may be a secret."""
    problems = [f"{'.'.join(str(step) for step in found['loc'])}: {found['msg']}" for found in error.errors()[:10]]
    return "; ".join(problems)
