"""DigitalOcean's words become the project's errors in one place; what nobody knows is a fault of the moment."""

import pytest
from azure.core.exceptions import ServiceRequestError

from providers import errors
from providers.digitalocean.errors import from_answer, is_not_found, recognise, translated

REQUEST = '(request "4d9d8375-3c56-4925-a3e7-eb137fed17e9")'


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (401, "Unable to authenticate you", errors.AuthFailed),
        (403, "You are not authorized to perform this operation", errors.NotPermitted),
        (403, "Can not delete VPC with members", errors.NotYetGone),
        (404, "The resource you requested could not be found.", errors.NotFound),
        (409, "a volume with that name already exists", errors.ResourceConflict),
        (422, "Droplet already has a pending event.", errors.NotYetGone),
        (422, "creating this/these droplet(s) will exceed your droplet limit", errors.QuotaExceeded),
        (422, "The size you selected is temporarily unavailable because of server capacity", errors.NoCapacity),
        (422, "The image you specified does not exist", errors.NotFound),
        (422, "something else", errors.ResourceConflict),
        (429, "API Rate limit exceeded.", errors.RateLimited),
        (500, "Server Error", errors.CloudUnavailable),
        (503, "", errors.CloudUnavailable),
        (418, "I'm a teapot", errors.CloudUnavailable),
    ],
)
def test_an_answer_has_a_kind(status: int, message: str, kind: type[errors.ProviderError]) -> None:
    assert type(from_answer(status, message)) is kind
    url = "https://api.digitalocean.com/v2/droplets"
    told = recognise([f"Error creating droplet: POST {url}: {status} {REQUEST} {message}\n\n  on instances.tf line 12"])
    assert type(told) is kind
    assert message in str(told)


def test_terraform_without_an_answer_is_a_cloud_that_is_away() -> None:
    told = 'Error retrieving droplet: Get "http://127.0.0.1:1/v2/droplets/3": dial tcp: connect: connection refused'
    assert isinstance(recognise([told]), errors.CloudUnavailable)


def test_a_provider_without_a_token_is_told_so() -> None:
    told = "Missing DigitalOcean API token: set token or DIGITALOCEAN_TOKEN"
    assert isinstance(recognise(["warning", told]), errors.AuthFailed)


def test_words_of_terraform_itself_are_not_ours() -> None:
    assert recognise(["Error: Invalid function argument", "Error acquiring the state lock"]) is None


def test_no_answer_is_unknown_and_says_what_was_asked() -> None:
    with pytest.raises(errors.CloudUnavailable, match="listing: no route"), translated("listing"):
        raise ServiceRequestError("no route")


@pytest.mark.parametrize(
    ("answer", "gone"),
    [
        ({"id": "not_found", "message": "The resource you requested could not be found."}, True),
        ({"id": "unauthorized", "message": "Unable to authenticate you"}, False),
        ({"droplet": {"id": 3}}, False),
        (None, False),
    ],
)
def test_only_an_answer_that_says_so_means_not_found(answer: object, gone: bool) -> None:
    assert is_not_found(answer) is gone
