"""The names by which a server is called: what browsers send as `Host`."""

import pytest

from controlplane.api.auth import loopback_hosts, public_hosts
from controlplane.runtime.listen_addresses import ListenAddress, address_of
from controlplane.server.sections.portal import PortalSection


def test_a_server_on_loopback_is_called_by_its_address_with_brackets() -> None:
    assert loopback_hosts("::1", 80) == {"[::1]:80", "127.0.0.1:80", "localhost:80"}
    assert ListenAddress("fd5a::b:0:0:1", 8443, "https").url == "https://[fd5a::b:0:0:1]:8443"
    assert address_of("https://[fd5a:0::1]:8443") == ListenAddress("fd5a:0::1", 8443, "https")


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("kedge.example", {"kedge.example", "kedge.example:8444"}),
        ("kedge.example:443", {"kedge.example:443"}),
        ("[fd5a::1]", {"[fd5a::1]", "[fd5a::1]:8444"}),
        ("fd5a:0::1", {"[fd5a::1]", "[fd5a::1]:8444"}),
        ("[fd5a::1]:443", {"[fd5a::1]:443"}),
    ],
)
def test_people_call_a_name_with_its_port_or_the_one_that_is_served(name: str, called: set[str]) -> None:
    assert public_hosts((name,), 8444) == called


@pytest.mark.parametrize(
    ("name", "is_taken"),
    [
        ("kedge.example:8443", True),
        ("fd5a::1", True),
        ("[fd5a::1]", True),
        ("[fd5a::1]:443", True),
        ("kedge.example:99999", False),
        ("kedge.example:", False),
        ("[kedge.example]:443", False),
        ("[::]:443", False),
        ("a b", False),
    ],
)
def test_a_name_of_the_portal_is_a_host_with_or_without_a_port(name: str, is_taken: bool) -> None:
    given = {"host": "10.0.0.1", "names": [name], "cert": "/c", "key": "/k"}
    if is_taken:
        assert PortalSection.model_validate(given).names == (name,)
    else:
        with pytest.raises(ValueError, match=r"portal\.names has"):
            PortalSection.model_validate(given)
