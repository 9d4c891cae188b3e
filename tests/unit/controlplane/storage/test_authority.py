"""The CA of an installation: made once, kept, and never replaced behind the back of VMs that believe it."""

import hashlib
import ssl
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from controlplane.server.settings import Settings, load_settings
from controlplane.server.tls_agents import AgentTls, authority_of
from controlplane.storage.certificates.authority import Authority, AuthorityRefused, load_or_make
from controlplane.storage.home import Home

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return load_or_make(tmp_path / "home", "inst", now=NOW)


def leaf(authority: Authority, *names: str, now: datetime = NOW) -> x509.Certificate:
    return x509.load_pem_x509_certificates(authority.issue(names, now=now).chain_pem)[0]


def believes(authority: Authority, certificate: x509.Certificate, *, name: str, at: datetime) -> bool:
    """Whether a client whose clock says `at` believes the certificate, as RFC 5280 has it."""
    store = Store([x509.load_pem_x509_certificate(authority.pem.encode())])
    verifier = PolicyBuilder().store(store).time(at).build_server_verifier(x509.DNSName(name))
    try:
        verifier.verify(certificate, [])
    except VerificationError:
        return False
    return True


def test_the_ca_is_made_once_and_its_key_is_its_owners_alone(tmp_path: Path, authority: Authority) -> None:
    again = load_or_make(tmp_path / "home", "inst", now=NOW + timedelta(days=1))
    assert again.pem == authority.pem
    assert stat.S_IMODE((tmp_path / "home" / "ca-key.pem").stat().st_mode) == 0o600
    assert "Kedge CA inst" in x509.load_pem_x509_certificate(authority.pem.encode()).subject.rfc4514_string()


def test_its_hash_is_the_one_of_the_certificate_as_openssl_reads_it(authority: Authority) -> None:
    assert authority.sha256 == hashlib.sha256(ssl.PEM_cert_to_DER_cert(authority.pem)).hexdigest()


def test_servers_that_start_together_agree_on_the_ca(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: load_or_make(tmp_path / "home", "inst", now=NOW).sha256, range(16)))
    assert len(set(made)) == 1


def test_a_certificate_is_for_the_names_it_was_issued_for(authority: Authority) -> None:
    certificate = leaf(authority, "kedge.example", "10.0.0.5", "fd00::1")
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["kedge.example"]
    assert [str(a) for a in names.get_values_for_type(x509.IPAddress)] == ["10.0.0.5", "fd00::1"]
    assert believes(authority, certificate, name="kedge.example", at=NOW)
    assert not believes(authority, certificate, name="other.example", at=NOW)
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]


def test_a_certificate_of_the_ca_signs_nothing_further(authority: Authority) -> None:
    constraints = leaf(authority, "kedge.example").extensions.get_extension_for_class(x509.BasicConstraints).value
    assert not constraints.ca


@pytest.mark.parametrize(
    ("at", "is_believed"),
    [
        (NOW - timedelta(hours=25), False),
        (NOW - timedelta(hours=23), True),
        (NOW + timedelta(days=89), True),
        (NOW + timedelta(days=91), False),
    ],
    ids=["clock-behind-by-more-than-a-day", "clock-behind", "at-its-end", "expired"],
)
def test_a_client_whose_clock_is_a_little_wrong_still_believes(
    authority: Authority, at: datetime, is_believed: bool
) -> None:
    assert believes(authority, leaf(authority, "kedge.example"), name="kedge.example", at=at) is is_believed


def test_a_certificate_of_another_installation_is_not_believed(tmp_path: Path, authority: Authority) -> None:
    other = load_or_make(tmp_path / "other", "inst", now=NOW)
    assert not believes(authority, leaf(other, "kedge.example"), name="kedge.example", at=NOW)


def test_a_certificate_never_outlives_its_ca(authority: Authority) -> None:
    late = authority.not_after - timedelta(days=3)
    assert leaf(authority, "kedge.example", now=late).not_valid_after_utc == authority.not_after


def test_neither_a_ca_nor_what_it_issues_shows_its_key(authority: Authority) -> None:
    issued = authority.issue(["kedge.example"], now=NOW)
    assert "PRIVATE" not in repr(issued)
    assert "PRIVATE" not in authority.pem
    assert b"PRIVATE" not in issued.chain_pem


def test_a_ca_without_its_key_is_not_replaced(tmp_path: Path, authority: Authority) -> None:
    (tmp_path / "home" / "ca-key.pem").unlink()
    with pytest.raises(AuthorityRefused, match=r"ca-key\.pem is missing.*put the key back"):
        load_or_make(tmp_path / "home", "inst", now=NOW)
    assert (tmp_path / "home" / "ca.pem").read_text().strip() == authority.pem.strip()


@pytest.mark.parametrize("name", ["ca.pem", "ca-key.pem"])
def test_a_damaged_file_is_refused_by_its_name_and_without_what_it_says(
    tmp_path: Path, authority: Authority, name: str
) -> None:
    (tmp_path / "home" / name).write_text("hunter2\n")
    with pytest.raises(AuthorityRefused, match=name.replace(".", r"\.")) as refused:
        load_or_make(tmp_path / "home", "inst", now=NOW)
    assert "hunter2" not in str(refused.value)


def test_the_certificate_of_another_key_is_refused(tmp_path: Path, authority: Authority) -> None:
    load_or_make(tmp_path / "other", "inst", now=NOW)
    (tmp_path / "home" / "ca.pem").write_text((tmp_path / "other" / "ca.pem").read_text())
    with pytest.raises(AuthorityRefused, match="the two together"):
        load_or_make(tmp_path / "home", "inst", now=NOW)


def test_a_ca_that_is_over_is_refused(tmp_path: Path, authority: Authority) -> None:
    with pytest.raises(AuthorityRefused, match="was valid until"):
        load_or_make(tmp_path / "home", "inst", now=authority.not_after)


# --- which CA a server starts with ------------------------------------------------------------------------------


def settings(tmp_path: Path, agent_host: str = "127.0.43.1") -> Settings:
    return load_settings(home=tmp_path / "home", agent_host=agent_host)


def told_over_tls(tmp_path: Path) -> Home:
    """A home whose VMs were told to believe its CA."""
    home = Home(tmp_path / "home")
    authority = authority_of(settings(tmp_path), home, clock=lambda: NOW)
    assert authority is not None
    home.keep_agent_url("https://127.0.43.1:8443", ca_sha256=authority.sha256)
    return home


def test_without_tls_no_ca_is_made(tmp_path: Path) -> None:
    assert authority_of(settings(tmp_path, ""), Home(tmp_path / "home"), clock=lambda: NOW) is None
    assert not (tmp_path / "home" / "ca.pem").exists()


@pytest.mark.parametrize("agent_host", ["127.0.43.1", ""])
def test_a_ca_that_vms_believe_is_used_whatever_the_settings_say_now(tmp_path: Path, agent_host: str) -> None:
    home = told_over_tls(tmp_path)
    authority = authority_of(settings(tmp_path, agent_host), home, clock=lambda: NOW)
    assert authority is not None
    assert authority.sha256 == home.agent_ca()


@pytest.mark.parametrize("name", ["ca.pem", "ca-key.pem", "agent-ca"])
def test_a_lost_file_that_vms_depend_on_stops_the_start_with_the_way_back(tmp_path: Path, name: str) -> None:
    home = told_over_tls(tmp_path)
    (home.path / name).unlink()
    with pytest.raises(AuthorityRefused, match=rf"{name} of .* is missing.*Put it back.*delete `agent-url`"):
        authority_of(settings(tmp_path), home, clock=lambda: NOW)
    assert not (home.path / name).exists(), "nothing is made in its place"


def test_another_ca_than_vms_believe_stops_the_start(tmp_path: Path) -> None:
    home = told_over_tls(tmp_path)
    load_or_make(tmp_path / "other", "inst", now=NOW)
    for name in ("ca.pem", "ca-key.pem"):
        (home.path / name).write_text((tmp_path / "other" / name).read_text())
    with pytest.raises(AuthorityRefused, match=rf"SHA-256 {home.agent_ca()}.*put the .* back"):
        authority_of(settings(tmp_path), home, clock=lambda: NOW)


def test_the_servers_certificate_is_renewed_a_month_before_its_end(authority: Authority) -> None:
    now = NOW
    tls = AgentTls(authority, ["kedge.example"], clock=lambda: now)
    now = NOW + timedelta(days=59)
    assert not tls.renew_if_due()
    now = NOW + timedelta(days=60)
    assert tls.renew_if_due()
    assert not tls.renew_if_due()


def test_renewals_leave_neither_files_nor_descriptors_behind(authority: Authority, tmp_path: Path) -> None:
    def left() -> tuple[set[str], int]:
        return {f.name for f in (tmp_path / "home").iterdir()}, len(list(Path("/proc/self/fd").iterdir()))

    now = NOW
    tls = AgentTls(authority, ["kedge.example"], clock=lambda: now)
    before = left()
    for _ in range(3):
        now += timedelta(days=61)
        assert tls.renew_if_due()
    assert left() == before
