"""Which DNS servers this server sends updates to."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from controlplane.background.dns.binding import ZoneBinding
from controlplane.cluster.view import ClusterView
from controlplane.fleet.failovers.pair_name import pair_name_row
from controlplane.fleet.failovers.state import PairsView
from controlplane.runtime.polling import Poller
from controlplane.server.assembly.dns import DNS, names_of
from controlplane.server.settings import ServerSettingsRefused, Settings
from events.clock import utc_now
from events.ids import ClusterUid
from tests.builders import a_view
from tests.fakes.latest_values import MemoryLatestStore
from tests.unit.controlplane.background.dns.test_dns_pairs import a_pair


class OneCluster:
    """A fleet of the primary of a pair."""

    def views(self) -> list[ClusterView]:
        return [a_view(uid=ClusterUid("eu"))]


class Leads:
    """Somebody who leads."""

    may_act = True


def _names(home: Path, server: str, *, allow: tuple[str, ...] = (), secondaries: tuple[str, ...] = ()) -> Poller:
    key = home / "zone.key"
    key.write_text("c2VjcmV0")
    key.chmod(0o600)
    bound = ZoneBinding(
        zone="kafka.example.com",
        kind="rfc2136",
        server=server,
        secondaries=secondaries,
        key_name="kedge",
        key_file=key,
    )
    return _of(Settings(home=home, dns=(bound,), egress_allow=allow), MemoryLatestStore())


def _of(settings: Settings, latest: MemoryLatestStore, pairs: PairsView | None = None) -> Poller:
    return names_of(
        settings,
        fleet=OneCluster(),
        pairs=lambda: pairs or PairsView(),
        latest=latest,
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


def test_other_servers_of_a_zone_are_judged_as_its_primary_is(tmp_path: Path) -> None:
    _names(tmp_path, "10.0.0.53", secondaries=("10.0.0.54", "[fd00::54]:5353"))
    with pytest.raises(ServerSettingsRefused, match=r"169\.254\.169\.254"):
        _names(tmp_path, "10.0.0.53", secondaries=("10.0.0.54", "169.254.169.254"))


@pytest.mark.parametrize("odd", ["ns2.example.com", "10.0.0.54:port", ""])
def test_a_secondary_is_an_address(odd: str, tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="secondaries"):
        _names(tmp_path, "10.0.0.53", secondaries=(odd,))


def test_a_hosted_zone_has_no_secondaries_of_ones_own() -> None:
    with pytest.raises(ValidationError, match="its servers are the vendor's"):
        ZoneBinding(zone="kafka.example.com", kind="route53", hosted_zone_id="Z1", secondaries=("10.0.0.54",))


def test_without_a_zone_pairs_are_looked_at_all_the_same(tmp_path: Path) -> None:
    """Nobody would tell them otherwise why no failover goes on."""
    latest, pair = MemoryLatestStore(), a_pair()
    names = _of(Settings(home=tmp_path), latest, PairsView(by_uid={pair.uid: pair}))
    names.poll(DNS)
    row = pair_name_row(latest, pair.uid)
    assert row is not None
    assert "is in no zone of the settings" in row.problem
