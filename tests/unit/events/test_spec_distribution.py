"""A build of Kafka of one's own in a spec: its form, where VMs could fetch it, and what else says which build runs."""

import pytest

from events.spec.digest import instance_digest, static_inputs
from events.spec.document import load_documents
from events.spec.model import KafkaClusterDocument
from events.spec.rules import check_change
from tests.builders import a_document, a_spec

ONE, OTHER = "0" * 63 + "a", "f" * 64
LOCAL = "file:///srv/kafka_2.13-4.1.1-patched.tgz"


def text(sha256: str = ONE, url: str = LOCAL, more: str = "", **overrides: object) -> str:
    return a_spec(config=f", distribution: {{url: '{url}', sha256: '{sha256}'}}{more}", **overrides)


def told(spec: str) -> list[tuple[str, str]]:
    return [(one.code, one.message) for one in load_documents(spec.encode(), file="orders.yaml").problems]


def test_a_build_of_ones_own_is_named_by_address_and_checksum() -> None:
    assert told(text()) == []
    assert (
        "0a"
        in static_inputs(a_document(config=f", distribution: {{url: '{LOCAL}', sha256: '{ONE}'}}"), "brokers")[
            "spec.kafka.distribution.sha256"
        ]
    )


@pytest.mark.parametrize(
    "url",
    [
        "http://mirror.example/kafka.tgz",
        "https://me@mirror.example/kafka.tgz",
        "https://mirror.example/kafka.tgz?token=x",
        "https://mirror.example/kafka.tgz#x",
        "https://mirror.example/",
        "file://mirror/kafka.tgz",
        "/srv/kafka.tgz",
    ],
)
def test_an_address_that_is_none_or_would_hold_a_secret_is_refused(url: str) -> None:
    ((code, message),) = told(text(url=url))
    assert code == "KEDGE-SPEC-025"
    assert "https://" in message


@pytest.mark.parametrize("sha256", ["a" * 63, "A" * 64, "g" * 64])
def test_a_checksum_of_another_form_is_refused(sha256: str) -> None:
    ((code, message),) = told(text(sha256))
    assert (code, "64 hex digits" in message) == ("KEDGE-SPEC-025", True)


def test_an_address_that_vms_of_a_place_do_not_reach_is_refused() -> None:
    ((code, message),) = told(text(url="https://mirror.example/kafka.tgz"))
    assert code == "KEDGE-SPEC-078"
    assert message == "VMs of the local cloud (pool `controllers`) fetch nothing over a network"
    zones = "eu-west-1a, eu-west-1b, eu-west-1c"
    place = f"cloud: aws, region: eu-west-1, zones: [{zones}]"
    aws = {"cloud": "aws", "quorum_place": place, "brokers_in": "eu-west-1", "zones": zones}
    assert told(text(url="https://mirror.example/kafka.tgz", **aws)) == []
    ((code, message),) = told(text(**aws))
    assert code == "KEDGE-SPEC-078"
    assert message == "`file:///` names a file of this machine, which VMs in aws (pool `controllers`) cannot read"


@pytest.mark.parametrize("image", ["{follow: all}", "{pin: 3}"])
def test_a_build_and_the_catalogue_do_not_both_say_what_vms_run(image: str) -> None:
    ((code, message),) = told(text(more=f", image: {image}"))
    assert (code, message) == ("KEDGE-SPEC-078", "`distribution` and `image` both say which build of Kafka VMs run")


def test_the_checksum_says_which_vm_it_is_and_the_address_does_not() -> None:
    def digest(sha256: str, url: str) -> str:
        return instance_digest(a_document(config=f", distribution: {{url: '{url}', sha256: '{sha256}'}}"), "brokers")

    assert digest(ONE, LOCAL) == digest(ONE, "file:///mnt/kafka.tgz") != digest(OTHER, LOCAL)
    assert digest(ONE, LOCAL) != instance_digest(a_document(), "brokers")


def test_another_version_needs_another_build() -> None:
    def of(version: str, sha256: str) -> KafkaClusterDocument:
        return a_document(version=version, config=f", distribution: {{url: '{LOCAL}', sha256: '{sha256}'}}")

    (found,) = check_change(of("4.1.1", ONE), of("4.2.0", ONE), data_bytes_per_pool=None)
    assert found.code == "KEDGE-SPEC-078"
    assert found.message == "the build is that of Kafka 4.1.1, and the version becomes 4.2.0"
    assert check_change(of("4.1.1", ONE), of("4.2.0", OTHER), data_bytes_per_pool=None) == []
    assert check_change(of("4.1.1", ONE), a_document(version="4.2.0"), data_bytes_per_pool=None) == []
