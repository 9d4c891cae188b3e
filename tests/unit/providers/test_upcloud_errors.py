"""UpCloud's codes become the project's errors in one place; a code nobody knows is a fault of the moment."""

import pytest
import requests
from upcloud_api.errors import UpCloudClientError  # type: ignore[import-untyped]  # it has no stubs

from providers import errors
from providers.upcloud.errors import UpcloudAnswerError, api_error, code_of, from_code, is_gone, recognise, translated


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("TOO_MANY_REQUESTS", errors.RateLimited),
        ("SERVER_CREATING_LIMIT_REACHED", errors.RateLimited),
        ("SERVER_RESOURCES_UNAVAILABLE", errors.NoCapacity),
        ("STORAGE_RESOURCES_UNAVAILABLE", errors.NoCapacity),
        ("IP_ADDRESS_RESOURCES_UNAVAILABLE", errors.NoCapacity),
        ("STRICT_ANTI_AFFINITY_NOT_MET", errors.NoCapacity),
        ("SERVER_CORE_LIMIT_REACHED", errors.QuotaExceeded),
        ("MAXIOPS_STORAGE_LIMIT_REACHED", errors.QuotaExceeded),
        ("INSUFFICIENT_CREDITS", errors.QuotaExceeded),
        ("TRIAL_PLAN", errors.QuotaExceeded),
        ("AUTHENTICATION_FAILED", errors.AuthFailed),
        ("STORAGE_FORBIDDEN", errors.NotPermitted),
        ("STORAGE_NOT_FOUND", errors.NotFound),
        ("NETWORK_NOT_FOUND", errors.NotFound),
        ("NOT_FOUND", errors.NotFound),
        ("SERVER_STATE_ILLEGAL", errors.NotYetGone),
        ("STORAGE_STATE_ILLEGAL", errors.NotYetGone),
        ("STORAGE_ATTACHED", errors.NotYetGone),
        ("STORAGE_ATTACHED_AS_DISK", errors.NotYetGone),
        ("NETWORK_NOT_EMPTY", errors.NotYetGone),
        ("ROUTER_ATTACHED", errors.NotYetGone),
        ("ADDRESS_ATTACHED", errors.ResourceConflict),
        ("IP_ADDRESS_INVALID", errors.ResourceConflict),
        ("DUPLICATE_RESOURCE", errors.ResourceConflict),
        ("ALREADY_IN_SERVER_GROUP", errors.ResourceConflict),
        ("ZONE_MISMATCH", errors.ResourceConflict),
        ("ZONE_INVALID", errors.PlaceUnknown),
        ("PLAN_CORE_NUMBER_ILLEGAL", errors.PlaceUnknown),
        ("SERVICE_ERROR", errors.CloudUnavailable),
        ("SOMETHING_NEW_NEXT_YEAR", errors.CloudUnavailable),
    ],
)
def test_a_code_has_one_meaning(code: str, kind: type[errors.ProviderError]) -> None:
    error = from_code(code, "asked for something")
    assert type(error) is kind
    assert str(error) == f"asked for something ({code})"


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, errors.AuthFailed), (403, errors.NotPermitted), (429, errors.RateLimited), (502, errors.CloudUnavailable)],
)
def test_where_the_code_says_nothing_the_status_decides(status: int, kind: type[errors.ProviderError]) -> None:
    assert type(from_code("NEW_WORD", "x", status=status)) is kind


def test_both_forms_of_an_error_answer_are_read() -> None:
    legacy = api_error(404, {}, {"error": {"error_code": "SERVER_NOT_FOUND", "error_message": "There is none."}})
    problem = api_error(
        404,
        {"Retry-After": "7"},
        {"type": "https://developers.upcloud.com/1.3/errors#ERROR_SERVER_NOT_FOUND", "title": "There is none."},
    )
    assert (legacy.code, legacy.message, legacy.retry_after_s) == ("SERVER_NOT_FOUND", "There is none.", None)
    assert (problem.code, problem.message, problem.retry_after_s) == ("SERVER_NOT_FOUND", "There is none.", 7.0)
    assert code_of("SERVER_NOT_FOUND") == "SERVER_NOT_FOUND"


@pytest.mark.parametrize("body", [None, [], {}, {"error": None}, "text"])
def test_an_error_without_words_keeps_its_status(body: object) -> None:
    assert api_error(502, {"Retry-After": "soon"}, body).code == "HTTP_502"


def test_only_no_such_server_means_gone() -> None:
    assert is_gone(UpcloudAnswerError(404, "SERVER_NOT_FOUND", ""))
    assert not is_gone(UpcloudAnswerError(404, "NOT_FOUND", ""))
    assert not is_gone(UpcloudAnswerError(403, "SERVER_NOT_FOUND", ""))


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (UpcloudAnswerError(409, "SERVER_STATE_ILLEGAL", "It stops."), errors.NotYetGone),
        (UpCloudClientError("Credentials not found."), errors.AuthFailed),
        (requests.ConnectionError("refused"), errors.CloudUnavailable),
        (requests.Timeout("slow"), errors.CloudUnavailable),
        (KeyError("servers"), errors.CloudUnavailable),
    ],
)
def test_what_the_sdk_raises_leaves_with_what_was_asked(raised: Exception, kind: type[errors.ProviderError]) -> None:
    with pytest.raises(kind, match="upcloud/p/r: listing: "), translated("upcloud/p/r: listing"):
        raise raised


def test_our_own_errors_pass_through_as_they_are() -> None:
    with pytest.raises(errors.PlaceUnknown), translated("x"):
        raise errors.PlaceUnknown("nowhere")


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (
            "Unable to create server: Error: It cannot be created. (type=SERVER_RESOURCES_UNAVAILABLE, status=503)",
            errors.NoCapacity,
        ),
        (
            "Unable to delete server: Error: The server\nis in state started. (type=SERVER_STATE_ILLEGAL, status=409)",
            errors.NotYetGone,
        ),
        (
            "Error: Nope (really). (type=https://developers.upcloud.com/1.3/errors#ERROR_STORAGE_NOT_FOUND, "
            "status=404, correlation_id=01)",
            errors.NotFound,
        ),
        ("Failed to get account, error was AUTHENTICATION_FAILED: Authentication failed", errors.AuthFailed),
        ("Either token or username and password must be configured. Define the", errors.AuthFailed),
        ("No credentials defined: Credentials not found.", errors.AuthFailed),
    ],
)
def test_terraforms_words_hold_the_same_codes(said: str, kind: type[errors.ProviderError]) -> None:
    assert type(recognise(["Warning: something else", said])) is kind


def test_words_that_are_not_upclouds_are_left_to_others() -> None:
    assert recognise(["Error: Invalid index"]) is None
