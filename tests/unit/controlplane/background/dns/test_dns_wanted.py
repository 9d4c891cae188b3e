"""What DNS should say of a cluster, from its folded view alone."""

from controlplane.background.dns.wanted import wanted_names
from controlplane.cluster.lifecycle import Phase
from tests.builders import BEFORE, a_document, a_view, an_instance

NAME = "orders.kafka.example.com"
DOCUMENT = a_document(bootstrap="dns: orders.kafka.example.com")


def test_a_spec_without_a_name_has_none_in_dns() -> None:
    assert wanted_names(a_view()) == {}


def test_the_bootstrap_name_is_every_broker_and_each_node_its_own_address() -> None:
    wanted = wanted_names(a_view(document=DOCUMENT))
    assert wanted[NAME] == {f"address-of-brokers-{rack}-0.g1" for rack in "abc"}
    assert wanted[f"brokers-a-0.{NAME}"] == {"address-of-brokers-a-0.g1"}
    assert wanted[f"controllers-b-0.{NAME}"] == {"node-address-controllers-b-0"}
    assert len(wanted) == 7


def test_a_node_keeps_its_record_until_its_replacement_serves() -> None:
    old = an_instance("brokers-a-0", 1, Phase.JOINED)
    coming = an_instance("brokers-a-0", 2, Phase.LAUNCHED)
    wanted = wanted_names(a_view(old, coming, document=DOCUMENT))
    assert wanted[f"brokers-a-0.{NAME}"] == {old.address}
    assert coming.address not in wanted[NAME]


def test_a_node_is_its_newest_broker_as_soon_as_that_serves() -> None:
    old = an_instance("brokers-a-0", 1, Phase.DRAINING)
    new = an_instance("brokers-a-0", 2, Phase.JOINED)
    wanted = wanted_names(a_view(old, new, document=DOCUMENT))
    assert wanted[f"brokers-a-0.{NAME}"] == {new.address}
    assert old.address not in wanted[NAME]


def test_a_node_that_nobody_serves_is_left_as_it_is() -> None:
    lost = an_instance("brokers-a-0", 1, lost_at=BEFORE)
    wanted = wanted_names(a_view(lost, document=DOCUMENT))
    assert f"brokers-a-0.{NAME}" not in wanted
    assert wanted[NAME] == {"address-of-brokers-b-0.g1", "address-of-brokers-c-0.g1"}


def test_while_no_broker_is_to_stay_those_that_still_serve_are_named() -> None:
    going = [an_instance(f"brokers-{rack}-0", 1, Phase.DRAINING) for rack in "abc"]
    assert wanted_names(a_view(*going, document=DOCUMENT))[NAME] == {i.address for i in going}


def test_without_any_broker_the_bootstrap_name_is_left_as_it_is() -> None:
    coming = [an_instance(f"brokers-{rack}-0", 1, Phase.REQUESTED) for rack in "abc"]
    assert NAME not in wanted_names(a_view(*coming, document=DOCUMENT))


def test_a_node_that_is_no_more_loses_its_name() -> None:
    gone = an_instance("brokers-a-1", 1, Phase.RETIRED)
    assert wanted_names(a_view(gone, document=DOCUMENT))[f"brokers-a-1.{NAME}"] == frozenset()


def test_a_deleted_cluster_loses_all_its_names() -> None:
    wanted = wanted_names(a_view(document=DOCUMENT, deleted=True))
    assert len(wanted) == 7
    assert set(wanted.values()) == {frozenset()}
