"""Every example is a spec a person can start from: accepted as it stands, without a warning."""

import re
from pathlib import Path

import pytest

from events.spec.document import load_documents
from events.spec.model import KafkaClusterDocument

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.yaml"))


def example(name: str) -> KafkaClusterDocument:
    path = next(path for path in EXAMPLES if path.name == name)
    return load_documents(path.read_bytes(), file=path.name).documents[0]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_accepted_without_a_warning(path: Path) -> None:
    result = load_documents(path.read_bytes(), file=path.name, takes_pairs=True)
    assert result.problems == ()
    holds = ("topics.yaml" in path.name, "users.yaml" in path.name, "failover.yaml" in path.name)
    assert len(result.documents) == (0 if any(holds) else 1)
    assert (bool(result.topics), bool(result.users), bool(result.failovers)) == holds


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_names_a_schema_that_is_there(path: Path) -> None:
    first = path.read_text().splitlines()[0]
    found = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)
    assert found is not None
    assert (path.parent / found[1]).is_file()


def test_the_demo_starts_with_three_brokers_and_three_controllers_in_three_zones() -> None:
    spec = example("orders.yaml").spec
    assert spec.kafka.version == "4.1.1"
    assert [(pool.name, pool.size, pool.place.cloud, pool.place.region) for pool in spec.pools] == [
        ("controllers", 3, "local", "local-1"),
        ("brokers", 3, "local", "local-1"),
    ]
    assert {pool.place.zones for pool in spec.pools} == {("a", "b", "c")}
    assert (spec.rollout.linger_s, spec.rollout.soak_s) == (5, 5)


def test_the_production_example_keeps_its_disks_and_gives_clients_time() -> None:
    spec = example("aws-orders.yaml").spec
    assert spec.deletion_policy == "retain"
    assert spec.kafka.metadata_version == "4.1"
    assert spec.rollout.linger_s >= 60
