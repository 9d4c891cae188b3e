"""A listing that the account does not permit is told apart from credentials that are refused, on each cloud: the real
SDK against the fake, which answers in the vendor's code and words."""

from pathlib import Path
from typing import Any

import pytest

from providers.errors import AuthFailed, NotPermitted
from tests.contract.cloud_harnesses import HARNESSES
from tests.fakes.clouds.faults import Fault
from tests.sim.cloudlisting import FAKES

ARM = (
    "The client '00000000-aaaa' with object id '00000000-bbbb' does not have authorization to perform action "
    "'Microsoft.Compute/virtualMachines/read' over scope '/subscriptions/0000' or the scope is invalid."
)
FORBIDDEN = {
    "aws": ("UnauthorizedOperation", "You are not authorized to perform this operation.", "DescribeInstances"),
    "azure": ("AuthorizationFailed", ARM, "Microsoft.Compute/virtualMachines/read"),
    "digitalocean": ("forbidden", "You are not authorized to perform this operation", ""),
    "google": ("forbidden", "Required 'compute.instances.list' permission for 'projects/p'", "compute.instances.list"),
    "hetzner": ("forbidden", "insufficient permissions for this request", ""),
    "upcloud": ("SERVER_FORBIDDEN", "The user has no permission to access the server.", ""),
}
"""Code, words, and the permission we are to name; where a cloud tells none, the words are all there is."""

REFUSED = {
    "aws": ("ExpiredToken", 403),
    "azure": ("ExpiredAuthenticationToken", 401),
    "digitalocean": ("unauthorized", 401),
    "google": ("authError", 401),
    "hetzner": ("unauthorized", 401),
    "upcloud": ("AUTHENTICATION_FAILED", 401),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_listing_that_is_not_permitted_names_the_place_and_what_is_lacking(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, words, permission = FORBIDDEN[name]
    with HARNESSES[name](tmp_path, monkeypatch) as opened:
        harness: Any = opened
        harness.cloud.list_place(harness.place)  # whose the credentials are is proved
        faults = getattr(harness, FAKES[name]).faults
        faults.append(Fault("*", code, 403, times=99, message=words))
        with pytest.raises(NotPermitted) as refused:
            harness.cloud.list_place(harness.place)
        assert refused.value.permission == permission
        assert str(harness.place) in str(refused.value)
        assert words in str(refused.value)
        faults.clear()
        code, status = REFUSED[name]
        faults.append(Fault("*", code, status, times=99))
        with pytest.raises(AuthFailed):
            harness.cloud.list_place(harness.place)
        faults.clear()
        harness.cloud.list_place(harness.place)
