"""Azure's codes become the project's errors in one place; a code nobody knows is a fault of the moment."""

import pytest
from azure.core.exceptions import ClientAuthenticationError, ServiceRequestError
from azure.identity import CredentialUnavailableError

from providers import errors
from providers.azure.errors import from_code, recognise, translated

QUOTA = "Operation could not be completed as it results in exceeding approved Total Regional Cores quota."
ATTACHED = "Disk data is attached to VM b-0."
OF = 'Linux Virtual Machine (Subscription: "0000"\nResource Group Name: "kedge"\nVirtual Machine Name: "b-0")'


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("TooManyRequests", errors.RateLimited),
        ("SubscriptionRequestsThrottled", errors.RateLimited),
        ("AllocationFailed", errors.NoCapacity),
        ("ZonalAllocationFailed", errors.NoCapacity),
        ("OverconstrainedAllocationRequest", errors.NoCapacity),
        ("SkuNotAvailable", errors.NoCapacity),
        ("SubnetIsFull", errors.NoCapacity),
        ("QuotaExceeded", errors.QuotaExceeded),
        ("AuthorizationFailed", errors.NotPermitted),
        ("LinkedAuthorizationFailed", errors.NotPermitted),
        ("InvalidAuthenticationTokenTenant", errors.AuthFailed),
        ("ExpiredAuthenticationToken", errors.AuthFailed),
        ("SubscriptionNotFound", errors.AuthFailed),
        ("ReadOnlyDisabledSubscription", errors.NotPermitted),
        ("ResourceNotFound", errors.NotFound),
        ("ResourceGroupNotFound", errors.NotFound),
        ("GalleryImageNotFound", errors.NotFound),
        ("InvalidResourceReference", errors.NotFound),
        ("AnotherOperationInProgress", errors.NotYetGone),
        ("AttachDiskWhileBeingDetached", errors.NotYetGone),
        ("NicReservedForAnotherVm", errors.NotYetGone),
        ("NicInUse", errors.NotYetGone),
        ("PrivateIPAddressInUse", errors.NotYetGone),
        ("ConflictingUserInput", errors.ResourceConflict),
        ("PropertyChangeNotAllowed", errors.ResourceConflict),
        ("OperationNotAllowed", errors.ResourceConflict),
        ("ScopeLocked", errors.ResourceConflict),
        ("InvalidParameter", errors.PlaceUnknown),
        ("LocationNotAvailableForResourceType", errors.PlaceUnknown),
        ("InternalServerError", errors.CloudUnavailable),
        ("SomethingNewNextYear", errors.CloudUnavailable),
    ],
)
def test_a_code_of_azures_has_one_meaning(code: str, kind: type[errors.ProviderError]) -> None:
    error = from_code(code, "asked for something")
    assert type(error) is kind
    assert str(error) == f"asked for something ({code})"


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        ("OperationNotAllowed", QUOTA, errors.QuotaExceeded),
        ("OperationNotAllowed", ATTACHED, errors.NotYetGone),
        ("Conflict", "The request failed due to conflict with a concurrent request.", errors.NotYetGone),
    ],
    ids=["quota", "attached", "concurrent"],
)
def test_a_general_code_is_told_by_its_message(code: str, message: str, kind: type[errors.ProviderError]) -> None:
    assert type(from_code(code, message, status=409)) is kind


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, errors.AuthFailed),
        (403, errors.NotPermitted),
        (409, errors.ResourceConflict),
        (429, errors.RateLimited),
        (503, errors.CloudUnavailable),
    ],
)
def test_an_unknown_code_is_told_by_its_status(status: int, kind: type[errors.ProviderError]) -> None:
    assert type(from_code("NewWord", "x", status=status)) is kind


def test_a_failed_operation_in_terraforms_words() -> None:
    said = (
        f"creating {OF}: polling after CreateOrUpdate: polling failed: the Azure API returned the following error:\n\n"
        'Status: "ZonalAllocationFailed"\nCode: ""\nMessage: "Allocation failed."\nActivity Id: ""\n\n---\n'
    )
    found = recognise(["Warning: something else", said])
    assert type(found) is errors.NoCapacity
    assert str(found) == "Allocation failed. (ZonalAllocationFailed)"


def test_a_status_that_says_more_than_its_code_is_taken() -> None:
    said = f'Status: "QuotaExceeded"\nCode: "OperationNotAllowed"\nMessage: "{QUOTA}"\nActivity Id: ""'
    assert type(recognise([said])) is errors.QuotaExceeded


def test_a_refused_call_in_terraforms_words() -> None:
    said = (
        f"creating {OF}: performing CreateOrUpdate: unexpected status 409 (409 Conflict) with error: SkuNotAvailable: "
        "The requested VM size is currently not available in location 'westeurope'."
    )
    assert type(recognise([said])) is errors.NoCapacity
    throttled = "retrieving x: unexpected status 429 (429 Too Many Requests) with error: TooManyRequests: slow down"
    assert type(recognise([throttled])) is errors.RateLimited


def test_something_that_exists_is_not_taken_over() -> None:
    said = (
        'A resource with the ID "/subscriptions/0/x" already exists - to be managed via Terraform this resource needs'
    )
    found = recognise([said])
    assert type(found) is errors.ResourceConflict
    assert "/subscriptions/0/x already" in str(found)


def test_no_token_is_a_matter_for_a_person() -> None:
    said = "Error: building account: could not acquire access token to parse claims: AADSTS7000215: Invalid secret"
    assert type(recognise([said])) is errors.AuthFailed


def test_words_that_are_not_azures_are_left_to_others() -> None:
    assert recognise(["Error: Invalid index"]) is None


def test_what_the_sdk_raises_leaves_with_what_was_asked() -> None:
    with (
        pytest.raises(errors.AuthFailed, match="azure/p/r: listing: no token: wrong"),
        translated("azure/p/r: listing"),
    ):
        raise ClientAuthenticationError("wrong")
    with pytest.raises(errors.AuthFailed), translated("x"):
        raise CredentialUnavailableError("no managed identity here")
    with pytest.raises(errors.CloudUnavailable, match="x: nobody there"), translated("x"):
        raise ServiceRequestError("nobody there")


def test_errors_of_ours_pass_through_as_they_are() -> None:
    with pytest.raises(errors.PlaceUnknown), translated("x"):
        raise errors.PlaceUnknown("nowhere")
