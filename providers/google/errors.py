"""Google Cloud's words become ours here and nowhere else: exceptions of the SDK, and Terraform's diagnostics.

Reasons are those of Compute Engine's errors (`error.errors[].reason`, and `error.errors[].code` of an operation); one
that is in no list is judged by its HTTP status, and a fault of the moment where that says nothing either.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from google.api_core.exceptions import GoogleAPICallError, GoogleAPIError, RetryError
from google.auth.exceptions import GoogleAuthError, TransportError
from requests.exceptions import RequestException

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

_KINDS: tuple[tuple[type[ProviderError], str], ...] = (
    (RateLimited, r"rateLimitExceeded|userRateLimitExceeded|RATE_LIMIT_EXCEEDED|tooManyRequests|operationRateExceeded"),
    (NoCapacity, r"ZONE_RESOURCE_POOL_EXHAUSTED\w*|stockout|resourcePoolExhausted|IP_SPACE_EXHAUSTED\w*"),
    (QuotaExceeded, r"quotaExceeded|QUOTA_EXCEEDED|limitExceeded|dailyLimitExceeded"),
    (
        NotPermitted,
        r"forbidden|insufficientPermissions|accessNotConfigured|SERVICE_DISABLED|PERMISSIONS_ERROR|PERMISSION_DENIED"
        r"|IAM_PERMISSION_DENIED|ACCESS_TOKEN_SCOPE_INSUFFICIENT|billingNotEnabled|BILLING_DISABLED",
    ),
    (AuthFailed, r"authError|required|accountDisabled|CONSUMER_INVALID"),
    (NotFound, r"notFound|RESOURCE_NOT_FOUND|INVALID_IMAGE"),
    (NotYetGone, r"resourceInUseByAnotherResource|RESOURCE_IN_USE_BY_ANOTHER_RESOURCE|IP_IN_USE_BY_ANOTHER_RESOURCE"),
    (NotYetGone, r"resourceNotReady|RESOURCE_NOT_READY|RESOURCE_OPERATION_IN_PROGRESS"),
    (ResourceConflict, r"alreadyExists|RESOURCE_ALREADY_EXISTS|duplicate|conflict|conditionNotMet|fingerprintMismatch"),
    (PlaceUnknown, r"invalid|badRequest|UNSUPPORTED_OPERATION|invalidParameter"),
    (CloudUnavailable, r"backendError|internalError|INTERNAL_ERROR|TIMEOUT"),
)

_BY_STATUS: dict[int, type[ProviderError]] = {
    400: PlaceUnknown,
    401: AuthFailed,
    403: NotPermitted,
    404: NotFound,
    409: ResourceConflict,
    412: ResourceConflict,
    429: RateLimited,
}

_SAID = re.compile(
    r"googleapi: [Ee]rror (?P<status>\d{3}): (?P<message>.*?)(?:, (?P<reason>[A-Za-z_]+))?(?: \(module\.\S+\))?$",
    re.MULTILINE,
)
"""As Go's googleapi prints an error; Terraform's address of the resource may stand behind it."""

_MORE = re.compile(r"^Reason: (?P<reason>\w+), Message: (?P<message>.*)$", re.MULTILINE)

_PERMISSION = re.compile(r"(?:Required|Permission) '(?P<permission>[\w.]+)'")

_OPERATIONS: tuple[tuple[type[ProviderError], str], ...] = (
    (NoCapacity, r"does not have enough resources available to fulfill the request|ZONE_RESOURCE_POOL_EXHAUSTED"),
    (QuotaExceeded, r"Quota '[^']+' exceeded|QUOTA_EXCEEDED"),
    (NotYetGone, r"is already being used by|IP_IN_USE_BY_ANOTHER_RESOURCE|is not ready"),
    (NoCapacity, r"IP space of .* is exhausted"),
    (ResourceConflict, r"The resource '[^']+' already exists"),
    (ResourceConflict, r"its VM was made with another address"),
)
"""The provider shows the message of a failed operation and not its code, so these are known by their words; the last is
the module's own."""

_NO_CREDENTIALS = re.compile(
    r"No credentials loaded|could not find default credentials|oauth2: .*invalid_grant|invalid_token"
)

_NAMED = re.compile(r"The resource '(?P<path>[^']+)' was not found")


@contextmanager
def translated(what: str) -> Iterator[None]:
    """What the SDK raises inside leaves as one of `providers.errors`, with `what` was asked and Google's own words."""
    try:
        yield
    except GoogleAPICallError as error:
        raise from_reason(reason_of(error), f"{what}: {error.message}", status=int(error.code or 0)) from error
    except TransportError as error:
        raise CloudUnavailable(f"{what}: {error}") from error
    except GoogleAuthError as error:
        # A refusal, or an answer that did not come: the library says which.
        raise (CloudUnavailable if error.retryable else AuthFailed)(f"{what}: {error}") from error
    except (GoogleAPIError, RetryError, RequestException) as error:
        raise CloudUnavailable(f"{what}: {error}") from error


def from_reason(reason: str, message: str, *, status: int = 0) -> ProviderError:
    """The typed error of one of Google's reasons. `status` decides where the reason says nothing."""
    told = f"{message} ({reason or status or 'no reason'})"
    kind = next((kind for kind, pattern in _KINDS if re.fullmatch(pattern, reason)), None)
    kind = kind or _BY_STATUS.get(status, CloudUnavailable)
    if kind is NotPermitted:
        lacking = _PERMISSION.search(message)
        return NotPermitted(told, lacking["permission"] if lacking else "")
    return kind(told)


def recognise(diagnostics: Sequence[str]) -> ProviderError | None:
    """The first error of Google's API in Terraform's diagnostics, None when there is none."""
    for text in diagnostics:
        if said := _SAID.search(text):
            more = _MORE.search(text)
            reason, message = said["reason"] or (more["reason"] if more else ""), said["message"]
            return from_reason(reason, message or (more["message"] if more else ""), status=int(said["status"]))
        for kind, pattern in _OPERATIONS:
            if re.search(pattern, text):
                return kind(text)
        if _NO_CREDENTIALS.search(text):
            return AuthFailed(text)
    return None


def reason_of(error: GoogleAPICallError) -> str:
    """Google's word for an error; empty where it gave none."""
    for detail in error.errors or ():
        if isinstance(detail, dict) and detail.get("reason"):
            return str(detail["reason"])
    return str(error.reason or "")


def says_there_is_no(error: GoogleAPICallError, path: str) -> bool:
    """Whether Google answered, for the very thing it was asked about (`projects/..`), that there is none.

    A project or zone it does not find is another answer, and says nothing of what is in it.
    """
    named = _NAMED.search(str(error.message))
    return error.code == 404 and named is not None and named["path"] == path
