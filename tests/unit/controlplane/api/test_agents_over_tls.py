"""A real TLS server and the agent's real client on loopback addresses: who is believed, and who is not."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from agent.client import NewDocument, RetryLater, ServerRefused
from agent.credential import CredentialFiles
from agent.identity import PlainHttpRefused
from agent.layout import AgentLayout, BootDataUnreadable
from agent.rotation import Rotation
from agent.trust import CaRefused, PinnedCa
from agent.wire import BootData
from controlplane.server.tls_agents import AgentTls
from controlplane.storage.certificates.authority import Authority, load_or_make
from tests.unit.controlplane.api.agents_door import HOST, calling, enrol, no_download_source, report, served
from tests.unit.controlplane.api.portal_house import TOKEN
from tests.waiting import until


def test_an_agent_finds_the_ca_enrols_hears_reports_and_rotates_over_tls(tmp_path: Path, authority: Authority) -> None:
    state = tmp_path / "agent"
    with served(tmp_path, authority) as door:
        with calling(door.boot, state) as client:
            enrol(client, door.boot)
            assert isinstance(client.document(etag="", wait_s=0), NewDocument)
            assert not client.report(report(door.vm, 1)).rotate
            door.house.pass_time(days=7)
            assert client.report(report(door.vm, 2)).rotate
            Rotation(door.boot, client=client, credential=CredentialFiles(state)).run()
            assert not client.report(report(door.vm, 3)).rotate
        assert door.heard.asked[:2] == [("/agent/v1/ca", False), ("/agent/v1/enrol", False)]
        assert [path for path, _ in door.heard.asked].count("/agent/v1/ca") == 1
        assert (state / "ca.pem").stat().st_mode & 0o777 == 0o600
        with calling(door.boot, state, fetch=no_download_source) as again:
            assert isinstance(again.document(etag="", wait_s=0), NewDocument)


def test_a_server_whose_ca_has_another_hash_is_told_nothing(tmp_path: Path, authority: Authority) -> None:
    other = load_or_make(tmp_path / "other", "inst", now=datetime.now(UTC))
    with served(tmp_path, authority) as door:
        boot = door.boot.model_copy(update={"ca_sha256": other.sha256})
        with calling(boot, tmp_path / "agent") as client:
            with pytest.raises(ServerRefused, match=rf"SHA-256 {authority.sha256}.*{other.sha256}.*Nothing was sent"):
                enrol(client, boot)
            with pytest.raises(ServerRefused):
                client.document(etag="", wait_s=0)
        assert {path for path, _ in door.heard.asked} == {"/agent/v1/ca"}
        assert not any(has_credential for _, has_credential in door.heard.asked)
        assert not (tmp_path / "agent" / "ca.pem").exists()


def test_an_imitator_who_shows_the_right_ca_but_has_not_its_key_hears_nothing(
    tmp_path: Path, authority: Authority
) -> None:
    imitator = AgentTls(load_or_make(tmp_path / "other", "inst", now=datetime.now(UTC)), [HOST])
    with served(tmp_path, authority, shows=imitator) as door:
        with (
            calling(door.boot, tmp_path / "agent") as client,
            pytest.raises(RetryLater, match="certificate is refused"),
        ):
            enrol(client, door.boot)
        assert {path for path, _ in door.heard.asked} == {"/agent/v1/ca"}


def test_a_certificate_for_another_address_is_refused(tmp_path: Path, authority: Authority) -> None:
    shows = AgentTls(authority, ["127.0.43.2", "kedge.example"])
    with (
        served(tmp_path, authority, shows=shows) as door,
        calling(door.boot, tmp_path / "agent") as client,
        pytest.raises(RetryLater, match=f"(?i)mismatch.*{HOST}"),
    ):
        enrol(client, door.boot)


@pytest.mark.parametrize(
    ("servers_clock", "problem"),
    [
        (timedelta(hours=23), ""),
        (timedelta(hours=25), "not yet valid"),
        (timedelta(days=-89), ""),
        (timedelta(days=-91), "expired"),
    ],
    ids=["a-day-ahead-at-most", "ahead-by-more", "behind-within-its-life", "expired"],
)
def test_clocks_may_differ_by_a_day_and_a_wrong_one_is_named(
    tmp_path: Path, authority: Authority, servers_clock: timedelta, problem: str
) -> None:
    shows = AgentTls(authority, [HOST], clock=lambda: datetime.now(UTC) + servers_clock)
    with served(tmp_path, authority, shows=shows) as door, calling(door.boot, tmp_path / "agent") as client:
        if not problem:
            enrol(client, door.boot)
            return
        with pytest.raises(RetryLater, match=rf"{problem}.*this VM's clock says {datetime.now(UTC):%Y-%m-%d}"):
            enrol(client, door.boot)


def test_a_renewed_certificate_is_shown_without_a_restart(tmp_path: Path, authority: Authority) -> None:
    ahead = timedelta(0)
    shows = AgentTls(authority, [HOST], clock=lambda: datetime.now(UTC) + ahead)
    with served(tmp_path, authority, shows=shows) as door:
        before = ssl.get_server_certificate((HOST, int(door.url.rsplit(":", 1)[1])))
        ahead = timedelta(days=-91)
        shows._renew()
        with calling(door.boot, tmp_path / "agent") as client, pytest.raises(RetryLater, match="expired"):
            enrol(client, door.boot)
        ahead = timedelta(0)
        # The server itself looks once a second, and finds that what it shows ends soon.
        until(lambda: _is_believed(door.boot, tmp_path / "agent"))
        assert ssl.get_server_certificate((HOST, int(door.url.rsplit(":", 1)[1]))) != before


def _is_believed(boot: BootData, state: Path) -> bool:
    with calling(boot, state) as client:
        try:
            enrol(client, boot)
        except RetryLater:
            return False
    return True


def test_people_are_not_served_there_and_plain_http_is_not_answered(tmp_path: Path, authority: Authority) -> None:
    believing = ssl.create_default_context(cadata=authority.pem)
    with served(tmp_path, authority) as door:
        answer = httpx.get(
            f"{door.url}/v1/clusters", headers={"Authorization": f"Bearer {TOKEN}"}, verify=believing, timeout=30
        )
        assert (answer.status_code, answer.json()["code"]) == (403, "agents-only")
        # Whoever claims to have come another way is not believed.
        lie = {"Authorization": f"Bearer {TOKEN}", "X-Forwarded-Proto": "http", "Host": "127.0.0.1:8428"}
        assert httpx.get(f"{door.url}/v1/clusters", headers=lie, verify=believing, timeout=30).status_code == 403
        with pytest.raises(httpx.HTTPError):
            httpx.get(f"http{door.url.removeprefix('https')}/agent/v1/ca")


# --- the CA on the agent's disk ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", ["", "damaged", "another's"])
def test_a_kept_ca_that_is_not_the_right_one_is_fetched_again(tmp_path: Path, authority: Authority, kept: str) -> None:
    other = load_or_make(tmp_path / "other", "inst", now=datetime.now(UTC))
    file = tmp_path / "ca.pem"
    file.write_text(other.pem if kept == "another's" else kept)
    PinnedCa("https://kedge.example", authority.sha256, kept=file, fetch=lambda _: authority.pem.encode()).ensure()
    assert ssl.PEM_cert_to_DER_cert(file.read_text()) == ssl.PEM_cert_to_DER_cert(authority.pem)


@pytest.mark.parametrize(
    "given", [b"", b"<html>", b"\xff\xfe", b"-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----"]
)
def test_what_is_no_certificate_is_refused(tmp_path: Path, authority: Authority, given: bytes) -> None:
    pinned = PinnedCa("https://kedge.example", authority.sha256, kept=tmp_path / "ca.pem", fetch=lambda _: given)
    with pytest.raises(CaRefused):
        pinned.ensure()
    assert not (tmp_path / "ca.pem").exists()


def test_only_the_certificate_of_the_hash_is_loaded_whatever_comes_with_it(
    tmp_path: Path, authority: Authority
) -> None:
    other = load_or_make(tmp_path / "other", "inst", now=datetime.now(UTC))
    both = (authority.pem + other.pem).encode()
    pinned = PinnedCa("https://kedge.example", authority.sha256, kept=tmp_path / "ca.pem", fetch=lambda _: both)
    with pytest.raises(CaRefused):
        pinned.ensure()
    assert pinned.context.get_ca_certs() == []


def test_before_the_ca_is_known_nobody_is_believed_not_even_the_systems_cas(
    tmp_path: Path, authority: Authority
) -> None:
    pinned = PinnedCa("https://kedge.example", authority.sha256, kept=tmp_path / "ca.pem")
    assert pinned.context.get_ca_certs() == []
    assert pinned.context.verify_mode is ssl.CERT_REQUIRED
    assert pinned.context.check_hostname


def test_a_ca_larger_than_any_certificate_is_not_read_to_its_end(tmp_path: Path, authority: Authority) -> None:
    with (
        served(tmp_path, authority, ca_pem="x" * (65 * 1024)) as door,
        calling(door.boot, tmp_path / "agent") as client,
        pytest.raises(ServerRefused, match="larger than 65536"),
    ):
        enrol(client, door.boot)


def test_a_ca_that_cannot_be_kept_is_believed_all_the_same(tmp_path: Path, authority: Authority) -> None:
    nowhere = tmp_path / "no-such-directory" / "ca.pem"
    pinned = PinnedCa("https://kedge.example", authority.sha256, kept=nowhere, fetch=lambda _: authority.pem.encode())
    pinned.ensure()
    assert len(pinned.context.get_ca_certs()) == 1


def test_a_server_that_is_away_while_the_ca_is_fetched_is_asked_again(tmp_path: Path, authority: Authority) -> None:
    boot = BootData(
        server_url=f"https://{HOST}:1",
        installation_id="i",
        cluster_uid="c",
        node="n",
        generation=1,
        intent_id="x",
        token=SecretStr("t"),
        ca_sha256=authority.sha256,
    )
    with calling(boot, tmp_path / "agent") as client, pytest.raises(RetryLater, match="cannot be reached"):
        enrol(client, boot)


def test_boot_data_with_a_hash_is_never_followed_over_plain_http(tmp_path: Path, authority: Authority) -> None:
    with pytest.raises(PlainHttpRefused, match="only https"):
        PinnedCa("http://127.0.0.1:8428", authority.sha256, kept=tmp_path / "ca.pem")


@pytest.mark.parametrize("sha256", ["short", "Z" * 64, "AB" * 32])
def test_boot_data_with_a_hash_that_is_none_is_refused(tmp_path: Path, sha256: str) -> None:
    text = '{"server_url":"https://k","installation_id":"i","cluster_uid":"c","node":"n","generation":1,'
    (tmp_path / "boot.json").write_text(text + f'"intent_id":"x","token":"t","ca_sha256":"{sha256}"}}')
    with pytest.raises(BootDataUnreadable, match="ca_sha256"):
        AgentLayout(tmp_path).boot_data()
