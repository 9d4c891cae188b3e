"""Hetzner's words become ours here and nowhere else: hcloud's exceptions, and Terraform's diagnostics.

Codes are those of hcloud-go 2.47.0 (`hcloud/error.go`); one that is in no list is a fault of the moment, which retries
can only make louder, never destructive.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hcloud import APIException, HCloudException
from requests import RequestException

from providers import errors

_NOT_FOUND = "not_found"

_KINDS: dict[str, type[errors.ProviderError]] = {
    **dict.fromkeys(("rate_limit_exceeded",), errors.RateLimited),
    **dict.fromkeys(
        ("resource_unavailable", "placement_error", "no_space_left_in_location", "no_subnet_available"),
        errors.NoCapacity,
    ),
    **dict.fromkeys(("resource_limit_exceeded",), errors.QuotaExceeded),
    **dict.fromkeys(("unauthorized",), errors.AuthFailed),
    **dict.fromkeys(("forbidden", "token_readonly"), errors.NotPermitted),
    **dict.fromkeys((_NOT_FOUND,), errors.NotFound),
    **dict.fromkeys(
        ("locked", "conflict", "resource_in_use", "server_not_stopped", "volume_already_attached", "ip_not_available"),
        errors.NotYetGone,
    ),
    **dict.fromkeys(
        ("uniqueness_error", "server_already_attached", "networks_overlap", "protected", "resource_locked"),
        errors.ResourceConflict,
    ),
    **dict.fromkeys(("invalid_input", "invalid_server_type", "unsupported_error"), errors.PlaceUnknown),
    **dict.fromkeys(
        ("maintenance", "service_error", "server_error", "unknown_error", "bad_gateway", "timeout", "json_error"),
        errors.CloudUnavailable,
    ),
}

_STATUS: dict[int, type[errors.ProviderError]] = {
    401: errors.AuthFailed,
    403: errors.NotPermitted,
    429: errors.RateLimited,
}
"""Where somebody answered who is not Hetzner's API: a proxy. Its 404 says nothing of a server."""

_SAID = re.compile(rf"(?P<message>[^\n]*) \((?P<code>{'|'.join(_KINDS)})(, [\w-]+)?\)")
_NO_TOKEN = re.compile(
    r"entered token is invalid|Missing Hetzner Cloud API token|Token must not be empty", re.IGNORECASE
)
_NO_IMAGE = re.compile(r"(image|server type) [^\n]* not found|Image Unavailable")


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Whatever hcloud raises inside leaves as one of `providers.errors`, with `what` was asked and Hetzner's words."""
    try:
        yield
    except APIException as error:
        raise from_code(error.code, f"{what}: {error.message}") from error
    except (HCloudException, RequestException) as error:
        raise errors.CloudUnavailable(f"{what}: {error}") from error


def from_code(code: str | int, message: str) -> errors.ProviderError:
    """The typed error of one of Hetzner's codes, or of a bare status where no code was given."""
    kind = _STATUS.get(code) if isinstance(code, int) else _KINDS.get(code)
    return (kind or errors.CloudUnavailable)(f"{message} ({code})")


def recognise(diagnostics: Sequence[str]) -> errors.ProviderError | None:
    """The first error of Hetzner's API in Terraform's diagnostics, None when there is none."""
    for text in diagnostics:
        if said := _SAID.search(text):
            return from_code(said["code"], said["message"])
        if _NO_TOKEN.search(text):
            return errors.AuthFailed(text)
        if _NO_IMAGE.search(text):
            return errors.NotFound(text)
    return None


def is_not_found(error: APIException) -> bool:
    """Whether the API answered, for the very id it was asked about, that the project has none."""
    return error.code == _NOT_FOUND
