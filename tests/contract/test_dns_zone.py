"""The port of a DNS zone over every implementation: a fake, a real BIND with signed updates, Route 53 in moto."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import boto3
import pytest
from moto import mock_aws
from pydantic import SecretStr

from agent.host_port import HostPort
from providers.dns.rfc2136 import TsigKey, UpdatedZone
from providers.dns.route53 import HostedZone
from providers.dns.zone import NOTHING, DnsZone, HeldName
from providers.errors import AuthFailed, CloudUnavailable, NotFound, ResourceConflict
from tests.fakes.bind import Bind, running_bind
from tests.fakes.clouds.moto_route53 import slow_changes, whole_batches
from tests.fakes.dns import FakeZone

ZONE = "kafka.example.com"
NAME = f"orders.{ZONE}"
OWNER = "installation=test cluster=c0ffee"
THREE = HeldName(frozenset({"10.0.0.1", "10.0.0.2", "10.0.0.3"}), 30, OWNER, 30)
OTHER = HeldName(frozenset({"10.0.0.4", "fd00::1"}), 20, OWNER, 20)


@pytest.fixture(scope="module")
def bind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bind]:
    with running_bind(tmp_path_factory.mktemp("bind")) as running:
        yield running


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bind]:
    """Another server of the same zone, which has what is written to it alone."""
    with running_bind(tmp_path_factory.mktemp("second")) as running:
        yield running


@contextmanager
def route53() -> Iterator[HostedZone]:
    with mock_aws(), whole_batches():
        made = boto3.client("route53", region_name="us-east-1").create_hosted_zone(Name=ZONE, CallerReference="1")
        yield HostedZone(ZONE, made["HostedZone"]["Id"].removeprefix("/hostedzone/"))


def updated(bind: Bind) -> UpdatedZone:
    return UpdatedZone(bind.zone, "127.0.0.1", bind.port, TsigKey("kedge", "hmac-sha256", SecretStr(bind.secret)))


@pytest.fixture(params=["fake", "bind", "route53"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[DnsZone]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    match request.param:
        case "fake":
            yield FakeZone(ZONE)
        case "route53":
            with route53() as hosted:
                yield hosted
        case _:
            found = updated(request.getfixturevalue("bind"))
            yield found
            for name in (NAME, f"brokers-a-0.{NAME}"):
                found.replace(name, found.read(name), NOTHING)


def test_a_name_nobody_wrote_holds_nothing(zone: DnsZone) -> None:
    assert zone.read(NAME) == NOTHING


def test_what_was_written_is_read_back_with_its_owner_and_its_life(zone: DnsZone) -> None:
    zone.replace(NAME, NOTHING, THREE)
    assert zone.read(NAME) == THREE


def test_records_are_replaced_whole_and_both_families_are_kept(zone: DnsZone) -> None:
    zone.replace(NAME, NOTHING, THREE)
    zone.replace(NAME, THREE, OTHER)
    assert zone.read(NAME) == OTHER
    zone.replace(NAME, OTHER, THREE)
    assert zone.read(NAME) == THREE


def test_nothing_is_a_name_taken_away(zone: DnsZone) -> None:
    zone.replace(NAME, NOTHING, THREE)
    zone.replace(NAME, THREE, NOTHING)
    assert zone.read(NAME) == NOTHING


def test_names_do_not_mix(zone: DnsZone) -> None:
    zone.replace(f"brokers-a-0.{NAME}", NOTHING, OTHER)
    assert zone.read(NAME) == NOTHING
    zone.replace(NAME, NOTHING, THREE)
    assert zone.read(f"brokers-a-0.{NAME}") == OTHER


@pytest.mark.parametrize(
    "wrong",
    [NOTHING, replace(THREE, addresses=frozenset({"10.0.0.1"})), replace(THREE, owner="installation=other cluster=1")],
    ids=["there is something", "other addresses", "another owner"],
)
def test_what_is_not_as_it_was_read_is_not_overwritten(zone: DnsZone, wrong: HeldName) -> None:
    zone.replace(NAME, NOTHING, THREE)
    with pytest.raises(ResourceConflict, match=NAME):
        zone.replace(NAME, wrong, OTHER)
    assert zone.read(NAME) == THREE


def test_what_has_gone_meanwhile_is_not_written_over(zone: DnsZone) -> None:
    with pytest.raises(ResourceConflict, match=NAME):
        zone.replace(NAME, THREE, OTHER)
    assert zone.read(NAME) == NOTHING


def test_what_was_written_is_told_everywhere_where_nobody_lags(zone: DnsZone) -> None:
    zone.replace(NAME, NOTHING, THREE)
    assert zone.tells_everywhere(NAME, THREE)
    assert zone.read(NAME) == THREE


def test_a_secondary_that_lags_is_seen_by_its_addresses_and_by_their_life(bind: Bind, second: Bind) -> None:
    primary, other = updated(bind), updated(second)
    both = replace(primary, secondaries=(HostPort("127.0.0.1", second.port),))
    lagging = replace(THREE, ttl_s=20, owner_ttl_s=20)
    primary.replace(NAME, NOTHING, THREE)
    try:
        assert not both.tells_everywhere(NAME, THREE), "it has nothing yet"
        other.replace(NAME, NOTHING, OTHER)
        assert not both.tells_everywhere(NAME, THREE), "it has the answer of before"
        other.replace(NAME, OTHER, lagging)
        assert not both.tells_everywhere(NAME, THREE), "its answers live otherwise"
        other.replace(NAME, lagging, THREE)
        assert both.tells_everywhere(NAME, THREE)
        assert primary.tells_everywhere(NAME, THREE), "where none is listed the primary alone is asked"
    finally:
        for each in (primary, other):
            each.replace(NAME, each.read(NAME), NOTHING)


def test_a_secondary_that_is_away_or_has_not_the_zone_is_unknown(bind: Bind, second: Bind) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        away = HostPort("127.0.0.1", int(taken.getsockname()[1]))
        with pytest.raises(CloudUnavailable, match=rf"zone {ZONE} on {away}"):
            replace(updated(bind), secondaries=(away,)).tells_everywhere(NAME, THREE)
    strange = replace(updated(bind), secondaries=(HostPort("127.0.0.1", second.port),))
    with pytest.raises(CloudUnavailable, match=r"REFUSED; is it a server of the zone\?"):
        strange.tells_everywhere("orders.example.net", THREE)


@pytest.mark.parametrize("zone", ["route53"], indirect=True)
def test_a_change_on_its_way_to_route_53s_servers_is_not_everywhere(zone: DnsZone) -> None:
    with slow_changes() as changes:
        zone.replace(NAME, NOTHING, THREE)
        assert not zone.tells_everywhere(NAME, THREE)
        changes.arrive()
        assert zone.tells_everywhere(NAME, THREE)


@pytest.mark.parametrize("zone", ["route53"], indirect=True)
def test_of_a_change_of_another_process_the_same_records_are_put_once_more(zone: DnsZone) -> None:
    zone.replace(NAME, NOTHING, THREE)
    other = HostedZone(ZONE, zone.zone_id)  # type: ignore[attr-defined]
    with slow_changes() as changes:
        assert not other.tells_everywhere(NAME, THREE)
        assert other.read(NAME) == THREE
        changes.arrive()
        assert other.tells_everywhere(NAME, THREE)
    with pytest.raises(ResourceConflict, match=NAME):
        other.tells_everywhere(NAME, OTHER)
    assert other.read(NAME) == THREE


def test_a_wrong_key_is_an_authentication_failure_that_names_the_key_and_not_the_secret(bind: Bind) -> None:
    wrong = replace(updated(bind), key=TsigKey("kedge", "hmac-sha256", SecretStr("d3Jvbmc=")))
    for call in (lambda: wrong.read(NAME), lambda: wrong.replace(NAME, NOTHING, THREE)):
        with pytest.raises(AuthFailed, match="kedge") as failed:
            call()
        assert "d3Jvbmc=" not in str(failed.value)
    assert "d3Jvbmc=" not in repr(wrong)


def test_a_zone_that_takes_no_updates_says_so(bind: Bind) -> None:
    locked = replace(updated(bind), name=bind.locked)
    with pytest.raises(AuthFailed, match="REFUSED"):
        locked.replace(f"orders.{bind.locked}", NOTHING, THREE)


def test_a_server_that_has_not_the_zone_is_not_believed(bind: Bind) -> None:
    elsewhere = replace(updated(bind), name="example.net")
    with pytest.raises((AuthFailed, NotFound)):
        elsewhere.read("orders.example.net")
    with pytest.raises((AuthFailed, NotFound)):
        elsewhere.replace("orders.example.net", NOTHING, THREE)


def test_a_server_that_is_away_is_unknown(bind: Bind) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        away = replace(updated(bind), port=int(taken.getsockname()[1]))
        with pytest.raises(CloudUnavailable, match=r"127\.0\.0\.1"):
            away.read(NAME)


@pytest.mark.parametrize("zone", ["route53"], indirect=True)
def test_an_id_of_another_hosted_zone_is_refused(zone: DnsZone) -> None:
    other = HostedZone("kafka.example.org", zone.zone_id)  # type: ignore[attr-defined]
    with pytest.raises(NotFound, match=r"is kafka\.example\.com"):
        other.read("orders.kafka.example.org")


@pytest.mark.parametrize("zone", ["route53"], indirect=True)
def test_a_routing_policy_of_a_person_is_left_alone(zone: DnsZone) -> None:
    weighted = {
        "Name": NAME,
        "Type": "A",
        "TTL": 60,
        "SetIdentifier": "blue",
        "Weight": 1,
        "ResourceRecords": [{"Value": "10.1.1.1"}],
    }
    boto3.client("route53", region_name="us-east-1").change_resource_record_sets(
        HostedZoneId=zone.zone_id,  # type: ignore[attr-defined]
        ChangeBatch={"Changes": [{"Action": "CREATE", "ResourceRecordSet": weighted}]},
    )
    with pytest.raises(ResourceConflict, match="another kind"):
        zone.read(NAME)


def test_an_unknown_hosted_zone_is_not_found() -> None:
    with mock_aws(), pytest.raises(NotFound, match="NoSuchHostedZone"):
        HostedZone(ZONE, "Z0000000").read(NAME)


def test_a_key_others_can_read_is_refused(tmp_path: Path) -> None:
    from controlplane.background.dns.binding import ZoneBinding, zone_of

    key = tmp_path / "key"
    key.write_text("c2VjcmV0")
    key.chmod(0o644)
    binding = ZoneBinding(zone=ZONE, kind="rfc2136", server="127.0.0.1", key_name="kedge", key_file=key)
    with pytest.raises(AuthFailed, match="chmod 600"):
        zone_of(binding)
    key.chmod(0o600)
    assert zone_of(binding).name == ZONE
