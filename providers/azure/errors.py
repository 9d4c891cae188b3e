"""Azure's words become ours here and nowhere else: the SDK's exceptions, and Terraform's diagnostics.

Codes are those of "Common ARM deployment errors", "Throttling Resource Manager requests" and the allocation and disk
troubleshooting pages of Azure's documentation; a code that is in no list is a fault of the moment, which retries can
only make louder, never destructive.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError

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
    (RateLimited, r"TooManyRequests|\w*Throttled\w*|OperationPerSecondLimitExceeded|RateLimitExceeded"),
    (NoCapacity, r"\w*AllocationFailed|OverconstrainedAllocationRequest|SkuNotAvailable|SubnetIsFull|\w*Evicted"),
    (QuotaExceeded, r"\w*QuotaExceeded|\w*LimitExceeded|\w*LimitReached|ResourceQuotaExceeded|MaxStorageAccount\w*"),
    (
        NotPermitted,
        r"\w*AuthorizationFailed|RequestDisallowedByPolicy|Forbidden|ReadOnlyDisabledSubscription|DisabledSubscription"
        r"|MissingSubscriptionRegistration|FeatureNotRegistered",
    ),
    (
        AuthFailed,
        r"AuthenticationFailed|InvalidAuthenticationToken\w*|ExpiredAuthenticationToken|InvalidSubscriptionId"
        r"|SubscriptionNotFound|Unauthorized",
    ),
    (
        NotFound,
        r"ResourceNotFound|ResourceGroupNotFound|ParentResourceNotFound|NotFound|InvalidResourceReference"
        r"|\w*ImageNotFound|ImageVersionNotFound|InvalidImageReference",
    ),
    (
        NotYetGone,
        r"AnotherOperationInProgress|OperationPreempted|AttachDiskWhileBeingDetached|NicReservedForAnotherVm|NicInUse"
        r"|RetryableError\w*|ResourceGroupBeingDeleted|PrivateIPAddressInUse|\w*BeingDeleted|InUse\w*CannotBe\w+"
        r"|ResourceNotReady|CannotDelete\w*|ConflictingConcurrentWrite\w*|VMMarkedForDeletion|DiskIsAttachedToVM",
    ),
    (
        ResourceConflict,
        r"Conflict\w*|PropertyChangeNotAllowed|ScopeLocked|OperationNotAllowed|ResourceAlreadyExists|\w*AlreadyAttached\w*"
        r"|DiskInUse\w*|LunInUse|InvalidResourceLocation|\w*ZoneMismatch|NetworkInterfaceInUse\w*",
    ),
    (
        PlaceUnknown,
        r"Location\w*|NoRegisteredProviderFound|\w*InvalidParameter|InvalidParameterValue|InvalidRequestContent|BadRequest"
        r"|\w*NotSupported\w*|InvalidVMSize|InvalidResourceNamespace|ResourcesWithoutZones\w*",
    ),
)

_ACTION = re.compile(r"perform action\(?s?\)? '(?P<action>[^']+)'")
"""In what Azure says of who is known and lacks a role (`AuthorizationFailed`)."""

_STILL = re.compile(r"is attached to|concurrent request|is used by existing|being deleted|in progress", re.IGNORECASE)
_QUOTA = re.compile(r"\bquota\b", re.IGNORECASE)
_EXISTS = re.compile(r'A resource with the ID "(?P<id>[^"]+)" already exists')
_REFUSED = re.compile(
    r"unexpected status (?P<status>\d{3})(?: \([^)]*\))?(?: with error: (?P<code>\w+): (?P<message>.*)|(?P<rest>.*))",
    re.DOTALL,
)
_FAILED = re.compile(
    r'Status: "(?P<status>\w*)"\s+Code: "(?P<code>\w*)"\s+Message: "(?P<message>.*?)"\s+Activity', re.DOTALL
)
_NO_TOKEN = re.compile(
    r"AADSTS\d+|building account|could not configure AzureCli|obtain(ing)? (a|an access) token", re.I
)


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Whatever the SDK raises inside leaves as one of `providers.errors`, with what was asked and Azure's own words."""
    try:
        yield
    except ClientAuthenticationError as error:
        raise AuthFailed(f"{what}: {_code(error) or 'no token'}: {_message(error)}") from error
    except HttpResponseError as error:
        raise from_code(_code(error), f"{what}: {_message(error)}{_pause(error)}", status=_status(error)) from error
    except AzureError as error:
        raise CloudUnavailable(f"{what}: {error.message}") from error


def from_code(code: str, message: str, *, status: int = 0) -> ProviderError:
    """The typed error of one of Azure's codes. `status` decides where the code says nothing; 429 says all."""
    told = f"{message} ({code or status})"
    if status == 429:
        return RateLimited(told)
    if code in ("OperationNotAllowed", "Conflict", "BadRequest") and _QUOTA.search(message):
        return QuotaExceeded(told)
    if code in ("OperationNotAllowed", "Conflict", "BadRequest") and _STILL.search(message):
        return NotYetGone(told)
    kind = next((kind for kind, pattern in _KINDS if re.fullmatch(pattern, code)), None)
    kind = kind or {401: AuthFailed, 403: NotPermitted, 409: ResourceConflict}.get(status, CloudUnavailable)
    if kind is NotPermitted:
        action = _ACTION.search(message)
        return NotPermitted(told, action["action"] if action else "")
    return kind(told)


def recognise(diagnostics: Sequence[str]) -> ProviderError | None:
    """The first error of Azure's in Terraform's diagnostics, None when there is none.

    A long operation that failed is told as `Status`, `Code` and `Message`, with either word empty or general; a call
    that was refused as its status and Azure's code.
    """
    for text in diagnostics:
        if exists := _EXISTS.search(text):
            return ResourceConflict(
                f"Azure has {exists['id']} already, and this state does not know it: a run that was killed made it, "
                f"or somebody else; it is not taken over"
            )
        if failed := _FAILED.search(text):
            general = failed["code"] in ("", "Failed", "OperationNotAllowed")
            return from_code(failed["status"] if general else failed["code"], failed["message"])
        if refused := _REFUSED.search(text):
            message = refused["message"] or refused["rest"]
            return from_code(refused["code"] or "", message.strip(), status=int(refused["status"]))
        if _NO_TOKEN.search(text):
            return AuthFailed(text)
    return None


def is_not_there(error: HttpResponseError) -> bool:
    """Whether Azure answered, for the very thing it was asked about, that there is none of that name."""
    return _status(error) == 404 and _code(error) in ("ResourceNotFound", "NotFound")


def pause_s(headers: object) -> float:
    """Seconds Azure asks to wait (`Retry-After`), 0 where it does not say."""
    told = str(headers.get("Retry-After", "")) if hasattr(headers, "get") else ""
    return float(told) if told.isdecimal() else 0.0


def _code(error: HttpResponseError) -> str:
    return str(getattr(error.error, "code", "") or "") if error.error is not None else ""


def _message(error: HttpResponseError) -> str:
    told = getattr(error.error, "message", "") if error.error is not None else ""
    return str(told or error.message)


def _status(error: HttpResponseError) -> int:
    return int(error.status_code or 0)


def _pause(error: HttpResponseError) -> str:
    seconds = pause_s(getattr(error.response, "headers", None))
    return f"; Azure asks for a pause of {seconds:.0f} s" if seconds else ""
