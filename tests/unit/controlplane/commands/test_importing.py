"""From what brokers tell to the spec that takes them on: what is written, what is left open, what is refused."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from agent.host_port import HostPort
from controlplane.commands.import_spec import ImportRefused, imported_spec
from controlplane.kafka.import_reader import ForeignCluster
from controlplane.kafka.settings_live import RunningSetting, SettingSource
from events.spec.document import load_documents
from events.spec.model import ClusterSpec
from planner.observed import FeatureSeen, QuorumSeen, VoterSeen
from tests.builders import a_partition, a_snapshot
from tests.external_clusters import CLUSTER_ID

KRAFT_1 = FeatureSeen(1, 0, 1)


def a_setting(name: str, value: str, source: SettingSource = SettingSource.FILE, **overrides: Any) -> RunningSetting:
    values = {"type": "string", "is_read_only": False, "is_sensitive": False, **overrides}
    return RunningSetting(name, value, source, **values)


def a_cluster(
    settings: Mapping[int, Mapping[str, str]] | None = None, *, finalised: int = 27, supported: int = 27
) -> ForeignCluster:
    """Brokers 1 and 2; `settings` are those of their files."""
    seen = a_snapshot(
        a_partition("orders-0", (1, 2)),
        brokers=(1, 2),
        cluster_id=CLUSTER_ID,
        quorum=QuorumSeen(9, 1, (VoterSeen(9, "A" * 22, 0, True), VoterSeen(1, "x", 0, False))),
        features={"metadata.version": FeatureSeen(finalised, 7, supported)},
    )
    running = {b: {n: a_setting(n, v) for n, v in (settings or {}).get(b, {}).items()} for b in (1, 2)}
    return ForeignCluster(seen, running, {9: HostPort("c.example", 9093)})


def both(**settings: str) -> dict[int, dict[str, str]]:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return {1: named, 2: named}


def spec_of(found: ForeignCluster) -> ClusterSpec:
    loaded = load_documents(imported_spec(found, name="theirs").text, file="theirs.yaml")
    assert loaded.ok, loaded.problems
    return loaded.documents[0].spec


def test_a_directory_that_nobody_told_is_left_out() -> None:
    external = spec_of(a_cluster()).external
    assert external is not None
    assert [(c.id, c.host, c.directory_id) for c in external.controllers] == [(9, "c.example", None)]
    assert [(b.id, b.rack, b.host) for b in external.brokers] == [(1, "b", "host-1"), (2, "c", "host-2")]


def test_a_static_quorum_is_taken_on_and_it_says_what_has_to_come_before_a_pool() -> None:
    static = a_cluster()
    dynamic = replace(static, seen=replace(static.seen, features={**static.seen.features, "kraft.version": KRAFT_1}))
    old = replace(static, seen=replace(static.seen, features={"metadata.version": FeatureSeen(25, 7, 25)}))
    texts = [imported_spec(found, name="theirs").text for found in (static, dynamic, old)]
    assert ["`quorum: dynamic` under `external` asks Kedge" in text for text in texts] == [True, False, False]
    assert ["metadata.version is finalised at 25 there, 4.1 has 27" in text for text in texts] == [False, False, True]
    assert spec_of(static) == spec_of(dynamic)


def test_values_keep_their_very_characters() -> None:
    found = a_cluster(both(log_retention_hours="072", compression_type="producer"))
    assert spec_of(found).kafka.config == {"compression.type": "producer", "log.retention.hours": "072"}


def test_what_differs_what_is_owned_and_what_is_unsafe_never_gets_into_the_spec() -> None:
    own = {"log.dirs": "/data", "node.id": "1", "num.io.threads": "4", "sasl.jaas.config": "s3cret"}
    found = a_cluster({1: own, 2: {**own, "node.id": "2", "num.io.threads": "8"}})
    imported = imported_spec(found, name="theirs")
    assert spec_of(found).kafka.config == {}
    assert "s3cret" not in imported.text
    told = "\n".join(imported.unknown)
    assert "differ from broker to broker: num.io.threads" in told
    assert "no spec may hold, or that the version does not have: sasl.jaas.config" in told


def test_a_value_set_live_on_one_broker_alone_is_left_to_a_person() -> None:
    found = a_cluster()
    live = {"num.io.threads": a_setting("num.io.threads", "9", SettingSource.BROKER_LIVE)}
    told = imported_spec(replace(found, settings={1: live, 2: {}}), name="theirs").unknown
    assert any("num.io.threads (broker 1)" in line for line in told)


def test_a_broker_that_does_not_serve_is_listed_and_said_to_be_silent() -> None:
    found = a_cluster()
    seen = a_snapshot(brokers=(1,), fenced=(2,), cluster_id=CLUSTER_ID, quorum=found.seen.quorum)
    silent = replace(found, seen=replace(seen, features=found.seen.features), settings={1: {}})
    external = spec_of(silent).external
    assert external is not None
    assert [b.id for b in external.brokers] == [1, 2]
    assert "what broker 2 run with: they do not serve now" in imported_spec(silent, name="theirs").unknown


@pytest.mark.parametrize(
    ("finalised", "supported", "version", "newer"),
    [(27, 27, "4.1.1", False), (27, 29, "4.2.0", False), (29, 29, "4.2.0", False), (21, 25, "4.1.1", True)],
)
def test_brokers_of_ours_run_what_is_no_newer_than_theirs_where_there_is_such(
    finalised: int, supported: int, version: str, newer: bool
) -> None:
    found = a_cluster(finalised=finalised, supported=supported)
    assert spec_of(found).kafka.version == version
    assert ("is newer than theirs" in imported_spec(found, name="theirs").unknown[0]) == newer


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"inter.broker.listener.name": "IN", "listener.security.protocol.map": "IN:SASL_SSL"}, "which is SASL_SSL"),
        ({"controller.listener.names": "C", "listener.security.protocol.map": "C:SSL"}, "the quorum is spoken to"),
        ({"security.inter.broker.protocol": "SASL_SSL"}, "broker 1: .* at listener SASL_SSL, which is SASL_SSL"),
        ({"inter.broker.listener.name": "SSL", "listener.security.protocol.map": ""}, "which is SSL"),
    ],
)
def test_what_is_not_plaintext_is_not_taken_on(settings: dict[str, str], words: str) -> None:
    with pytest.raises(ImportRefused, match=words):
        imported_spec(a_cluster({1: settings, 2: settings}), name="theirs")


def test_a_plaintext_listener_of_another_name_is_watched_only() -> None:
    own = {"inter.broker.listener.name": "INTERNAL", "listener.security.protocol.map": "INTERNAL:PLAINTEXT"}
    found = a_cluster({1: own, 2: own})
    external = spec_of(found).external
    assert external is not None
    assert external.listener == "INTERNAL"
    assert any("no pool can be added" in line for line in imported_spec(found, name="theirs").unknown)


@pytest.mark.parametrize("cluster_id", ["my-cluster", "1", "prod eu:1", r"a\b", "x" * 255, "-dashed", "Prod_1.0"])
def test_case_08_a_cluster_is_taken_on_by_whatever_id_kafka_has_for_it(cluster_id: str) -> None:
    found = a_cluster()
    external = spec_of(replace(found, seen=replace(found.seen, cluster_id=cluster_id))).external
    assert external is not None
    assert external.cluster_id == cluster_id


@pytest.mark.parametrize("cluster_id", ["x" * 256, "clústér", "two\nlines", " blank"])
def test_case_08_what_no_spec_can_say_is_told_as_a_limit_of_kedge(cluster_id: str) -> None:
    found = a_cluster()
    with pytest.raises(
        ImportRefused, match="Kedge has no way to write down what the cluster has: `clusterId: "
    ) as told:
        imported_spec(replace(found, seen=replace(found.seen, cluster_id=cluster_id)), name="theirs")
    assert "a limit of Kedge, nothing is wrong with the cluster" in told.value.next_step
    assert "Write" not in str(told.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"inter.broker.listener.name": "internal", "listener.security.protocol.map": "INTERNAL:SSL"}, "which is SSL"),
        ({"inter.broker.listener.name": "INTERNAL", "listener.security.protocol.map": "internal:ssl"}, "which is SSL"),
        (
            {"controller.listener.names": "ctl", "listener.security.protocol.map": "CTL:SASL_SSL"},
            "the quorum is spoken",
        ),
        ({"security.inter.broker.protocol": "ssl"}, "at listener SSL, which is SSL"),
    ],
)
def test_case_08_listeners_are_told_apart_as_kafka_does_in_any_case(settings: dict[str, str], words: str) -> None:
    with pytest.raises(ImportRefused, match=words):
        imported_spec(a_cluster({1: settings, 2: settings}), name="theirs")


@pytest.mark.parametrize("listener", ["internal", "in-ternal", "In.Ternal_1", "9internal"])
def test_case_08_a_listener_of_any_name_kafka_takes_is_written_down(listener: str) -> None:
    other = {"inter.broker.listener.name": listener.upper(), "listener.security.protocol.map": f"{listener}:plaintext"}
    found = a_cluster({1: {**other, "inter.broker.listener.name": listener}, 2: other})
    external = spec_of(found).external
    assert external is not None
    assert external.listener == listener.upper()


def test_case_08_racks_and_settings_keep_letters_of_every_script() -> None:
    found = a_cluster(both(sasl_kerberos_service_name="naïve \U0001f680"))
    brokers = {i: replace(b, rack="Zürich \U0001f680 1") for i, b in found.seen.brokers.items()}
    spec = spec_of(replace(found, seen=replace(found.seen, brokers=brokers)))
    assert spec.external is not None
    assert {b.rack for b in spec.external.brokers} == {"Zürich \U0001f680 1"}


def test_nothing_a_cluster_tells_makes_a_line_of_its_own_in_the_spec() -> None:
    found = a_cluster()
    odd = replace(found.seen, features={**found.seen.features, "x\nmetadata: {}": FeatureSeen(1, 0, 1)})
    text = imported_spec(replace(found, seen=odd), name="theirs").text
    assert "x?metadata: {} 1" in text
    assert sum(line.startswith("metadata:") for line in text.splitlines()) == 1


def test_a_voter_whose_address_nobody_tells_is_no_guess() -> None:
    with pytest.raises(ImportRefused, match="no broker reports the address of controller 9"):
        imported_spec(replace(a_cluster(), controllers={}), name="theirs")


def test_kafka_that_this_release_does_not_know_is_not_taken_on() -> None:
    with pytest.raises(ImportRefused, match="31 is finalised there"):
        imported_spec(a_cluster(finalised=31, supported=31), name="theirs")


def test_a_cluster_that_speaks_tls_is_watched_by_properties_that_the_spec_names() -> None:
    found = a_cluster(both(inter_broker_listener_name="INTERNAL", listener_security_protocol_map="INTERNAL:SASL_SSL"))
    with pytest.raises(ImportRefused, match="INTERNAL, which is SASL_SSL, not plaintext") as refused:
        imported_spec(found, name="theirs")
    assert "--client-properties FILE" in refused.value.next_step
    imported = imported_spec(found, name="theirs", client_properties="theirs")
    loaded = load_documents(imported.text, file="theirs.yaml")
    assert loaded.ok, loaded.problems
    external = loaded.documents[0].spec.external
    assert external is not None
    assert (external.client_properties, external.listener) == ("theirs", "INTERNAL")
    assert loaded.documents[0].spec.pools == ()
    assert "[kafka.client_properties]" in str(imported.unknown)
    assert "add a pool" not in imported.text
    assert "quorum: dynamic" not in imported.text
