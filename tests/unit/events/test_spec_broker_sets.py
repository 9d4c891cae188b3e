"""Broker sets of a spec: who is in one, and whether what stays there has the brokers and zones it needs."""

from events.spec.broker_set_rules import broker_sets_of
from tests.unit.events.spec_texts import load, told

POOLS = {
    19: "      size: 3",
    20: "      machine: medium",
    22: (
        "      place: {cloud: local, region: local-1, zones: [a, b, c]}\n"
        "    - name: fast\n"
        "      services: [broker]\n"
        "      size: SIZE\n"
        "      machine: medium\n"
        "      disk: {kind: persistent, sizeGib: 100}\n"
        "      place: {cloud: local, region: local-1, zones: ZONES}\n"
        "  balance:\n"
        "    brokerSets:\n"
        "SETS"
    ),
}
ORDERS = '      - {name: fast, pools: [fast], topics: [orders, "pay*"]}'


def codes(sets: str = ORDERS, *, size: int = 3, zones: str = "[a, b, c]") -> list[tuple[str, str]]:
    text = POOLS[22].replace("SIZE", str(size)).replace("ZONES", zones).replace("SETS", sets)
    return [(code, message) for _, code, message, _ in told(load({**POOLS, 22: text}))]


def test_a_set_of_a_pool_and_topics_is_accepted_and_becomes_what_plans_take() -> None:
    text = POOLS[22].replace("SIZE", "3").replace("ZONES", "[a, b, c]").replace("SETS", ORDERS)
    result = load({**POOLS, 22: text})
    assert result.ok, result.problems
    sets = broker_sets_of(result.documents[0].spec.balance, {1000: "brokers", 1001: "fast"})
    assert dict(sets.of_broker) == {1001: "fast"}
    assert (sets.of_topic("orders"), sets.of_topic("payments"), sets.of_topic("audit")) == ("fast", "fast", "")


def test_a_set_of_a_pool_that_is_not_there_or_has_no_brokers_is_refused() -> None:
    found = codes("      - {name: fast, pools: [fest, controllers], topics: [orders]}")
    assert [code for code, _ in found] == ["KEDGE-SPEC-150", "KEDGE-SPEC-150"]
    assert found[0][1] == "broker set `fast` names pool `fest`, and no pool of that name has brokers"


def test_a_pool_a_topic_and_a_name_are_in_one_set_alone() -> None:
    one = "      - {name: fast, pools: [fast], topics: [orders]}"
    twice = f"{one}\n{one}"
    assert [message for _, message in codes(twice)] == [
        "set `fast` is named by two broker sets",
        "pool `fast` is named by two broker sets",
        "topic `orders` is named by two broker sets",
    ]


def test_topics_that_no_set_names_need_brokers() -> None:
    everyone = "      - {name: all, pools: [fast, brokers], topics: [orders]}"
    assert [code for code, _ in codes(everyone)] == ["KEDGE-SPEC-151"]
    assert not codes('      - {name: all, pools: [fast, brokers], topics: ["*"]}')


def test_a_set_of_fewer_brokers_than_replicas_is_refused() -> None:
    (found,) = codes(size=2, zones="[a, b]")
    assert found == (
        "KEDGE-SPEC-152",
        "broker set `fast` has 2 brokers, and topics there get 3 replicas (`default.replication.factor`)",
    )


def test_kafkas_own_topics_count_where_they_are() -> None:
    offsets = '      - {name: fast, pools: [fast], topics: ["__*"]}'
    (found,) = codes(offsets, size=2, zones="[a, b]")
    assert found[0] == "KEDGE-SPEC-152"


def test_a_set_in_fewer_zones_than_replicas_is_told() -> None:
    (found,) = codes(size=4, zones="[a, b]")
    assert found == ("KEDGE-SPEC-153", "broker set `fast` stands in 2 zones, and topics there get 3 replicas")


def test_patterns_end_in_one_star() -> None:
    assert codes('      - {name: fast, pools: [fast], topics: ["or*ders"]}')
    assert codes('      - {name: fast, pools: [fast], topics: ["orders**"]}')
