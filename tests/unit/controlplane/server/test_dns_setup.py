"""Which DNS servers this server sends updates to."""

from pathlib import Path

import pytest

from controlplane.background.dns.binding import ZoneBinding
from controlplane.runtime.polling import Poller
from controlplane.server.assembly.dns import names_of
from controlplane.server.settings import ServerSettingsRefused, Settings
from events.clock import utc_now
from tests.fakes.latest_values import MemoryLatestStore


class NoFleet:
    """A fleet without clusters."""

    def views(self) -> list[object]:
        return []


class Leads:
    """Somebody who leads."""

    may_act = True


def _names(home: Path, server: str, *, allow: tuple[str, ...] = ()) -> Poller:
    key = home / "zone.key"
    key.write_text("c2VjcmV0")
    key.chmod(0o600)
    bound = ZoneBinding(zone="kafka.example.com", kind="rfc2136", server=server, key_name="kedge", key_file=key)
    settings = Settings(home=home, dns=(bound,), egress_allow=allow)
    return names_of(
        settings,
        fleet=NoFleet(),  # type: ignore[arg-type]
        latest=MemoryLatestStore(),
        installation_id="test",
        leadership=Leads(),  # type: ignore[arg-type]
        clock=utc_now,
    )


@pytest.mark.parametrize("server", ["169.254.169.254", "fd00:ec2::254", "168.63.129.16"])
def test_a_dns_server_at_a_clouds_own_address_is_refused_at_the_start(server: str, tmp_path: Path) -> None:
    with pytest.raises(ServerSettingsRefused, match=r"the server of kafka\.example\.com is not called: .*never called"):
        _names(tmp_path, server)


@pytest.mark.parametrize("server", ["10.0.0.53", "127.0.0.1", "203.0.113.53"])
def test_a_dns_server_that_the_settings_name_is_called(server: str, tmp_path: Path) -> None:
    _names(tmp_path, server)


def test_with_an_allow_list_that_alone_counts_for_dns_servers_too(tmp_path: Path) -> None:
    _names(tmp_path, "10.0.0.53", allow=("10.0.0.0/24",))
    with pytest.raises(ServerSettingsRefused, match=r"not in `allow\.calls`"):
        _names(tmp_path, "10.0.1.53", allow=("10.0.0.0/24",))
