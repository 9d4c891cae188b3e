"""An overlay in a spec: what can be of one, between whom there is a path, and that nothing makes one yet."""

import pytest

from events.spec.network import NetworkSpec, OverlaySpec
from events.spec.rules import check, check_change
from tests.builders import a_zookeeper_document
from tests.unit.events.spec_texts import document, load

AWS = "      place: {cloud: aws, region: eu-west-1, zones: [eu-west-1a, eu-west-1b, eu-west-1c]%s}"
GOOGLE = "      place: {cloud: google, region: europe-west1, zones: [europe-west1-b, europe-west1-c, europe-west1-d]%s}"
AZURE = "      place: {cloud: azure, region: westeurope, zones: ['1', '2', '3']%s}"
DIGITALOCEAN = "      place: {cloud: digitalocean, region: ams3, zones: [a, b, c]%s}"
IPV6 = "\n      ipv6: true"
PUBLIC = "\n      publicAddress: true"
OVERLAY = "spec:\n  network:\n    overlay: {type: wireguard%s}"


def codes(controllers: str = AWS % "", brokers: str = AWS % "", more: str = "", **edits: str) -> list[str]:
    lines = {5: OVERLAY % more, 16: controllers, 22: brokers, **{int(n[1:]): line for n, line in edits.items()}}
    return [one.code for one in load(lines).problems if one.is_error]


def test_nothing_else_is_wrong_with_one_that_could_be_made_but_that_nothing_makes_it() -> None:
    (problem,) = [one for one in load({5: OVERLAY % "", 16: AWS % "", 22: AWS % ""}).problems if one.is_error]
    assert problem.code == "KEDGE-SPEC-134"
    assert "nothing would make it, and nodes would speak in clear" in problem.message
    assert (problem.line, problem.path) == (7, "spec.network.overlay")


def test_a_spec_without_one_is_as_it_was() -> None:
    assert document().spec.network.overlay is None
    assert document({5: "spec:\n  network: {}"}) == document()


def test_no_living_cluster_gets_one_by_another_spec() -> None:
    old = document()
    spec = old.spec.model_copy(update={"network": NetworkSpec(overlay=OverlaySpec(type="wireguard"))})
    (problem,) = check_change(old, old.model_copy(update={"spec": spec}), data_bytes_per_pool=None)
    assert (problem.code, problem.path) == ("KEDGE-SPEC-070", "spec.network.overlay")


def test_two_clouds_without_a_route_are_joined_where_one_side_can_be_called() -> None:
    assert codes(AWS % "" + PUBLIC, GOOGLE % "") == ["KEDGE-SPEC-134"]
    assert codes(AWS % "", GOOGLE % "" + PUBLIC) == ["KEDGE-SPEC-134"]
    assert codes(AWS % "" + IPV6, GOOGLE % "" + IPV6) == ["KEDGE-SPEC-134"], "both have IPv6"
    assert codes(AWS % "", DIGITALOCEAN % "") == ["KEDGE-SPEC-134"], "whose VMs all have a public address"
    assert codes(AWS % ", route: backbone", GOOGLE % ", route: backbone") == ["KEDGE-SPEC-134"]


@pytest.mark.parametrize(
    ("controllers", "brokers"),
    [
        (AWS % "", GOOGLE % ""),
        (AWS % "" + IPV6, GOOGLE % ""),
        (AWS % "" + IPV6, AZURE % "" + IPV6),
    ],
    ids=["both behind NAT", "an IPv6 address that is called by IPv4 from nowhere", "an IPv6 address that is private"],
)
def test_two_networks_without_a_path_are_told_by_name(controllers: str, brokers: str) -> None:
    assert codes(controllers, brokers) == ["KEDGE-SPEC-134", "KEDGE-SPEC-139"]
    (problem,) = [
        one for one in load({5: OVERLAY % "", 16: controllers, 22: brokers}).problems if "KEDGE-SPEC-139" in one.code
    ]
    assert "between pool `brokers` in " in problem.message
    assert "pool `controllers` in aws/default/eu-west-1" in problem.message
    assert "`publicAddress: true`" in problem.fix


def test_the_internet_is_no_private_route_for_what_is_outside_of_the_overlay_either() -> None:
    assert set(codes(AWS % ", route: internet", GOOGLE % ", route: internet")) == {"KEDGE-SPEC-134", "KEDGE-SPEC-064"}


def test_the_local_cloud_has_no_network_of_its_own_to_put_one_over() -> None:
    local = "      place: {cloud: local, region: local-1, zones: [a, b, c]}"
    assert codes(local, local) == ["KEDGE-SPEC-134", "KEDGE-SPEC-136", "KEDGE-SPEC-136"]


@pytest.mark.parametrize(
    ("port", "code"),
    [(1023, "KEDGE-SPEC-024"), (65_533, "KEDGE-SPEC-024"), (51_816, "KEDGE-SPEC-135"), (51_819, "KEDGE-SPEC-135")],
)
def test_four_ports_are_free_for_it(port: int, code: str) -> None:
    assert code in codes(more=f", port: {port}")


@pytest.mark.parametrize("port", [1024, 51_815, 51_820, 65_532])
def test_any_other_four_are(port: int) -> None:
    assert codes(more=f", port: {port}") == ["KEDGE-SPEC-134"]


def test_it_is_for_two_hundred_nodes_at_most() -> None:
    assert codes(l19="      size: 197") == ["KEDGE-SPEC-134"]
    assert codes(l19="      size: 198") == ["KEDGE-SPEC-134", "KEDGE-SPEC-138"]


@pytest.mark.parametrize(
    "line", ["    overlay: {type: ipsec}", "    overlay: {}", "    overlay: {type: wireguard, mtu: 1}"]
)
def test_what_it_is_not_is_refused_where_it_stands(line: str) -> None:
    (problem,) = [one for one in load({5: f"spec:\n  network:\n{line}"}).problems if one.is_error]
    assert problem.line == 7


def test_an_ensemble_is_in_none() -> None:
    old = a_zookeeper_document()
    spec = old.spec.model_copy(update={"network": NetworkSpec(overlay=OverlaySpec(type="wireguard"))})
    found = {one.code for one in check(old.model_copy(update={"spec": spec}))}
    assert {"KEDGE-SPEC-134", "KEDGE-SPEC-137"} <= found
