"""Mirror, proxy and CA of a VM's software: files of its boot data, and without them not a byte is another."""

import hashlib
import json
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from pydantic import ValidationError

from providers.cloud_init import LIMIT_BYTES, user_data
from providers.install_methods import APT_CONFIG, APT_SOURCES, BELIEVED, CA, UNIT_CONFIG, ways_to_software
from providers.software import Software

SHA = "ab" * 32
TOLD: dict[str, Any] = {
    "agent": {"url": "https://mirror.example/kedge-agent.tar.gz", "sha256": SHA},
    "kafka": {"4.2.0": {"url": "https://mirror.example/kafka_2.13-4.2.0.tgz", "sha256": SHA}},
}
EVERYTHING: dict[str, Any] = {
    "apt_mirror": "http://mirror.example/debian",
    "apt_security_mirror": "http://mirror.example/debian-security/",
    "proxy": "http://proxy.example:3128",
    "no_proxy": ["mirror.example", ".internal"],
}


def a_ca() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a mirror's CA")])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(datetime(2026, 1, 1, tzinfo=UTC))
    return (
        made.not_valid_after(datetime(2036, 1, 1, tzinfo=UTC))
        .sign(key, hashes.SHA256())
        .public_bytes(Encoding.PEM)
        .decode()
    )


def software(**more: Any) -> Software:
    return Software.model_validate({**TOLD, **more})


def files(told: Software) -> dict[str, str]:
    text = user_data("{}", kafka_version="4.2.0", software=told)
    return {f["path"]: f["content"] for f in yaml.safe_load(text)["write_files"]}


def test_boot_data_without_these_settings_is_what_it_was_to_the_byte() -> None:
    """The text is frozen: this is the SHA-256 of that of 1c699c89, before there were any, and of the kernel's settings
    that came later. VMs that exist are not touched: the modules ignore a change of it."""
    text = user_data(json.dumps({"token": "t" * 64}), kafka_version="4.2.0", software=software())
    assert (
        hashlib.sha256(text.encode()).hexdigest() == "36ca74127e372071bcab63ced7303e80c6f3f11736a79cde1f7b187f6102dae0"
    )
    assert ways_to_software(software()) == {}


def test_all_of_them_fit_beside_what_there_was_and_change_nothing_of_it() -> None:
    plain, with_ways = files(software()), files(software(**EVERYTHING, ca=a_ca()))
    assert {path: with_ways[path] for path in plain} == plain
    assert with_ways.keys() - plain.keys() == {APT_CONFIG, APT_SOURCES, UNIT_CONFIG, CA}
    text = user_data("{}", kafka_version="4.2.0", software=software(**EVERYTHING, ca=a_ca()))
    assert len(text.encode()) < LIMIT_BYTES


def test_a_mirror_takes_the_place_of_the_images_own_sources() -> None:
    found = ways_to_software(software(**EVERYTHING))
    assert f'Dir::Etc::sourcelist "{APT_SOURCES}";' in found[APT_CONFIG].splitlines()
    assert 'Dir::Etc::sourceparts "/dev/null";' in found[APT_CONFIG].splitlines()
    assert [line.partition("] ")[2] for line in found[APT_SOURCES].splitlines()] == [
        "http://mirror.example/debian bookworm main",
        "http://mirror.example/debian bookworm-updates main",
        "http://mirror.example/debian-security bookworm-security main",
    ]


def test_a_proxy_is_for_packages_and_files_alike() -> None:
    found = ways_to_software(software(proxy="http://proxy.example:3128", no_proxy=["mirror.example", ".internal"]))
    assert found.keys() == {APT_CONFIG, UNIT_CONFIG}
    assert 'Acquire::https::Proxy "http://proxy.example:3128";' in found[APT_CONFIG]
    assert 'Acquire::http::Proxy::mirror.example "DIRECT";' in found[APT_CONFIG]
    assert ".internal" not in found[APT_CONFIG]
    assert 'Environment="https_proxy=http://proxy.example:3128"' in found[UNIT_CONFIG]
    assert 'Environment="no_proxy=mirror.example,.internal"' in found[UNIT_CONFIG]


def test_a_ca_is_believed_beside_those_of_the_image() -> None:
    found = ways_to_software(software(ca=a_ca()))
    assert found[CA].startswith("-----BEGIN CERTIFICATE-----")
    assert f'Acquire::https::CAInfo "{BELIEVED}";' in found[APT_CONFIG]
    assert f'Environment="SSL_CERT_FILE={BELIEVED}"' in found[UNIT_CONFIG]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"apt_security_mirror": "http://m"}, "without apt_mirror"),
        ({"no_proxy": ["m"]}, "there is no proxy"),
        ({"proxy": "http://ada:secret@p"}, "no name or password"),
        ({"ca": "a key"}, "not a certificate in PEM"),
        ({"apt_mirror": "ftp://m"}, "URL scheme"),
        ({"apt_mirror": "http://m", "apt_suite": "bookworm main\ndeb http://evil"}, "should match pattern"),
        ({"proxy": "http://p", "no_proxy": ['m"; x']}, "should match pattern"),
    ],
)
def test_what_makes_no_sense_is_refused(more: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        software(**more)
