"""Answers that are not what was hoped for, turned into errors for people."""

import json

import httpx
from pydantic import ValidationError

from controlplane.api.schemas.messages import ErrorOut
from controlplane.cli.address import ServerAddress
from controlplane.cli.errors import CliError, Refused, Unreachable

PROBLEM_JSON = "application/problem+json"


def unreachable(address: ServerAddress, error: httpx.HTTPError) -> Unreachable:
    """Nobody answered, or not in time."""
    where = f"{address.url} (from {address.source})"
    if isinstance(error, httpx.ReadTimeout):
        why, next_step = (
            "it took the request but gave no answer in time",
            "try again; `kedge get` shows what came of it",
        )
    elif isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        why, next_step = _connect_reason(error), "`kedge server` starts it; is it running, and is this its home?"
    else:
        why = str(error) or type(error).__name__
        next_step = "look at the server's log; a request that was sent twice is recorded once, so trying again is safe"
    return Unreachable("the server does not answer", where=where, why=why, next_step=next_step)


def refusal(response: httpx.Response, address: ServerAddress) -> CliError:
    """The server answered with an error."""
    said = _problem(response)
    if response.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
        return Refused(
            "the server refuses the token",
            status=response.status_code,
            code=said.code if said else "unauthorised",
            where=f"{address.url} (from {address.source})",
            why=(said.detail or said.title) if said else "",
            next_step=(said.next if said else "") or "use the home of that server: KEDGE_HOME=DIR kedge ...",
        )
    if said is None:
        return Refused(
            f"the server answered {response.status_code} {response.reason_phrase}".rstrip(),
            status=response.status_code,
            code="",
            where=str(response.request.url),
            why="the answer is not one of Kedge's: something else may be listening there",
            next_step="look at the server's log",
        )
    if response.status_code == httpx.codes.SERVICE_UNAVAILABLE:
        # It says itself that it will come back: for whoever waits this is the same as no answer.
        return Unreachable(said.title, where=address.url, why=said.detail, next_step=said.next)
    code = f" [{said.code}]" if said.code else ""
    return Refused(
        said.title if said.detail else f"{said.title}{code}",
        status=response.status_code,
        code=said.code,
        why=f"{said.detail}{code}" if said.detail else "",
        next_step=said.next,
    )


def unreadable(response: httpx.Response, address: ServerAddress, error: ValidationError) -> CliError:
    """A success whose content is not what the contract says."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(step) for step in first["loc"]) or "the whole answer"
    return CliError(
        "cannot understand the server's answer",
        where=str(response.request.url),
        why=f"{place}: {first['msg']}",
        next_step="compare the two versions: kedge version",
    )


def _problem(response: httpx.Response) -> ErrorOut | None:
    if not response.headers.get("content-type", "").startswith(PROBLEM_JSON):
        return None
    try:
        return ErrorOut.model_validate(json.loads(response.content), extra="ignore")
    except (ValueError, ValidationError):
        return None


def _connect_reason(error: httpx.HTTPError) -> str:
    if isinstance(error, httpx.ConnectTimeout):
        return "the connection was not accepted in time"
    text = str(error)
    return "connection refused" if "refused" in text.lower() else text or type(error).__name__
