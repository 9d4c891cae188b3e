"""Who is known and may not is told apart from who is not let in, on every cloud, in the vendors' own words: by what
their SDKs raise, and by what their Terraform providers print. Where the cloud names the permission, we do.

The texts are as people have met them (issues of the providers' repositories), with ids of a test.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from azure.core.exceptions import HttpResponseError, ODataV4Format
from botocore.exceptions import ClientError
from google.api_core.exceptions import Forbidden
from hcloud import APIException

from providers import errors
from providers.aws import errors as aws
from providers.azure import errors as azure
from providers.digitalocean import errors as digitalocean
from providers.google import errors as google
from providers.hetzner import errors as hetzner
from providers.upcloud import errors as upcloud

EC2 = (
    "You are not authorized to perform this operation. User: arn:aws:iam::123456789012:user/kedge is not authorized to "
    "perform: ec2:RunInstances on resource: arn:aws:ec2:eu-west-1:123456789012:instance/* because no identity-based "
    "policy allows the ec2:RunInstances action. Encoded authorization failure message: p1EyykaD2fI3csh_sf_WvdHF-s5IYypR"
)
OLD_EC2 = "You are not authorized to perform this operation."
ARM = (
    "The client '00000000-aaaa' with object id '00000000-bbbb' does not have authorization to perform action "
    "'Microsoft.Compute/virtualMachines/write' over scope '/subscriptions/0000/resourceGroups/kedge/providers/"
    "Microsoft.Compute/virtualMachines/b-0' or the scope is invalid. If access was recently granted, please refresh "
    "your credentials."
)
COMPUTE = "Required 'compute.instances.create' permission for 'projects/p/zones/europe-west1-b/instances/vm'"
DROPLETS = "You are not authorized to perform this operation"
READ_ONLY = "the token is only allowed to perform GET requests"
SERVER = "The user has no permission to access the server."

Recognise = Callable[[Sequence[str]], errors.ProviderError | None]
Translated = Callable[[str], AbstractContextManager[None]]

IN_TERRAFORM = {
    "aws": (
        aws.recognise,
        "creating EC2 Instance: operation error EC2: RunInstances, https response error StatusCode: 403, RequestID: "
        f"0d394442-5c7b, api error UnauthorizedOperation: {EC2}",
        "ec2:RunInstances",
    ),
    "aws, which does not name the action": (
        aws.recognise,
        "creating EC2 Instance: operation error EC2: RunInstances, https response error StatusCode: 403, RequestID: "
        f"0d394442-5c7b, api error UnauthorizedOperation: {OLD_EC2}",
        "ec2:RunInstances",
    ),
    "azure": (
        azure.recognise,
        'creating Linux Virtual Machine (Subscription: "0000"): performing CreateOrUpdate: unexpected status 403 '
        f"(403 Forbidden) with error: AuthorizationFailed: {ARM}",
        "Microsoft.Compute/virtualMachines/write",
    ),
    "google": (
        google.recognise,
        f"Error creating instance: googleapi: Error 403: {COMPUTE}, forbidden",
        "compute.instances.create",
    ),
    "google, with details": (
        google.recognise,
        f"Error: googleapi: Error 403: {COMPUTE}.\nDetails:\n[\n  {{}}\n]\n, forbidden",
        "compute.instances.create",
    ),
    "digitalocean": (
        digitalocean.recognise,
        'Error creating droplet: POST https://api.digitalocean.com/v2/droplets: 403 (request "34fe003d-496e") '
        + DROPLETS,
        "POST /v2/droplets",
    ),
    "hetzner": (
        hetzner.recognise,
        f"{READ_ONLY} (token_readonly, 4f2a-99)",
        "",
    ),
    "hetzner, of one thing": (hetzner.recognise, "insufficient permissions for this request (forbidden, 4f2a)", ""),
    "upcloud": (
        upcloud.recognise,
        f"Error: {SERVER} (type=SERVER_FORBIDDEN, status=403, correlation_id=01H)",
        "",
    ),
}


@dataclass(frozen=True)
class Answer403:
    """What the exceptions of Azure's SDK core, which DigitalOcean's has too, read of an answer."""

    body: str
    status_code: int = 403
    reason: str = "Forbidden"
    headers: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        return self.body


def _arm() -> HttpResponseError:
    raised = HttpResponseError(response=cast(Any, Answer403("")))
    raised.error = ODataV4Format({"code": "AuthorizationFailed", "message": ARM})
    return raised


def _droplets() -> HttpResponseError:
    return HttpResponseError(response=cast(Any, Answer403(f'{{"id": "forbidden", "message": "{DROPLETS}"}}')))


def _refused(kind: Callable[..., Exception]) -> Exception:
    """By Google's SDK, whose own classes have no types."""
    return kind(COMPUTE, errors=[{"reason": "forbidden"}])


IN_THE_SDK: dict[str, tuple[Translated, Exception, str]] = {
    "aws": (
        aws.translated,
        ClientError({"Error": {"Code": "UnauthorizedOperation", "Message": EC2}}, "RunInstances"),
        "ec2:RunInstances",
    ),
    "aws, which does not name the action": (
        aws.translated,
        ClientError({"Error": {"Code": "UnauthorizedOperation", "Message": OLD_EC2}}, "DescribeInstances"),
        "DescribeInstances",
    ),
    "azure": (azure.translated, _arm(), "Microsoft.Compute/virtualMachines/write"),
    "google": (google.translated, _refused(Forbidden), "compute.instances.create"),
    "digitalocean": (digitalocean.translated, _droplets(), ""),
    "hetzner": (
        hetzner.translated,
        APIException("token_readonly", READ_ONLY, None),
        "",
    ),
    "upcloud": (upcloud.translated, upcloud.UpcloudAnswerError(403, "SERVER_FORBIDDEN", SERVER), ""),
}


@pytest.mark.parametrize("cloud", IN_TERRAFORM)
def test_terraforms_words_of_what_is_not_permitted_are_no_refused_credentials(cloud: str) -> None:
    recognise, said, permission = IN_TERRAFORM[cloud]
    found = recognise(["Warning: something else", said])
    assert isinstance(found, errors.NotPermitted)
    assert found.permission == permission
    assert str(found).startswith(f"{permission} is not allowed: " if permission else "")


@pytest.mark.parametrize("cloud", IN_THE_SDK)
def test_what_the_sdk_raises_of_what_is_not_permitted_is_no_refused_credentials(cloud: str) -> None:
    translated, raised, permission = IN_THE_SDK[cloud]
    with (
        pytest.raises(errors.NotPermitted, match="a/production/r: listing") as found,
        translated("a/production/r: listing"),
    ):
        raise raised
    assert found.value.permission == permission
    assert not found.value.retryable


def test_what_only_aws_can_read_is_left_out() -> None:
    assert "p1EyykaD2" not in str(aws.from_code("UnauthorizedOperation", EC2))


@pytest.mark.parametrize(
    ("recognise", "said"),
    [
        (
            aws.recognise,
            "operation error STS: GetCallerIdentity, api error ExpiredToken: The security token is expired",
        ),
        (azure.recognise, "unexpected status 401 (401 Unauthorized) with error: ExpiredAuthenticationToken: over"),
        (google.recognise, "googleapi: Error 401: Invalid Credentials, authError"),
        (digitalocean.recognise, "GET https://api.digitalocean.com/v2/droplets/1: 401 Unable to authenticate you"),
        (hetzner.recognise, "unable to authenticate (unauthorized, 4f2a)"),
        (upcloud.recognise, "Failed to get account, error was AUTHENTICATION_FAILED: Authentication failed"),
    ],
    ids=["aws", "azure", "google", "digitalocean", "hetzner", "upcloud"],
)
def test_refused_credentials_stay_what_they_are(recognise: Recognise, said: str) -> None:
    assert type(recognise([said])) is errors.AuthFailed
