"""Hetzner's words become ours here and nowhere else: hcloud's exceptions, and Terraform's diagnostics.

Codes are those of hcloud-go 2.47.0 (`hcloud/error.go`); one that is in no list is a fault of the moment, which retries
can only make louder, never destructive.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hcloud import APIException, HCloudException
from requests import RequestException

from providers.errors import (
    AuthFailed,
    CloudUnavailable,
    NoCapacity,
    NotFound,
    NotPermitted,
    NotYetGone,
    PlaceUnknown,
    ProviderError,
    QuotaExceeded,
    RateLimited,
    ResourceConflict,
)

_NOT_FOUND = "not_found"

_KINDS: dict[str, type[ProviderError]] = {
    **dict.fromkeys(("rate_limit_exceeded",), RateLimited),
    **dict.fromkeys(
        ("resource_unavailable", "placement_error", "no_space_left_in_location", "no_subnet_available"), NoCapacity
    ),
    **dict.fromkeys(("resource_limit_exceeded",), QuotaExceeded),
    **dict.fromkeys(("unauthorized",), AuthFailed),
    **dict.fromkeys(("forbidden", "token_readonly"), NotPermitted),
    **dict.fromkeys((_NOT_FOUND,), NotFound),
    **dict.fromkeys(
        ("locked", "conflict", "resource_in_use", "server_not_stopped", "volume_already_attached", "ip_not_available"),
        NotYetGone,
    ),
    **dict.fromkeys(
        ("uniqueness_error", "server_already_attached", "networks_overlap", "protected", "resource_locked"),
        ResourceConflict,
    ),
    **dict.fromkeys(("invalid_input", "invalid_server_type", "unsupported_error"), PlaceUnknown),
    **dict.fromkeys(
        ("maintenance", "service_error", "server_error", "unknown_error", "bad_gateway", "timeout", "json_error"),
        CloudUnavailable,
    ),
}

_STATUS: dict[int, type[ProviderError]] = {401: AuthFailed, 403: NotPermitted, 429: RateLimited}
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
        raise CloudUnavailable(f"{what}: {error}") from error


def from_code(code: str | int, message: str) -> ProviderError:
    """The typed error of one of Hetzner's codes, or of a bare status where no code was given."""
    kind = _STATUS.get(code) if isinstance(code, int) else _KINDS.get(code)
    return (kind or CloudUnavailable)(f"{message} ({code})")


def recognise(diagnostics: Sequence[str]) -> ProviderError | None:
    """The first error of Hetzner's API in Terraform's diagnostics, None when there is none."""
    for text in diagnostics:
        if said := _SAID.search(text):
            return from_code(said["code"], said["message"])
        if _NO_TOKEN.search(text):
            return AuthFailed(text)
        if _NO_IMAGE.search(text):
            return NotFound(text)
    return None


def is_not_found(error: APIException) -> bool:
    """Whether the API answered, for the very id it was asked about, that the project has none."""
    return error.code == _NOT_FOUND
