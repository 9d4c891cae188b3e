"""Hetzner's codes become the project's errors in one place; a code nobody knows is a fault of the moment."""

import pytest
from hcloud import APIException
from requests import ConnectionError as NoConnection

from providers import errors
from providers.hetzner.errors import from_code, is_not_found, recognise, translated


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("rate_limit_exceeded", errors.RateLimited),
        ("resource_unavailable", errors.NoCapacity),
        ("placement_error", errors.NoCapacity),
        ("no_space_left_in_location", errors.NoCapacity),
        ("resource_limit_exceeded", errors.QuotaExceeded),
        ("unauthorized", errors.AuthFailed),
        ("forbidden", errors.NotPermitted),
        ("token_readonly", errors.NotPermitted),
        ("not_found", errors.NotFound),
        ("locked", errors.NotYetGone),
        ("conflict", errors.NotYetGone),
        ("resource_in_use", errors.NotYetGone),
        ("volume_already_attached", errors.NotYetGone),
        ("ip_not_available", errors.NotYetGone),
        ("uniqueness_error", errors.ResourceConflict),
        ("server_already_attached", errors.ResourceConflict),
        ("protected", errors.ResourceConflict),
        ("invalid_input", errors.PlaceUnknown),
        ("maintenance", errors.CloudUnavailable),
        ("server_error", errors.CloudUnavailable),
        ("a_new_word_next_year", errors.CloudUnavailable),
        (401, errors.AuthFailed),
        (403, errors.NotPermitted),
        (429, errors.RateLimited),
        (404, errors.CloudUnavailable),
        (500, errors.CloudUnavailable),
    ],
)
def test_a_code_has_one_meaning(code: str | int, kind: type[errors.ProviderError]) -> None:
    error = from_code(code, "asked for something")
    assert type(error) is kind
    assert str(error) == f"asked for something ({code})"


def test_what_hcloud_raises_leaves_with_what_was_asked_and_what_was_said() -> None:
    words = r"hetzner/p/r: surge: server limit exceeded \(resource_limit_exceeded\)"
    with pytest.raises(errors.QuotaExceeded, match=words), translated("hetzner/p/r: surge"):
        raise APIException("resource_limit_exceeded", "server limit exceeded", None)


def test_no_answer_is_no_answer() -> None:
    with pytest.raises(errors.CloudUnavailable, match="x: refused"), translated("x"):
        raise NoConnection("refused")


def test_our_own_errors_pass_through_as_they_are() -> None:
    with pytest.raises(errors.PlaceUnknown), translated("x"):
        raise errors.PlaceUnknown("nowhere")


def test_only_hetzners_own_word_means_that_a_server_is_not_there() -> None:
    assert is_not_found(APIException("not_found", "server with ID '1' not found", None))
    assert not is_not_found(APIException(404, "Not Found", {"content": b"<html>"}))


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("server name is already used (uniqueness_error, 4f2a-99)", errors.ResourceConflict),
        ("error during placement (resource_unavailable)", errors.NoCapacity),
        ("An unexpected error was encountered.\n\nthe item is locked (locked, 12)\n\nError code: x", errors.NotYetGone),
        ("image 4711 for architecture arm not found", errors.NotFound),
        ("server type ccx99 not found", errors.NotFound),
        ("entered token is invalid (must be exactly 64 characters long)", errors.AuthFailed),
    ],
)
def test_terraforms_words_hold_the_same_codes(said: str, kind: type[errors.ProviderError]) -> None:
    found = recognise(["Warning: something else", said])
    assert type(found) is kind


@pytest.mark.parametrize("said", ["Error: Invalid index", "a value (known after apply)", "exit status 1 (signal)"])
def test_words_that_are_not_hetzners_are_left_to_others(said: str) -> None:
    assert recognise([said]) is None
