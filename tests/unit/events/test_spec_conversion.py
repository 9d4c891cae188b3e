"""Old documents stay readable: conversions lead to the storage version, and back and forth nothing is lost."""

from typing import Any

import pytest
from hypothesis import given

from events.spec.conversion import CONVERSIONS, Conversions, Data, UnknownApiVersion, from_data, to_data
from events.spec.model import API_VERSION, KafkaClusterDocument
from tests.unit.events.spec_documents import QUICK, documents
from tests.unit.events.spec_texts import document


def earlier(data: Data) -> Data:
    """What a document would look like in two imagined earlier versions: pools a mapping, then flat too."""
    spec = dict(data["spec"])
    pools = {pool["name"]: {k: v for k, v in pool.items() if k != "name"} for pool in spec.pop("pools")}
    return {
        "apiVersion": "kedge/v0beta1",
        "kind": data["kind"],
        "metadata": data["metadata"],
        "spec": {**spec, "poolsByName": pools},
    }


def earliest(data: Data) -> Data:
    before = earlier(data)
    return {"apiVersion": "kedge/v0alpha1", "kind": before["kind"], **before["metadata"], "spec": before["spec"]}


def named_metadata(data: Data) -> Data:
    metadata = {key: data[key] for key in ("name", "owner", "labels")}
    return {"kind": data["kind"], "metadata": metadata, "spec": data["spec"]}


def listed_pools(data: Data) -> Data:
    spec = dict(data["spec"])
    pools = [{"name": name, **pool} for name, pool in spec.pop("poolsByName").items()]
    return {**data, "spec": {**spec, "pools": pools}}


def imagined() -> Conversions:
    conversions = Conversions(API_VERSION)
    conversions.register(source="kedge/v0beta1", target=API_VERSION, upgrade=listed_pools)
    conversions.register(source="kedge/v0alpha1", target="kedge/v0beta1", upgrade=named_metadata)
    return conversions


@QUICK
@given(documents())
def test_a_document_survives_the_way_to_data_and_back(there: KafkaClusterDocument) -> None:
    assert from_data(to_data(there)) == there


@QUICK
@given(documents())
def test_a_document_survives_the_way_through_every_earlier_version(there: KafkaClusterDocument) -> None:
    data = to_data(there)
    assert from_data(earlier(data), conversions=imagined()) == there
    assert from_data(earliest(data), conversions=imagined()) == there


@QUICK
@given(documents())
def test_the_storage_version_is_not_converted(there: KafkaClusterDocument) -> None:
    data = to_data(there)
    assert CONVERSIONS.to_storage(data) == data


def test_a_conversion_leaves_its_input_alone_however_careless_its_functions_are() -> None:
    def careless(data: Data) -> Data:
        data["metadata"] = data.pop("meta")
        data["spec"].pop("colour")
        return data

    conversions = Conversions(API_VERSION)
    conversions.register(source="kedge/v0alpha1", target=API_VERSION, upgrade=careless)
    data = {"apiVersion": "kedge/v0alpha1", "meta": {"name": "orders"}, "spec": {"colour": "red"}}
    before = repr(data)
    assert conversions.to_storage(data) == {"apiVersion": API_VERSION, "metadata": {"name": "orders"}, "spec": {}}
    assert repr(data) == before


@pytest.mark.parametrize("version", ["kedge/v2", "", None, 7, ["kedge/v1alpha1"]])
def test_an_unknown_version_is_refused_with_the_known_ones(version: Any) -> None:
    with pytest.raises(UnknownApiVersion, match="known: kedge/v1alpha1"):
        from_data({**to_data(document()), "apiVersion": version})


def test_a_version_has_one_way_only() -> None:
    conversions = imagined()
    with pytest.raises(ValueError, match="already has its way"):
        conversions.register(source="kedge/v0beta1", target=API_VERSION, upgrade=listed_pools)
    with pytest.raises(ValueError, match="already has its way"):
        conversions.register(source=API_VERSION, target="kedge/v0beta1", upgrade=listed_pools)


@pytest.mark.parametrize("target", ["kedge/v0gamma1", "kedge/v0lost1"])
def test_a_way_that_leads_nowhere_or_round_in_a_circle_is_refused(target: str) -> None:
    conversions = imagined()
    with pytest.raises(ValueError, match="does not lead to"):
        conversions.register(source="kedge/v0gamma1", target=target, upgrade=dict)
    assert conversions.known == (API_VERSION, "kedge/v0alpha1", "kedge/v0beta1")


def test_data_of_an_event_stays_readable_when_rules_become_stricter() -> None:
    data = to_data(document())
    data["spec"]["kafka"]["config"] = {"node.id": "1"}
    data["spec"]["kafka"]["version"] = "4.0.0"
    assert from_data(data).spec.kafka.version == "4.0.0"
