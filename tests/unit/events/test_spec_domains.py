"""Network domains: pools that cannot reach one another are refused with the line, the reason and a way out."""

import pytest

from events.spec.domains import INTERNET, Address, advertised, domain_of
from events.spec.model import KafkaClusterDocument, PlaceSpec
from events.spec.problems import Problem
from events.spec.rules import check_change
from tests.unit.events.spec_texts import document, load

DUBLIN = "      place: {cloud: aws, region: eu-west-1, zones: [eu-west-1a, eu-west-1b, eu-west-1c]%s}"
FRANKFURT = "      place: {cloud: aws, region: eu-central-1, zones: [eu-central-1a, eu-central-1b, eu-central-1c]%s}"


def problems_of(controllers: str, brokers: str) -> list[Problem]:
    return [one for one in load({16: controllers, 22: brokers}).problems if one.is_error]


def document_of(controllers: str, brokers: str) -> KafkaClusterDocument:
    return document({16: controllers, 22: brokers})


def test_pools_of_two_regions_need_a_route_and_the_refusal_says_where_and_how() -> None:
    (problem,) = problems_of(DUBLIN % "", FRANKFURT % "")
    assert (problem.code, problem.file, problem.line) == ("KEDGE-SPEC-063", "orders.yaml", 22)
    assert "is in aws/default/eu-central-1" in problem.message
    assert "no private route" in problem.message
    assert "`route: NAME` for both" in problem.fix


def test_a_route_both_name_is_one_domain_and_two_routes_are_two() -> None:
    assert problems_of(DUBLIN % ", route: backbone", FRANKFURT % ", route: backbone") == []
    (problem,) = problems_of(DUBLIN % ", route: backbone", FRANKFURT % ", route: other")
    assert problem.code == "KEDGE-SPEC-063"
    (problem,) = problems_of(DUBLIN % "", FRANKFURT % ", route: backbone")
    assert "`route: backbone` for both" in problem.fix


def test_two_accounts_are_two_domains() -> None:
    (problem,) = problems_of(DUBLIN % "", DUBLIN % ", account: second")
    assert problem.code == "KEDGE-SPEC-063"


def test_nothing_is_routed_to_the_local_cloud() -> None:
    local = "      place: {cloud: local, region: local-1, zones: [a, b, c], route: backbone}"
    (problem,) = problems_of(DUBLIN % ", route: backbone", local)
    assert problem.code == "KEDGE-SPEC-063"
    assert "loopback" in problem.fix
    regions = (local, local.replace("local-1", "local-2"))
    assert [p.code for p in problems_of(*regions) if p.code == "KEDGE-SPEC-063"] == []


def test_plaintext_over_the_internet_is_refused() -> None:
    found = problems_of(DUBLIN % ", route: internet", FRANKFURT % ", route: internet")
    assert [one.code for one in found] == ["KEDGE-SPEC-064"] * 2
    assert "private route" in found[0].fix


def test_only_a_reach_that_is_built_is_accepted() -> None:
    (problem,) = problems_of(DUBLIN % "", DUBLIN % ", reach: relay")
    assert problem.code == "KEDGE-SPEC-023"


def test_a_pool_moves_only_along_a_route_that_is_in_force_already() -> None:
    before = document_of(DUBLIN % "", DUBLIN % "")
    after = document_of(DUBLIN % ", route: backbone", FRANKFURT % ", route: backbone")
    (problem,) = check_change(before, after, data_bytes_per_pool=None)
    assert problem.code == "KEDGE-SPEC-063"
    assert "`route: backbone` while the pool is where it is" in problem.fix
    routed = document_of(DUBLIN % ", route: backbone", DUBLIN % ", route: backbone")
    assert check_change(before, routed, data_bytes_per_pool=None) == []
    assert check_change(routed, after, data_bytes_per_pool=None) == []


@pytest.mark.parametrize(
    ("addresses", "told"),
    [
        ((), ""),
        ((("10.0.0.7", "here"),), "10.0.0.7"),
        ((("", "here"), ("10.0.0.7", "here")), "10.0.0.7"),
        ((("10.0.0.1", "here"), ("10.0.0.7", "here")), "10.0.0.1"),
        ((("192.0.2.4", INTERNET), ("10.0.0.7", "here")), "10.0.0.7"),
        ((("10.9.0.7", "there"),), ""),
    ],
)
def test_a_node_tells_its_first_address_of_the_clusters_domain(
    addresses: tuple[tuple[str, str], ...], told: str
) -> None:
    assert advertised((Address(*one) for one in addresses), "here") == told


def test_a_place_without_a_route_is_a_domain_with_its_network() -> None:
    place = PlaceSpec(cloud="aws", region="eu-west-1", zones=("eu-west-1a",))
    assert domain_of(place) != domain_of(place.model_copy(update={"network": "second"}))
    assert domain_of(place.model_copy(update={"route": "r"})) == "route r"
