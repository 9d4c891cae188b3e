"""Google's reasons become the project's errors in one place; what nobody knows is judged by its status."""

from collections.abc import Callable

import pytest
from google.api_core.exceptions import Forbidden, GoogleAPICallError, InternalServerError, NotFound as GoogleNotFound
from google.auth.exceptions import DefaultCredentialsError, RefreshError, TransportError
from requests.exceptions import ConnectionError as NoConnection

from providers import errors
from providers.google.errors import from_reason, recognise, says_there_is_no, translated

PATH = "projects/p/zones/europe-west1-b/instances/vm"


def by_the_sdk(kind: Callable[..., Exception], words: str, **more: object) -> Exception:
    """An error of the SDK, whose own classes have no types."""
    return kind(words, **more)


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("rateLimitExceeded", errors.RateLimited),
        ("userRateLimitExceeded", errors.RateLimited),
        ("ZONE_RESOURCE_POOL_EXHAUSTED", errors.NoCapacity),
        ("ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", errors.NoCapacity),
        ("quotaExceeded", errors.QuotaExceeded),
        ("QUOTA_EXCEEDED", errors.QuotaExceeded),
        ("required", errors.AuthFailed),
        ("forbidden", errors.NotPermitted),
        ("accessNotConfigured", errors.NotPermitted),
        ("notFound", errors.NotFound),
        ("resourceInUseByAnotherResource", errors.NotYetGone),
        ("IP_IN_USE_BY_ANOTHER_RESOURCE", errors.NotYetGone),
        ("resourceNotReady", errors.NotYetGone),
        ("alreadyExists", errors.ResourceConflict),
        ("invalid", errors.PlaceUnknown),
        ("backendError", errors.CloudUnavailable),
        ("somethingNewNextYear", errors.CloudUnavailable),
    ],
)
def test_a_reason_has_one_meaning(reason: str, kind: type[errors.ProviderError]) -> None:
    error = from_reason(reason, "asked for something")
    assert type(error) is kind
    assert str(error) == f"asked for something ({reason})"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, errors.PlaceUnknown),
        (401, errors.AuthFailed),
        (403, errors.NotPermitted),
        (404, errors.NotFound),
        (409, errors.ResourceConflict),
        (429, errors.RateLimited),
        (503, errors.CloudUnavailable),
        (0, errors.CloudUnavailable),
    ],
)
def test_a_reason_nobody_knows_is_judged_by_its_status(status: int, kind: type[errors.ProviderError]) -> None:
    assert type(from_reason("", "x", status=status)) is kind


def test_what_the_sdk_raises_leaves_with_what_was_asked_and_what_was_said() -> None:
    said = by_the_sdk(Forbidden, "Quota exceeded for quota metric", errors=[{"reason": "rateLimitExceeded"}])
    words = r"google/p/r: listing: Quota exceeded for quota metric \(rateLimitExceeded\)"
    with pytest.raises(errors.RateLimited, match=words), translated("google/p/r: listing"):
        raise said


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (NoConnection("refused"), errors.CloudUnavailable),
        (by_the_sdk(TransportError, "no way there"), errors.CloudUnavailable),
        (by_the_sdk(RefreshError, "invalid_grant", retryable=False), errors.AuthFailed),
        (by_the_sdk(RefreshError, "try again", retryable=True), errors.CloudUnavailable),
        (by_the_sdk(DefaultCredentialsError, "none found"), errors.AuthFailed),
        (by_the_sdk(InternalServerError, "oh"), errors.CloudUnavailable),
    ],
)
def test_no_answer_is_no_refusal(raised: Exception, kind: type[errors.ProviderError]) -> None:
    with pytest.raises(kind), translated("x"):
        raise raised


def test_our_own_errors_pass_through_as_they_are() -> None:
    with pytest.raises(errors.PlaceUnknown), translated("x"):
        raise errors.PlaceUnknown("nowhere")


@pytest.mark.parametrize(
    ("error", "gone"),
    [
        (by_the_sdk(GoogleNotFound, f"GET http://x: The resource '{PATH}' was not found"), True),
        (by_the_sdk(GoogleNotFound, "The resource 'projects/p' was not found"), False),
        (by_the_sdk(GoogleNotFound, "The resource 'projects/p/zones/europe-west1-b' was not found"), False),
        (by_the_sdk(GoogleNotFound, f"The resource '{PATH}-2' was not found"), False),
        (by_the_sdk(GoogleNotFound, "Not Found"), False),
        (by_the_sdk(Forbidden, f"The resource '{PATH}' was not found"), False),
    ],
)
def test_only_not_found_about_that_very_thing_says_that_it_is_gone(error: GoogleAPICallError, gone: bool) -> None:
    assert says_there_is_no(error, PATH) is gone


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (
            "Error creating instance: googleapi: Error 409: The resource 'projects/p/zones/z/instances/vm' already "
            'exists, alreadyExists (module.kedge.google_compute_instance.instance["b-0.g1"])',
            errors.ResourceConflict,
        ),
        (
            "Error creating Disk: googleapi: Error 403: Quota 'SSD_TOTAL_GB' exceeded, quotaExceeded",
            errors.QuotaExceeded,
        ),
        ("googleapi: Error 403: Quota exceeded for quota metric 'Queries', rateLimitExceeded", errors.RateLimited),
        (
            "Error: googleapi: Error 403: Required permission\nDetails:\n[]\n\nMore details:\n"
            "Reason: forbidden, Message: Required permission",
            errors.NotPermitted,
        ),
        ("Error reading Disk: googleapi: Error 503: Service Unavailable", errors.CloudUnavailable),
        (
            "Error waiting for instance to create: The zone 'projects/p/zones/z' does not have enough resources "
            "available to fulfill the request.  Try a different zone, or try again later.",
            errors.NoCapacity,
        ),
        (
            "Error waiting for instance to create: Quota 'CPUS' exceeded.  Limit: 24.0 in region x.",
            errors.QuotaExceeded,
        ),
        (
            "Error waiting to create instance: IP '10.0.0.2' is already being used by another resource.",
            errors.NotYetGone,
        ),
        ("binding c-0.g2: its VM was made with another address; only a new VM can", errors.ResourceConflict),
        ("Attempted to load application default credentials ...  No credentials loaded.", errors.AuthFailed),
    ],
)
def test_terraforms_words_hold_googles(said: str, kind: type[errors.ProviderError]) -> None:
    assert type(recognise(["Warning: something else", said])) is kind


def test_words_that_are_not_googles_are_left_to_others() -> None:
    assert recognise(["Error: Invalid index", "Error: Resource precondition failed"]) is None
