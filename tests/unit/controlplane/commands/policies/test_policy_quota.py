"""Quotas of teams: what the clusters of one owner have together. Growth alone is held to them."""

import json
from decimal import Decimal
from typing import Any

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from controlplane.cluster.view import empty_view
from controlplane.commands.policies.decision import PolicyDecision
from controlplane.commands.policies.files import PoliciesUnreadable, parse, try_out
from controlplane.commands.policies.gate import PolicyGate
from controlplane.commands.policies.judge import ClusterChange, TopicsChange, judge_cluster
from controlplane.commands.policies.model import Limits, Money, Policy, Quota, Selector
from controlplane.commands.policies.quota import OtherCluster, judge_cluster_quotas, judge_topic_quotas
from controlplane.commands.policies.store import PolicySet
from events.spec.model import KafkaClusterDocument
from providers.price_list import PriceList
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.api.test_proposals import Shelved
from tests.unit.controlplane.commands.policies.test_policy_judge import a_policy, a_topic, orders
from tests.unit.events.spec_texts import ORDERS

PRICE_LIST = PriceList()
TEAM = ORDERS.replace("name: orders", "name: orders\n  owner: payments")


def with_quota(selector: Selector | None = None, **quota: Any) -> Policy:
    return a_policy(selector).model_copy(update={"quota": Quota(**quota)})


def cluster(owner: str = "payments", brokers: int = 3, **labels: str) -> KafkaClusterDocument:
    document = orders(owner, **labels)
    pools = tuple(pool.model_copy(update={"size": brokers}) if pool.is_broker else pool for pool in document.spec.pools)
    return document.model_copy(update={"spec": document.spec.model_copy(update={"pools": pools})})


def judged(
    policy: Policy, before: KafkaClusterDocument | None, after: KafkaClusterDocument, *others: KafkaClusterDocument
) -> PolicyDecision:
    return judge_cluster_quotas([policy], ClusterChange(before, after), [OtherCluster(o) for o in others], PRICE_LIST)


def test_brokers_of_a_team_are_counted_over_all_its_clusters() -> None:
    policy = with_quota(max_brokers=9)
    assert judged(policy, None, cluster(), cluster(), cluster()).word == "allowed"
    (refusal,) = judged(policy, None, cluster(brokers=4), cluster(), cluster()).refusals
    assert refusal.message == "team payments would have 10 brokers in all its clusters, at most 9 may be"
    assert refusal.path[-1] == "size"


def test_clusters_of_other_teams_and_those_the_policy_does_not_speak_of_do_not_count() -> None:
    policy = with_quota(Selector(labels={"env": "prod"}), max_brokers=3)
    mine = cluster(env="prod")
    assert judged(policy, None, mine, cluster("search", env="prod"), cluster(env="test")).word == "allowed"
    assert judged(policy, None, cluster(env="test"), mine).word == "allowed", "the policy does not speak of it"
    assert judged(policy, None, mine, cluster(env="prod")).word == "refused"


def test_who_is_above_may_still_change_what_asks_for_no_more() -> None:
    policy = with_quota(max_brokers=5)
    for brokers, word in ((6, "allowed"), (3, "allowed"), (9, "refused")):
        assert judged(policy, cluster(brokers=6), cluster(brokers=brokers), cluster()).word == word


def test_a_cluster_that_changes_hands_or_comes_into_reach_counts_whole() -> None:
    policy = with_quota(Selector(labels={"env": "prod"}), max_brokers=5)
    mine = cluster(env="prod")
    assert judged(policy, cluster("search", env="prod"), mine, mine).word == "refused"
    assert judged(policy, cluster(env="test"), mine, mine).word == "refused"
    assert judged(policy, mine, cluster(env="test"), mine).word == "allowed", "it goes out of reach"


def test_what_nobody_owns_is_counted_together() -> None:
    (refusal,) = judged(with_quota(max_brokers=3), None, cluster(""), cluster("")).refusals
    assert refusal.message.startswith("what has no owner would have 6 brokers")


def topics(now: int | None, wanted: int, *others: int | None, beside: int | None = 0) -> PolicyDecision:
    change = TopicsChange(cluster(), [a_topic(partitions=wanted)], beside, partitions_now=now)
    return judge_topic_quotas([with_quota(max_partitions=100)], change, [OtherCluster(cluster(), n) for n in others])


def test_partitions_are_those_of_every_cluster_of_the_team() -> None:
    assert topics(0, 40, 50, beside=10).word == "allowed"
    (refusal,) = topics(0, 41, 50, beside=10).refusals
    assert refusal.message == "team payments would have 101 partitions in all its clusters, at most 100 may be"
    assert refusal.subject == "clicks"
    assert topics(41, 41, 50, beside=10).word == "allowed", "no more than there are"


def test_where_a_cluster_of_the_team_was_not_read_a_person_is_asked_unless_it_is_too_much_anyhow() -> None:
    assert topics(0, 10, None).word == "reserved"
    assert topics(None, 10, 5, beside=None).word == "reserved"
    assert topics(0, 101, None).word == "refused"


def test_costs_are_added_up_and_an_unknown_price_asks_a_person() -> None:
    policy = with_quota(monthly_cost=Money(amount=Decimal(10), currency="USD"))
    local = cluster()
    assert judged(policy, None, local, local).word == "allowed", "processes of this machine cost nothing"
    place = local.spec.pools[0].place.model_copy(update={"cloud": "aws", "region": "eu-west-1"})
    pools = tuple(pool.model_copy(update={"place": place}) for pool in local.spec.pools)
    away = local.model_copy(update={"spec": local.spec.model_copy(update={"pools": pools})})
    verdict = judged(policy, None, local, away)
    assert verdict.word == "reserved"
    assert verdict.reasons[0].what.startswith("whether team payments passes its quota: the price of ")
    assert judged(policy, away, away, away).word == "allowed", "nothing more is asked for"


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 12),
    st.integers(0, 9),
    st.integers(1, 9),
    st.lists(st.tuples(st.sampled_from(["payments", "search"]), st.integers(1, 9)), max_size=4),
)
def test_a_quota_holds_growth_to_the_sum_and_nothing_else(
    most: int, was: int, wanted: int, others: list[tuple[str, int]]
) -> None:
    before = cluster(brokers=was) if was else None
    verdict = judged(with_quota(max_brokers=most), before, cluster(brokers=wanted), *(cluster(*o) for o in others))
    total = wanted + sum(n for owner, n in others if owner == "payments")
    assert (verdict.word == "refused") == (wanted > was and total > most)


def test_an_account_that_is_not_on_the_list_is_refused() -> None:
    policy = a_policy(limits=Limits(accounts=("local/default",)))
    assert judge_cluster([policy], ClusterChange(None, cluster()), PRICE_LIST).word == "allowed"
    other = a_policy(limits=Limits(accounts=("aws/payments",)))
    refusal = judge_cluster([other], ClusterChange(None, cluster()), PRICE_LIST).refusals[0]
    assert "`local/default` is not allowed" in refusal.message
    assert refusal.path[-2:] == ("place", "account")


POLICY = {
    "apiVersion": "kedge/v1alpha1",
    "kind": "Policy",
    "metadata": {"name": "p"},
    "quota": {"maxBrokers": 5, "maxPartitions": 20},
}


def tried(**test: Any) -> str:
    text = json.dumps({**POLICY, "tests": [{"name": "t", **test}]})  # JSON is YAML without anchors
    (trial,) = try_out(parse({"p.yaml": text}), PRICE_LIST)
    return trial.fault


def test_a_policy_tests_its_own_quota_on_what_is_in_force_beside() -> None:
    mine, other = yaml.safe_load(TEAM), yaml.safe_load(TEAM.replace("name: orders", "name: ledger"))
    topic = {"apiVersion": "kedge/v1alpha1", "kind": "KafkaTopic", "metadata": {"name": "clicks"}}
    clicks = {**topic, "spec": {"cluster": "orders", "partitions": 12}}
    theirs = {**topic, "metadata": {"name": "views"}, "spec": {"cluster": "ledger", "partitions": 9}}
    assert tried(spec=mine, expect="allowed") == ""
    assert tried(spec=mine, inForce=other, expect="refused", says="6 brokers in all its clusters") == ""
    assert tried(spec=[mine, other], expect="refused") == ""
    again = {"inForce": [mine, other, theirs], "spec": [mine, clicks]}
    assert tried(**again, expect="refused", says="21 partitions") == ""
    kept = {"inForce": [mine, other, theirs, clicks], "spec": [mine, clicks]}
    assert tried(**kept, expect="allowed") == "", "it is there already"


def test_a_quota_of_topics_of_a_tier_makes_no_sense() -> None:
    text = yaml.safe_dump({**POLICY, "selector": {"tiers": ["critical"]}})
    with pytest.raises(PoliciesUnreadable, match="a quota is of clusters"):
        parse({"p.yaml": text})


class OnePolicy:
    """The policies of an installation."""

    def __init__(self, **quota: Any) -> None:
        self.policy = with_quota(**quota)

    def current(self) -> Any:
        from controlplane.commands.policies.store import PolicySet

        return PolicySet((self.policy,))

    def prices(self) -> PriceList:
        return PRICE_LIST


def applied(house: House, text: str) -> tuple[bool, str]:
    answer = house.client.post("/v1/apply", json={"text": text, "file": "f.yaml"}).json()
    return answer["ok"], " ".join(p["message"] for p in answer["problems"])


def test_a_file_is_refused_whole_where_its_clusters_together_pass_the_quota() -> None:
    house = House(policies=OnePolicy(max_brokers=5))
    ledger = TEAM.replace("name: orders", "name: ledger")
    ok, why = applied(house, f"{TEAM}---\n{ledger}")
    assert (ok, "6 brokers in all its clusters" in why) == (False, True)
    assert house.store.head() == 0
    assert applied(house, TEAM)[0]
    ok, why = applied(house, ledger)
    assert (ok, "6 brokers in all its clusters" in why) == (False, True)
    assert applied(house, ledger.replace("owner: payments", "owner: search"))[0]


def test_a_sum_does_not_tell_that_a_name_is_taken_by_a_cluster_one_may_not_see() -> None:
    """Who may not see `orders` is judged as by a free name: it has to count like any other of its team."""
    house = House()
    house.apply(TEAM)
    shelved = Shelved()
    shelved.known = PolicySet((with_quota(max_brokers=5),))
    gate = PolicyGate(shelved, house.converger)
    asked = orders("payments")
    assert gate.cluster(house.view(), asked, 0).word == "allowed", "it is the one that changes"
    renamed = asked.model_copy(update={"metadata": asked.metadata.model_copy(update={"name": "nothing"})})
    hidden, free = (gate.cluster(empty_view(""), document, 0) for document in (asked, renamed))
    assert hidden.word == free.word == "refused"
    assert [r.message for r in hidden.refusals] == [r.message for r in free.refusals]
