"""Hypothesis strategies: documents of the right shape, whether a rule would accept them or not."""

from typing import Any, TypeVar

from hypothesis import HealthCheck, settings, strategies as st

from events.spec.clients import Bootstrap
from events.spec.fields import Part
from events.spec.model import (
    ClusterSpec,
    Disk,
    KafkaClusterDocument,
    KafkaSection,
    Metadata,
    PlaceSpec,
    Pool,
)
from events.spec.rollout import RolloutPolicy
from events.spec.security import Listener

QUICK = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""No deadline: on a busy machine the clock says nothing about the code."""

PartT = TypeVar("PartT", bound=Part)


def built(model: type[PartT], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[PartT]:
    """`st.builds` without its guesses: it reads the YAML keys of a part as arguments of their own."""
    return st.fixed_dictionaries(fields).map(lambda values: model(**values))


labels = st.sampled_from(["a", "b1", "orders", "team-x", "0"])
words = st.sampled_from(["small", "eu-west-1a", "1", "r7g.xlarge", "Standard_L8s"])
lines = st.text(st.characters(exclude_categories=["C", "Z"]), max_size=8)
properties = st.dictionaries(
    st.sampled_from(["num.io.threads", "num.partitions", "log.retention.ms", "made.up"]), lines, max_size=3
)

places = built(
    PlaceSpec,
    cloud=st.sampled_from(["local", "aws"]),
    region=words,
    account=st.sampled_from(["default", "mine"]),
    zones=st.lists(words, min_size=1, max_size=3).map(tuple),
)
disks = built(
    Disk,
    kind=st.sampled_from(["persistent", "ephemeral"]),
    size_gib=st.integers(1, 3),
    count=st.integers(1, 2),
)
pools = built(
    Pool,
    name=labels,
    services=st.sampled_from([("broker",), ("controller",)]),
    size=st.integers(1, 4),
    machine=words,
    disk=disks,
    place=places,
    heap_mib=st.none() | st.integers(64, 66),
)
rollouts = built(
    RolloutPolicy,
    strategy=st.sampled_from(["migrate", "reattach"]),
    surge=st.integers(0, 2),
    max_unavailable=st.integers(0, 2),
    max_parallel_restarts=st.integers(1, 2),
    soak_s=st.integers(0, 9),
    linger_s=st.integers(0, 9),
    pause=st.booleans(),
    join_deadline_s=st.integers(0, 9),
    throttle_mib_per_s=st.none() | st.integers(1, 9),
    allow_unavailable=st.lists(st.sampled_from(["t1", "t2"]), max_size=2).map(tuple),
)
kafkas = built(
    KafkaSection,
    version=st.sampled_from(["4.1.1", "4.2.0", "4.2.1"]),
    config=properties,
    metadata_version=st.none() | st.sampled_from(["4.1", "4.10"]),
)
specs = built(
    ClusterSpec,
    kafka=kafkas,
    pools=st.lists(pools, min_size=1, max_size=3, unique_by=lambda pool: pool.name).map(tuple),
    rollout=rollouts,
    listeners=st.lists(
        built(Listener, name=st.sampled_from(["PLAINTEXT", "SECOND"]), port=st.integers(9092, 9094)),
        min_size=1,
        max_size=2,
        unique_by=lambda listener: listener.name,
    ).map(tuple),
    bootstrap=built(Bootstrap, dns=st.none() | st.just("kafka.example.com"), list=st.booleans()),
    deletion_policy=st.sampled_from(["retain", "destroy"]),
)


def documents() -> st.SearchStrategy[KafkaClusterDocument]:
    metadata = built(Metadata, name=labels, owner=lines, labels=st.dictionaries(words, lines, max_size=2))
    return built(KafkaClusterDocument, metadata=metadata, spec=specs)


def accepted_documents() -> st.SearchStrategy[KafkaClusterDocument]:
    """Documents every rule accepts, of one cluster in many shapes."""
    zones = st.permutations(["a", "b", "c"]).map(tuple)
    homes = built(PlaceSpec, cloud=st.just("local"), region=st.sampled_from(["r1", "r2"]), zones=zones)
    quorum = built(
        Pool,
        name=st.sampled_from(["quorum", "voters"]),
        services=st.just(("controller",)),
        size=st.sampled_from([1, 3, 5]),
        machine=st.just("small"),
        disk=built(Disk, kind=st.just("persistent"), size_gib=st.integers(1, 3)),
        place=homes,
    )
    brokers = built(
        Pool,
        name=st.sampled_from(["b1", "b2", "b3"]),
        services=st.just(("broker",)),
        size=st.sampled_from([3, 6]),
        machine=words,
        disk=disks,
        place=homes,
    )
    several = st.lists(brokers, min_size=1, max_size=3, unique_by=lambda pool: pool.name)
    spec = built(
        ClusterSpec,
        kafka=built(KafkaSection, version=st.sampled_from(["4.1.1", "4.2.0"])),
        pools=st.builds(lambda first, rest: (first, *rest), quorum, several),
        deletion_policy=st.sampled_from(["retain", "destroy"]),
    )
    return built(KafkaClusterDocument, metadata=built(Metadata, name=st.sampled_from(["orders", "others"])), spec=spec)
