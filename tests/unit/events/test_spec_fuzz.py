"""Whatever a file holds, the loader answers with problems and never raises."""

import json

import yaml
from hypothesis import given, settings, strategies as st

from events.spec.change import differences
from events.spec.conversion import to_data
from events.spec.document import MAX_PROBLEMS, LoadResult, load_documents
from events.spec.model import KafkaClusterDocument
from events.spec.problems import KINDS, has_errors
from events.spec.rules import check, check_change
from events.spec.storage_rules import grows_in_place
from tests.unit.events.spec_documents import QUICK, accepted_documents, documents
from tests.unit.events.spec_texts import ORDERS

BITS = (
    *("&a", "*a", "<<:", "!!str", "!x", "---", "...", "%YAML 1.1", "- ", "? ", ": ", "{", "}", "[", "]", ",", "|", ">"),
    *("'", '"', "\\x", "\\U0011FFFF", "\t", "\n", "\r", "\x85", "\u2028", "\ufeff", "#", "~", "null", "@", "`", "name"),
    *("1", "kind: KafkaCluster", "apiVersion: kedge/v1alpha1", "spec:", "pools:"),
)

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
trees = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "kafka", "pools", "size", "place", "zones", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


def is_sane(result: LoadResult) -> None:
    """What must hold of every answer."""
    assert len(result.problems) <= MAX_PROBLEMS
    assert len(result.documents) == len(result.positions)
    assert result.documents or not result.ok
    for one in result.problems:
        assert one.code in KINDS
        assert one.line >= 1
        assert one.column >= 1
        assert one.message
        assert one.fix
        str(one).encode()


@settings(QUICK, max_examples=200)
@given(st.text(max_size=200))
def test_any_text_is_answered(text: str) -> None:
    is_sane(load_documents(text, file="f"))


@settings(QUICK, max_examples=200)
@given(st.binary(max_size=200))
def test_any_bytes_are_answered(content: bytes) -> None:
    is_sane(load_documents(content, file="f"))


@settings(QUICK, max_examples=200)
@given(st.lists(st.sampled_from(BITS) | st.text(max_size=3), max_size=30).map("".join))
def test_any_pile_of_yaml_is_answered(text: str) -> None:
    is_sane(load_documents(text, file="f"))


@settings(QUICK, max_examples=200)
@given(st.integers(0, len(ORDERS)), st.integers(0, 12), st.sampled_from(BITS) | st.text(max_size=4))
def test_a_good_spec_with_one_wound_is_answered(at: int, lost: int, put: str) -> None:
    is_sane(load_documents(ORDERS[:at] + put + ORDERS[at + lost :], file="f"))


@QUICK
@given(st.sampled_from(["metadata", "spec", "kafka", "pools", "rollout", "listeners", "bootstrap"]), trees)
def test_a_section_of_any_shape_is_answered(section: str, tree: object) -> None:
    whole = yaml.safe_load(ORDERS)
    (whole if section in whole else whole["spec"])[section] = tree
    is_sane(load_documents(yaml.safe_dump(whole, allow_unicode=True), file="f"))


@QUICK
@given(documents())
def test_a_document_is_judged_and_its_yaml_is_judged_the_same(there: KafkaClusterDocument) -> None:
    """JSON is YAML: what `to_data` writes is read back as the same document, with the same verdict."""
    result = load_documents(json.dumps(to_data(there), ensure_ascii=False), file="f")
    judged = check(there)
    assert sorted(one.code for one in result.problems) == sorted(one.code for one in judged)
    assert result.documents == (() if has_errors(judged) else (there,))


@QUICK
@given(accepted_documents(), accepted_documents(), st.integers(0, 40))
def test_a_change_is_refused_exactly_for_its_reasons(
    old: KafkaClusterDocument, new: KafkaClusterDocument, stored_gib: int
) -> None:
    assert not has_errors(check(old))
    stored = {pool.name: stored_gib << 30 for pool in old.spec.broker_pools}
    codes = {one.code for one in check_change(old, new, data_bytes_per_pool=stored)}
    before, after = old.spec.controller_pool, new.spec.controller_pool
    kept = {pool.name for pool in old.spec.pools} & {pool.name for pool in new.spec.pools}
    quorums = [name for name in kept if new.spec.pool(name).is_quorum]
    moved = [
        name
        for name in quorums
        if old.spec.pool(name).place.region != new.spec.pool(name).place.region
        and max(old.spec.pool(name).size, new.spec.pool(name).size) == 1
        and old.spec.pool(name).place.zones[0] == new.spec.pool(name).place.zones[0]
    ]
    disks = {name: (old.spec.pool(name).disk.size_gib, new.spec.pool(name)) for name in quorums}
    stuck = [
        name
        for name, (gib, pool) in disks.items()
        if gib > pool.disk.size_gib or (gib < pool.disk.size_gib and not grows_in_place(pool))
    ]
    assert codes <= {f"KEDGE-SPEC-07{last}" for last in range(5)}
    assert ("KEDGE-SPEC-070" in codes) == (old.metadata.name != new.metadata.name or moved != [])
    assert ("KEDGE-SPEC-071" in codes) == (before.name != after.name)
    assert ("KEDGE-SPEC-072" in codes) == (not kept - {before.name, after.name})
    assert ("KEDGE-SPEC-073" in codes) == (stuck != [])


@QUICK
@given(accepted_documents(), st.integers(0, 1000))
def test_no_change_is_never_refused(there: KafkaClusterDocument, stored_gib: int) -> None:
    stored = {pool.name: stored_gib << 30 for pool in there.spec.broker_pools}
    assert check_change(there, there, data_bytes_per_pool=stored) == []


@QUICK
@given(accepted_documents(), accepted_documents())
def test_differences_are_empty_exactly_for_equal_documents(
    old: KafkaClusterDocument, new: KafkaClusterDocument
) -> None:
    def in_order(one: KafkaClusterDocument) -> dict[str, object]:
        data = to_data(one)
        data["spec"]["pools"].sort(key=lambda pool: pool["name"])
        return data

    assert (differences(old, new) == ()) == (in_order(old) == in_order(new))
    assert differences(old, old) == ()
