"""AWS's codes become the project's errors in one place; a code nobody knows is a fault of the moment."""

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError

from providers import errors
from providers.aws.errors import from_code, recognise, translated


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("RequestLimitExceeded", errors.RateLimited),
        ("Throttling", errors.RateLimited),
        ("ThrottlingException", errors.RateLimited),
        ("InsufficientInstanceCapacity", errors.NoCapacity),
        ("InsufficientFreeAddressesInSubnet", errors.NoCapacity),
        ("InstanceLimitExceeded", errors.QuotaExceeded),
        ("VcpuLimitExceeded", errors.QuotaExceeded),
        ("VolumeLimitExceeded", errors.QuotaExceeded),
        ("AuthFailure", errors.AuthFailed),
        ("UnauthorizedOperation", errors.NotPermitted),
        ("AccessDeniedException", errors.NotPermitted),
        ("ExpiredToken", errors.AuthFailed),
        ("InvalidClientTokenId", errors.AuthFailed),
        ("InvalidInstanceID.NotFound", errors.NotFound),
        ("InvalidSubnetID.NotFound", errors.NotFound),
        ("InvalidAMIID.Malformed", errors.NotFound),
        ("InvalidPlacementGroup.Unknown", errors.NotFound),
        ("DependencyViolation", errors.NotYetGone),
        ("VolumeInUse", errors.NotYetGone),
        ("InvalidNetworkInterface.InUse", errors.NotYetGone),
        ("IncorrectInstanceState", errors.NotYetGone),
        ("InvalidGroup.Duplicate", errors.ResourceConflict),
        ("InvalidIPAddress.InUse", errors.NotYetGone),
        ("OperationNotPermitted", errors.ResourceConflict),
        ("InvalidVolume.ZoneMismatch", errors.ResourceConflict),
        ("Unsupported", errors.PlaceUnknown),
        ("InternalError", errors.CloudUnavailable),
        ("ServiceUnavailable", errors.CloudUnavailable),
        ("SomethingNewNextYear", errors.CloudUnavailable),
    ],
)
def test_a_code_has_one_meaning(code: str, kind: type[errors.ProviderError]) -> None:
    error = from_code(code, "asked for something")
    assert type(error) is kind
    assert str(error) == f"asked for something ({code})"


def test_a_refusal_by_an_unknown_code_is_a_refusal() -> None:
    assert type(from_code("NewWordForNo", "x", status=403)) is errors.NotPermitted


def test_what_boto3_raises_leaves_with_what_was_asked_and_what_was_said() -> None:
    answer = {"Error": {"Code": "VcpuLimitExceeded", "Message": "You have 0 left"}}
    words = r"aws/p/r: surge: You have 0 left \(VcpuLimitExceeded\)"
    with pytest.raises(errors.QuotaExceeded, match=words), translated("aws/p/r: surge"):
        raise ClientError(answer, "RunInstances")


def test_no_answer_is_no_answer() -> None:
    with pytest.raises(errors.CloudUnavailable), translated("x"):
        raise EndpointConnectionError(endpoint_url="http://127.0.0.1:9")


def test_no_credentials_is_a_matter_for_a_person() -> None:
    with pytest.raises(errors.AuthFailed), translated("x"):
        raise NoCredentialsError


def test_our_own_errors_pass_through_as_they_are() -> None:
    with pytest.raises(errors.PlaceUnknown), translated("x"):
        raise errors.PlaceUnknown("nowhere")


def test_terraforms_words_hold_the_same_codes() -> None:
    said = (
        "creating EC2 Instance: operation error EC2: RunInstances, https response error StatusCode: 400, "
        "RequestID: 1, api error InsufficientInstanceCapacity: We currently do not have sufficient m7g.large"
    )
    found = recognise(["Warning: something else", said])
    assert type(found) is errors.NoCapacity
    assert "do not have sufficient m7g.large" in str(found)


def test_a_provider_that_refuses_the_account_is_a_matter_for_a_person() -> None:
    assert type(recognise(["AWS account ID not allowed: 210987654321"])) is errors.AuthFailed


def test_words_that_are_not_awss_are_left_to_others() -> None:
    assert recognise(["Error: Invalid index"]) is None


def test_what_passes_by_itself_is_tried_again_and_what_a_person_wrote_is_not() -> None:
    assert errors.NotYetGone.retryable
    assert not errors.NotFound.retryable


@pytest.mark.parametrize(
    "words",
    [
        "timeout while waiting for resource to be gone (last state: 'detaching', timeout: 5m0s)",
        "unexpected state 'busy', wanted target ''. last error: %!s(<nil>)",
        "unexpected state 'attached', wanted target ''. last error: %!s(<nil>)",
    ],
)
def test_a_volume_that_is_kept_by_its_vm_is_told_as_mounted_there(words: str) -> None:
    """Before, it was an error nobody knew, tried again and again, which named no reason."""
    said = f"waiting for EBS Volume (vol-0a1b) Attachment (i-0c2d) delete: {words}"
    found = recognise(["Warning: something else", said])
    assert type(found) is errors.NotYetGone
    assert found.retryable
    assert str(found).startswith("volume vol-0a1b does not leave i-0c2d: it is still mounted in the VM")
    assert words in str(found)


def test_what_ec2_itself_says_of_a_detach_keeps_its_own_meaning() -> None:
    said = "deleting EBS Volume (vol-0a1b) Attachment (i-0c2d): api error UnauthorizedOperation: no"
    assert type(recognise([said])) is errors.NotPermitted
