"""UpCloud's words become ours here and nowhere else: the SDK's exceptions, and Terraform's diagnostics.

Codes are those of upcloud-go-api v8.38.0 (upcloud/error_codes.go); a code that is in no list is a fault of the moment,
which retries can only make louder, never destructive.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import requests
from upcloud_api.errors import UpCloudAPIError, UpCloudClientError  # type: ignore[import-untyped]

from providers import errors

_KINDS: tuple[tuple[type[errors.ProviderError], str], ...] = (
    (errors.RateLimited, r"TOO_MANY_REQUESTS|RATE_LIMIT\w*|SERVER_CREATING_LIMIT_REACHED"),
    (errors.NoCapacity, r"\w+_RESOURCES_UNAVAILABLE|STRICT_ANTI_AFFINITY_NOT_MET"),
    (errors.QuotaExceeded, r"\w+_LIMIT_REACHED|INSUFFICIENT_CREDITS|TRIAL_\w+"),
    (errors.AuthFailed, r"AUTHENTICATION_FAILED|UNAUTHORIZED"),
    (errors.NotPermitted, r"(\w+_)?FORBIDDEN|INSUFFICIENT_PERMISSIONS?|PERMISSION_DENIED"),
    (errors.NotYetGone, r"\w+_STATE_ILLEGAL|\w+_IN_USE|STORAGE_ATTACHED\w*|NETWORK_NOT_EMPTY|ROUTER_ATTACHED"),
    (errors.NotFound, r"\w*NOT_FOUND"),
    (errors.ResourceConflict, r"ZONE_MISMATCH"),
    (errors.PlaceUnknown, r"ZONE_\w+|PLAN_\w+|CORE_MEMORY_UNSUPPORTED"),
    (errors.ResourceConflict, r"\w*(DUPLICATE|EXISTS|CONFLICT|ALREADY_IN)\w*|IP_ADDRESS_\w+|ADDRESS_ATTACHED"),
)
"""The first that fits counts."""

_STATUS: dict[int, type[errors.ProviderError]] = {
    401: errors.AuthFailed,
    403: errors.NotPermitted,
    429: errors.RateLimited,
}

_SAID = re.compile(
    r"Error: (?P<message>[^\n]*?) \(type=(?P<type>[^,\s]+), status=(?P<status>\d+)[^)]*\)"
    r"|Failed to get account, error was (?P<code>\w+): (?P<login>[^\n]*)"
)
"""A problem as the Terraform provider prints it (upcloud-go-api, upcloud/problem.go), and its login that failed."""

_NO_CREDENTIALS = ("No credentials defined", "Either token or username and password must be configured")


class UpcloudAnswerError(UpCloudAPIError):  # type: ignore[misc]  # the SDK has no types
    """An answer of UpCloud that is an error. The SDK's own exception forgets the status and the pause asked for."""

    def __init__(self, status: int, code: str, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(code, message)
        self.status, self.code, self.message, self.retry_after_s = status, code, message, retry_after_s


def api_error(status: int, headers: Mapping[str, str], body: Any) -> UpcloudAnswerError:
    """The error of an answer, in either of the two forms UpCloud has for one."""
    told = body if isinstance(body, dict) else {}
    legacy = told.get("error") or {}
    code = legacy.get("error_code") or code_of(str(told.get("type", ""))) or f"HTTP_{status}"
    message = legacy.get("error_message") or told.get("title") or "no reason given"
    pause = headers.get("Retry-After", "")
    return UpcloudAnswerError(
        status, str(code), str(message), retry_after_s=float(pause) if pause.isdecimal() else None
    )


def code_of(problem_type: str) -> str:
    """`SERVER_NOT_FOUND` of `https://developers.upcloud.com/1.3/errors#ERROR_SERVER_NOT_FOUND`, or of itself."""
    return (urlsplit(problem_type).fragment or problem_type).removeprefix("ERROR_")


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Whatever the SDK raises inside leaves as one of `providers.errors`, with what was asked and UpCloud's words."""
    try:
        yield
    except UpcloudAnswerError as error:
        raise from_code(error.code, f"{what}: {error.message}", status=error.status) from error
    except UpCloudClientError as error:
        raise errors.AuthFailed(f"{what}: {error}") from error
    except (requests.RequestException, ValueError, KeyError) as error:
        raise errors.CloudUnavailable(f"{what}: {type(error).__name__}: {error}") from error


def from_code(code: str, message: str, *, status: int = 0) -> errors.ProviderError:
    """The typed error of one of UpCloud's codes. `status` decides where the code says nothing."""
    kind = next((kind for kind, pattern in _KINDS if re.fullmatch(pattern, code)), None)
    return (kind or _STATUS.get(status, errors.CloudUnavailable))(f"{message} ({code})")


def recognise(diagnostics: Sequence[str]) -> errors.ProviderError | None:
    """The first error of UpCloud's API in Terraform's diagnostics, None when there is none."""
    for text in diagnostics:
        if said := _SAID.search(" ".join(text.split())):
            if said["code"]:
                return from_code(said["code"], said["login"], status=401)
            return from_code(code_of(said["type"]), said["message"], status=int(said["status"]))
        if any(words in text for words in _NO_CREDENTIALS):
            return errors.AuthFailed(text)
    return None


def is_gone(error: UpcloudAnswerError) -> bool:
    """Whether UpCloud answered, for the very server it was asked about, that there is none."""
    return error.status == 404 and error.code == "SERVER_NOT_FOUND"
