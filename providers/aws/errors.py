"""AWS's words become ours here and nowhere else: boto3's exceptions, and Terraform's diagnostics.

Codes are those of "Error codes for the Amazon EC2 API" and of STS; a code that is in no list is a fault of the moment,
which retries can only make louder, never destructive.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
    SSOError,
    TokenRetrievalError,
)

from providers import errors

_KINDS: tuple[tuple[type[errors.ProviderError], str], ...] = (
    (errors.RateLimited, r"RequestLimitExceeded|Throttling\w*|TooManyRequests\w*|SlowDown|EC2ThrottledException"),
    (errors.NoCapacity, r"Insufficient\w*Capacity|InsufficientFreeAddressesInSubnet|SpotMaxPriceTooLow"),
    (errors.QuotaExceeded, r"\w*LimitExceeded(Exception)?|MaxSpotInstanceCountExceeded|PendingVerification"),
    (errors.NotPermitted, r"UnauthorizedOperation|AccessDenied\w*|UnauthorizedAccess|OptInRequired"),
    (
        errors.AuthFailed,
        r"AuthFailure|InvalidClientTokenId|ExpiredToken\w*|RequestExpired"
        r"|SignatureDoesNotMatch|UnrecognizedClient\w*|InvalidAccessKeyId|Blocked|MissingAuth\w*",
    ),
    (errors.NotFound, r"Invalid[\w.]*\.(NotFound|Malformed)|InvalidAMIID\.Unavailable|InvalidPlacementGroup\.Unknown"),
    (errors.NotYetGone, r"DependencyViolation|VolumeInUse|Invalid(NetworkInterface|IPAddress|Group|Attachment)\.InUse"),
    (errors.NotYetGone, r"IncorrectState\w*|IncorrectInstanceState"),
    (
        errors.ResourceConflict,
        r"[\w.]*Duplicate\w*|OperationNotPermitted|[\w.]*InUse|ResourceAlreadyAssociated|Idempotent\w*",
    ),
    (errors.PlaceUnknown, r"Unsupported\w*|InvalidInstanceType|InvalidParameterValue"),
    (errors.ResourceConflict, r"InvalidVolume\.ZoneMismatch|Resource\.AlreadyAssociated"),
)

_STILL_MOUNTED = re.compile(
    r"waiting for EBS Volume \((?P<volume>vol-\w+)\) Attachment \((?P<vm>i-\w+)\) delete: "
    r"(?=timeout while waiting|unexpected state)(?P<said>[^\n]*)"
)
"""What Terraform's provider 5.100 says of a volume that EC2 was asked to detach and keeps: it asks every few seconds
for 5 min while the attachment is `detaching`, and gives up at once where it is `busy`, or still `attached`
(`waitVolumeAttachmentDeleted` in its ebs_volume_attachment.go). No code of EC2 is in it: each call was answered."""

_SAID = re.compile(
    r"(?:operation error (?P<service>[\w ]+): (?P<operation>\w+), [^\n]*)?"
    r"api error (?P<code>[\w.]+): (?P<message>[^\n]*)"
)
"""As Go's SDK prints an error. The operation counts where AWS does not name the action it did not allow."""

_ACTION = re.compile(r"not authorized to perform: (?P<action>[\w-]+:\w+)")
_ENCODED = re.compile(r"\s*Encoded authorization failure message: [\w-]+\.?")
"""A kilobyte or two that only `aws sts decode-authorization-message` reads."""

_NO_CREDENTIALS = (
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
    CredentialRetrievalError,
    SSOError,
    TokenRetrievalError,
)


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Whatever boto3 raises inside leaves as one of `providers.errors`, with `what` was asked and AWS's own words."""
    try:
        yield
    except ClientError as error:
        told = f"{what}: {_message(error)}"
        raise from_code(code_of(error), told, status=_status(error), operation=error.operation_name) from error
    except _NO_CREDENTIALS as error:
        raise errors.AuthFailed(f"{what}: {error}") from error
    except BotoCoreError as error:
        raise errors.CloudUnavailable(f"{what}: {error}") from error


def from_code(code: str, message: str, *, status: int = 0, operation: str = "") -> errors.ProviderError:
    """The typed error of one of AWS's codes. `status` decides where the code says nothing; `operation` is the call's
    name, for what AWS does not allow without a word on the action."""
    kind = next((kind for kind, pattern in _KINDS if re.fullmatch(pattern, code)), None)
    kind = kind or {401: errors.AuthFailed, 403: errors.NotPermitted}.get(status, errors.CloudUnavailable)
    if kind is errors.NotPermitted:
        action = _ACTION.search(message)
        return errors.NotPermitted(f"{_ENCODED.sub('', message)} ({code})", action["action"] if action else operation)
    return kind(f"{message} ({code})")


def recognise(diagnostics: Sequence[str]) -> errors.ProviderError | None:
    """The first error of AWS's API in Terraform's diagnostics, None when there is none."""
    for text in diagnostics:
        if kept := _STILL_MOUNTED.search(text):
            return errors.NotYetGone(
                f"volume {kept['volume']} does not leave {kept['vm']}: it is still mounted in the VM, or EC2 has not "
                f"let go of it yet ({kept['said'].strip()})"
            )
        if said := _SAID.search(text):
            operation = f"{said['service'].lower()}:{said['operation']}" if said["service"] else ""
            return from_code(said["code"], said["message"], operation=operation)
        if "No valid credential sources found" in text or "AWS account ID not allowed" in text:
            return errors.AuthFailed(text)
    return None


def is_throttle(parsed: Mapping[str, Any]) -> bool:
    """Whether an answer, as boto3 parsed it, says that the account calls too often."""
    return isinstance(from_code(str(parsed.get("Error", {}).get("Code", "")), ""), errors.RateLimited)


def is_not_found(error: ClientError) -> bool:
    """Whether AWS answered, for the very instance it was asked about, that there is none."""
    return code_of(error) == "InvalidInstanceID.NotFound"


def code_of(error: ClientError) -> str:
    """AWS's own word for it."""
    return str(error.response.get("Error", {}).get("Code", ""))


def _message(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Message", error))


def _status(error: ClientError) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
