"""What policies say to a change: limits refuse, reserved changes wait, and nobody relabels their way out."""

from decimal import Decimal
from typing import Literal

import pytest
from hypothesis import given, settings, strategies as st

from controlplane.commands.policies.judge import (
    ClusterChange,
    TopicsChange,
    judge_cluster,
    judge_deletion,
    judge_rebalance,
    judge_topics,
)
from controlplane.commands.policies.model import Limits, Money, Policy, Reserved, Selector, TierLimits
from events.spec.model import KafkaClusterDocument
from events.spec.security import Authentication, Authorization, Listener, Security
from events.spec.topic_model import KafkaTopicDocument
from providers.price_list import PriceList
from tests.unit.events.spec_texts import document

PRICE_LIST = PriceList()
ORDERS = document()


def a_policy(
    selector: Selector | None = None, limits: Limits | None = None, reserved: Reserved | None = None
) -> Policy:
    return Policy.model_validate(
        {
            "apiVersion": "kedge/v1alpha1",
            "kind": "Policy",
            "metadata": {"name": "p"},
            "selector": selector or Selector(),
            "limits": limits or Limits(),
            "reserved": reserved or Reserved(),
        }
    )


def orders(owner: str = "", **labels: str) -> KafkaClusterDocument:
    return ORDERS.model_copy(update={"metadata": ORDERS.metadata.model_copy(update={"owner": owner, "labels": labels})})


def a_topic(name: str = "clicks", partitions: int = 3, **spec: object) -> KafkaTopicDocument:
    return KafkaTopicDocument.model_validate(
        {
            "kind": "KafkaTopic",
            "metadata": {"name": name},
            "spec": {"cluster": "orders", "partitions": partitions, **spec},
        }
    )


def refused(
    policy: Policy, before: KafkaClusterDocument | None, after: KafkaClusterDocument, rolling: int = 0
) -> list[str]:
    verdict = judge_cluster([policy], ClusterChange(before, after, rolling), PRICE_LIST)
    return [refusal.message for refusal in verdict.refusals]


def reserved(
    policy: Policy, before: KafkaClusterDocument | None, after: KafkaClusterDocument, rolling: int = 0
) -> list[str]:
    verdict = judge_cluster([policy], ClusterChange(before, after, rolling), PRICE_LIST)
    return [reason.what for reason in verdict.reasons]


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (Limits(clouds=("aws",)), "pool `controllers`: `local` is not allowed"),
        (Limits(regions=("eu-west-1",)), "pool `controllers`: `local-1` is not allowed"),
        (Limits(machines=("small",)), "pool `brokers`: `medium` is not allowed"),
        (Limits(max_brokers=2), "3 brokers, at most 2 may be"),
        (Limits(cluster_names="payments-.*"), "`orders` is not of the form `payments-.*`"),
    ],
)
def test_a_limit_that_is_passed_is_a_refusal(limits: Limits, said: str) -> None:
    assert said in refused(a_policy(limits=limits), None, ORDERS)


def test_a_limit_that_is_kept_says_nothing() -> None:
    limits = Limits(clouds=("local",), regions=("local-1",), machines=("small", "medium"), max_brokers=3)
    assert refused(a_policy(limits=limits), None, ORDERS) == []


def test_a_machine_that_may_only_be_an_alternative_is_judged_too() -> None:
    pools = tuple(p.model_copy(update={"alternatives": ("large",)}) for p in ORDERS.spec.pools)
    wished = ORDERS.model_copy(update={"spec": ORDERS.spec.model_copy(update={"pools": pools})})
    assert "pool `brokers`: `large` is not allowed" in refused(
        a_policy(limits=Limits(machines=("small", "medium"))), None, wished
    )


def test_who_may_roll_how_much_by_one_change() -> None:
    policy = a_policy(limits=Limits(max_rolling=3), reserved=Reserved(rolling=1))
    changed = orders("search")
    assert reserved(policy, ORDERS, changed, 1) == []
    assert reserved(policy, ORDERS, changed, 2) == ["2 clusters roll by this one change"]
    assert refused(policy, ORDERS, changed, 4) == ["this change rolls 4 clusters, at most 3 may be"]


def test_what_is_reserved_waits_for_somebody_else() -> None:
    policy = a_policy(reserved=Reserved(chaos=True, allow_unavailable=True, owner_change=True))
    spec = ORDERS.spec
    rollout = spec.rollout.model_copy(update={"allow_unavailable": ("logs",)})
    changed = orders("search").model_copy(
        update={"spec": spec.model_copy(update={"chaos": "allowed", "rollout": rollout})}
    )
    assert reserved(policy, ORDERS, changed) == [
        "logs may fall below min ISR while rolling",
        "chaos is allowed",
        "the owner changes from nobody to search",
    ]
    assert reserved(policy, changed, changed.model_copy(update={"spec": ORDERS.spec})) == []


def test_who_may_do_everything_by_the_spec_of_the_cluster_waits_as_an_administrator_does() -> None:
    """Else whoever declares a cluster would go round it: its super users are asked for no rule."""
    policy = a_policy(reserved=Reserved(administrators=True))
    scram = Listener(name="SCRAM", port=9095, security="tls", authentication=Authentication(type="scram-sha-512"))
    tls = Listener(name="TLS", port=9094, security="tls")

    def secured(anonymous: Literal["full", "refuse"], *names: str) -> KafkaClusterDocument:
        authorization = Authorization(super_users=names, anonymous=anonymous)
        update = {"security": Security(internal="tls"), "listeners": (scram, tls), "authorization": authorization}
        return ORDERS.model_copy(update={"spec": ORDERS.spec.model_copy(update=update)})

    asking = secured("refuse", "root")
    assert reserved(policy, None, asking) == ["root may do everything in orders"]
    assert reserved(policy, asking, secured("refuse")) == []
    assert reserved(policy, asking, secured("refuse", "root", "alice")) == ["alice may do everything in orders"]
    assert reserved(policy, asking, secured("full", "root")) == ["whoever is not asked may do everything in orders"]
    assert reserved(policy, ORDERS, secured("full")) == [], "everybody may do so already"
    assert reserved(a_policy(), asking, secured("full", "alice")) == []


def test_another_account_waits_for_somebody_else() -> None:
    brokers = ORDERS.spec.pools[1]
    place = brokers.place.model_copy(update={"account": "production"})
    pools = (*ORDERS.spec.pools, brokers.model_copy(update={"name": "more", "place": place}))
    grown = ORDERS.model_copy(update={"spec": ORDERS.spec.model_copy(update={"pools": pools})})
    assert reserved(a_policy(reserved=Reserved(account_change=True)), ORDERS, grown) == [
        "VMs come to be in local/production"
    ]


def test_a_tombstone_waits_and_one_of_nobodys_cluster_too() -> None:
    policy = a_policy(Selector(teams=("payments",)), reserved=Reserved(tombstone=True))
    assert judge_deletion([policy], orders("payments")).word == "reserved"
    assert judge_deletion([policy], orders("payments"), "clicks").reasons[0].what == "the topic clicks is deleted"
    assert judge_deletion([policy], orders("search")).word == "allowed"
    assert judge_deletion([policy], None).word == "reserved"


def test_a_rebalance_waits_where_a_policy_of_its_cluster_says_so() -> None:
    policy = a_policy(Selector(teams=("payments",)), reserved=Reserved(rebalance=True))
    assert judge_rebalance([policy], orders("payments")).reasons[0].what == "replicas are spread anew"
    assert judge_rebalance([policy], orders("search")).word == "allowed"
    assert judge_rebalance([a_policy(reserved=Reserved(tombstone=True))], orders("payments")).word == "allowed"


def test_a_policy_of_tiers_speaks_of_topics_alone() -> None:
    policy = a_policy(Selector(tiers=("critical",)), Limits(max_topic_partitions=6, max_brokers=1))
    assert refused(policy, None, ORDERS) == []
    topics = [a_topic("a", 12), a_topic("b", 12, tier="critical")]
    verdict = judge_topics([policy], TopicsChange(ORDERS, topics, 0))
    assert [refusal.subject for refusal in verdict.refusals] == ["b"]


def test_topics_have_the_copies_their_tier_asks_for() -> None:
    limits = Limits(tiers={"scratch": TierLimits(min_replicas=2, min_isr=2)}, topic_names="payments[.].*")
    verdict = judge_topics([a_policy(limits=limits)], TopicsChange(ORDERS, [a_topic(tier="scratch")], 0))
    assert [refusal.message for refusal in verdict.refusals] == [
        "`clicks` is not of the form `payments[.].*`",
        "1 replica; a topic of tier scratch has at least 2",
        "min ISR 1; a topic of tier scratch has at least 2",
    ]


def test_partitions_of_the_whole_cluster_are_counted_and_unknown_asks() -> None:
    policy = a_policy(limits=Limits(max_partitions=10))
    topics = [a_topic(partitions=4)]
    assert judge_topics([policy], TopicsChange(ORDERS, topics, 6)).word == "allowed"
    assert judge_topics([policy], TopicsChange(ORDERS, topics, 7)).word == "refused"
    assert judge_topics([policy], TopicsChange(ORDERS, topics, None)).word == "reserved"


# --- cost -----------------------------------------------------------------------------------------------------------


def in_cloud(cloud: str = "aws") -> KafkaClusterDocument:
    pools = tuple(
        p.model_copy(update={"place": p.place.model_copy(update={"cloud": cloud, "region": "eu-west-1"})})
        for p in ORDERS.spec.pools
    )
    return ORDERS.model_copy(update={"spec": ORDERS.spec.model_copy(update={"pools": pools})})


def test_a_price_nobody_knows_asks_a_person() -> None:
    policy = a_policy(limits=Limits(monthly_cost=Money(amount=Decimal(10), currency="XTS")))
    verdict = judge_cluster([policy], ClusterChange(None, in_cloud()), PRICE_LIST)
    assert verdict.word == "reserved"
    assert "is unknown" in verdict.reasons[0].what


def test_a_machine_of_ones_own_costs_nothing() -> None:
    policy = a_policy(limits=Limits(monthly_cost=Money(amount=Decimal(0), currency="EUR")))
    assert judge_cluster([policy], ClusterChange(None, ORDERS), PRICE_LIST).word == "allowed"


def test_a_place_without_a_price_list_is_unknown_and_not_free() -> None:
    policy = a_policy(reserved=Reserved(monthly_cost=Money(amount=Decimal(10), currency="EUR")))
    verdict = judge_cluster([policy], ClusterChange(None, in_cloud("moon")), PRICE_LIST)
    assert verdict.word == "reserved"


def test_a_change_that_asks_for_no_more_is_not_held_to_prices() -> None:
    policy = a_policy(limits=Limits(monthly_cost=Money(amount=Decimal(10), currency="XTS")))
    before = in_cloud()
    after = before.model_copy(update={"metadata": before.metadata.model_copy(update={"owner": "search"})})
    assert judge_cluster([policy], ClusterChange(before, after), PRICE_LIST).word == "allowed"


# --- what holds for all ---------------------------------------------------------------------------------------------

TEAMS = st.sampled_from(["", "payments", "search"])
LABELS = st.dictionaries(st.sampled_from(["env", "tier"]), st.sampled_from(["a", "b"]), max_size=2)
DOCUMENTS = st.builds(lambda owner, labels: orders(owner, **labels), TEAMS, LABELS)
SELECTORS = st.builds(
    lambda teams, labels: Selector(teams=tuple(teams), labels=labels), st.lists(TEAMS, max_size=2), LABELS
)
LIMITS = st.builds(lambda brokers: Limits(max_brokers=brokers), st.one_of(st.none(), st.integers(0, 5)))
POLICIES = st.lists(
    st.builds(lambda s, limits, own: a_policy(s, limits, Reserved(owner_change=own)), SELECTORS, LIMITS, st.booleans()),
    max_size=3,
)
STRENGTH = {"allowed": 0, "reserved": 1, "refused": 2}


@given(policies=POLICIES, more=POLICIES, before=st.one_of(st.none(), DOCUMENTS), after=DOCUMENTS)
@settings(max_examples=100, deadline=None)
def test_one_policy_more_never_allows_more(
    policies: list[Policy], more: list[Policy], before: KafkaClusterDocument | None, after: KafkaClusterDocument
) -> None:
    change = ClusterChange(before, after)
    fewer, all_of_them = (
        judge_cluster(policies, change, PRICE_LIST),
        judge_cluster([*policies, *more], change, PRICE_LIST),
    )
    assert STRENGTH[fewer.word] <= STRENGTH[all_of_them.word]


@given(selector=SELECTORS, before=DOCUMENTS, after=DOCUMENTS)
@settings(max_examples=100, deadline=None)
def test_nobody_leaves_the_reach_of_a_policy_by_the_very_change_it_forbids(
    selector: Selector, before: KafkaClusterDocument, after: KafkaClusterDocument
) -> None:
    policy = a_policy(selector, Limits(max_brokers=0))
    if judge_cluster([policy], ClusterChange(None, before), PRICE_LIST).word == "refused" and before != after:
        assert judge_cluster([policy], ClusterChange(before, after), PRICE_LIST).word == "refused"
