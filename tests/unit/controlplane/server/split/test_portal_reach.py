"""A portal does not start where it could read what is the loop's, nor in a home that is one."""

import os
from collections.abc import Collection
from pathlib import Path

import pytest

from controlplane.server.split.forbidden_access import SECRETS, Access, PortalRefused, check_reach
from controlplane.server.split.portal_home import installation_of
from controlplane.storage.home import Home, HomeIdentity
from controlplane.storage.home_binding import HTTP, HomeRecord

LOOPS = "/var/lib/kedge"


def member(host: str = "alpha", path: str = LOOPS) -> HomeRecord:
    return HomeRecord("home", HomeIdentity("home-1", "inst", host, path), HTTP, "", "")


def may(read: Collection[str] = (), write: Collection[str] = ()) -> Access:
    """As the kernel would answer a user who may do so much."""
    return lambda path, mode: str(path) in (read if mode == os.R_OK else write)


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_of_the_loop_that_can_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(PortalRefused, match=f"can read {LOOPS}/{name}: a hole in the portal"):
        check_reach(tmp_path, [member()], "alpha", access=may(read=[f"{LOOPS}/{name}"]))


def test_a_home_of_the_loop_that_can_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(PortalRefused, match=f"can read {LOOPS}: "):
        check_reach(tmp_path, [member()], "alpha", access=may(write=[LOOPS]))


def test_what_is_closed_or_on_another_host_is_well(tmp_path: Path) -> None:
    check_reach(tmp_path, [member()], "alpha", access=may())
    everything = may(read=[f"{LOOPS}/{name}" for name in SECRETS], write=[LOOPS])
    check_reach(tmp_path, [member(host="beta")], "alpha", access=everything)


@pytest.mark.parametrize("name", ["server-key", "ca-key.pem", "home-id", "leader.lock"])
def test_a_home_with_keys_is_no_portals(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x")
    with pytest.raises(PortalRefused, match=rf"it has {name}. Give the portal a home of its own"):
        check_reach(tmp_path, [], "alpha", access=may())


def test_a_portal_mints_a_key_and_a_token_of_its_own_and_none_of_the_loops(tmp_path: Path) -> None:
    home = Home(tmp_path / "portal")
    first, again = installation_of(home, "inst"), installation_of(home, "inst")
    assert (first.id, first.server_key, first.token) == (again.id, again.server_key, again.token)
    assert sorted(p.name for p in home.path.iterdir()) == ["installation-id", "portal-key", "token"]
    assert {oct(p.stat().st_mode & 0o777) for p in home.path.iterdir()} == {"0o600"}
    with pytest.raises(PortalRefused, match="of a portal of installation inst, and this database belongs to other"):
        installation_of(home, "other")
