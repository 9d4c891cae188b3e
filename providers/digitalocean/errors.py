"""DigitalOcean's words become ours here and nowhere else: pydo's exceptions, and Terraform's diagnostics.

An error is a status, an id and a message (DigitalOcean API reference, "Responses"); one id stands for many reasons, so
of a 422 and a 403 the message decides. What is in no list is a fault of the moment: it is tried again, proves nothing.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from azure.core.exceptions import AzureError, HttpResponseError

from providers import errors

_BY_MESSAGE: tuple[tuple[type[errors.ProviderError], str], ...] = (
    (errors.QuotaExceeded, r"limit (has been )?(reached|exceeded)|exceed\w* your|droplet limit|volume limit|quota"),
    (
        errors.NoCapacity,
        r"temporarily unavailable|server capacity|size is not available|(currently|is) unavailable|no capacity",
    ),
    (
        errors.NotYetGone,
        r"pending event|is (still )?attached|attached to a droplet|with members|in use|being (created|destroyed)",
    ),
    (errors.NotFound, r"not found|could not be found|does not exist|is not valid|invalid (image|size|region|vpc)"),
    (errors.ResourceConflict, r"already (exists|attached|in use)|same region|duplicate"),
)

_BY_STATUS = {
    401: errors.AuthFailed,
    403: errors.NotPermitted,
    404: errors.NotFound,
    409: errors.ResourceConflict,
    412: errors.ResourceConflict,
    422: errors.ResourceConflict,
    429: errors.RateLimited,
}

_SAID = re.compile(
    r"(?P<method>GET|POST|PUT|DELETE) \S*?(?P<path>/v2\S*)?: (?P<status>\d{3}) "
    r"(?:\(request \"[^\"]*\"\) )?(?P<message>[^\n]*)"
)
"""How godo, below the Terraform provider, writes an answer it did not want (godo, `ErrorResponse.Error`)."""

_AWAY = re.compile(r"dial tcp|connection refused|no such host|deadline exceeded|\bEOF\b")


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Whatever pydo raises inside leaves as one of `providers.errors`, with what was asked and DigitalOcean's words."""
    try:
        yield
    except HttpResponseError as error:
        raise from_answer(error.status_code or 0, f"{what}: {_message(error)}") from error
    except (AzureError, OSError) as error:
        raise errors.CloudUnavailable(f"{what}: {error}") from error


def from_answer(status: int, message: str, *, call: str = "") -> errors.ProviderError:
    """The typed error of an answer. `call` (`POST /v2/droplets`): DigitalOcean does not name what a token lacks."""
    told = f"{message} ({status})"
    if status in (403, 409, 412, 422):
        for kind, pattern in _BY_MESSAGE:
            if re.search(pattern, message, re.IGNORECASE):
                return kind(told)
    kind = _BY_STATUS.get(status, errors.CloudUnavailable)
    return errors.NotPermitted(told, call) if kind is errors.NotPermitted else kind(told)


def recognise(diagnostics: Sequence[str]) -> errors.ProviderError | None:
    """The first error of DigitalOcean's API in Terraform's diagnostics, None when there is none."""
    for text in diagnostics:
        if said := _SAID.search(text):
            call = f"{said['method']} {said['path'].partition('?')[0]}" if said["path"] else ""
            return from_answer(int(said["status"]), said["message"], call=call)
        if _AWAY.search(text):
            return errors.CloudUnavailable(text)
        if "token" in text.lower() and "digitalocean" in text.lower():
            return errors.AuthFailed(text)
    return None


def is_not_found(answer: object) -> bool:
    """Whether DigitalOcean answered, for the very thing it was asked about, that there is none; pydo returns that."""
    return isinstance(answer, dict) and answer.get("id") in ("not_found", "resource_not_found")


def _message(error: HttpResponseError) -> str:
    body = error.response.text() if error.response is not None else ""
    try:
        told = json.loads(body)
    except ValueError:
        return str(error.message)
    return str(told.get("message", error.message)) if isinstance(told, dict) else str(error.message)
