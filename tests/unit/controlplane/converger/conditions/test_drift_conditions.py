"""`CloudDrift` says what was changed by hand; without a good audit nothing is said."""

from controlplane.cluster.observed.cloud_drift import AuditNoted, network_label
from controlplane.cluster.places import places_of
from controlplane.cluster.view import ConditionView
from controlplane.converger.conditions.changes import condition_changes
from controlplane.converger.conditions.drift import NETWORK_DRIFT, drift_condition, network_drift_condition
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.situation import Situation
from providers.audits import Drift
from tests.builders import BEFORE, NOW, a_situation, a_view

SIZE = Drift("hcloud_volume.volume", "volume/b-0.data.v1", "size", "10", "50")
GONE = Drift("hcloud_firewall.all", "hcloud_firewall.all", "", "there", "gone")
VIEW = a_view()
HERE = str(places_of(VIEW)[0])


def audited(*drifts: Drift, error: str = "", place: str = HERE) -> Situation:
    noted = AuditNoted(NOW, None if error else NOW, 7, drifts, error)
    return a_situation(VIEW, drift={place: noted})


def test_it_names_the_thing_what_was_recorded_what_is_there_and_what_to_do() -> None:
    told = drift_condition(audited(SIZE))
    assert told is not None
    assert (told.status, told.reason) == (True, "ChangedByHand")
    for words in ("volume/b-0.data.v1", "size was recorded as 10, there is 50", "Kedge leaves it", "kedge replace"):
        assert words in told.message
    assert told.message.endswith("Next: kedge drift orders")


def test_what_is_gone_has_a_reason_of_its_own() -> None:
    told = drift_condition(audited(SIZE, GONE))
    assert told is not None
    assert told.reason == "Gone"
    assert "hcloud_firewall.all is gone" in told.message


def test_a_clean_audit_ends_it_and_one_that_told_nothing_does_not() -> None:
    clean, nothing = drift_condition(audited()), drift_condition(audited(error="no answer"))
    assert clean is not None
    assert not clean.status
    assert nothing is None
    assert drift_condition(a_situation(VIEW)) is None


def test_a_place_the_cluster_has_left_says_nothing() -> None:
    assert drift_condition(audited(SIZE, place="aws/old/eu-west-1")) is None


def changes(situation: Situation) -> list[str]:
    return [c.type for c in condition_changes(situation, Decision("at rest")) if c.type == "CloudDrift"]


def test_only_changes_are_recorded_other_things_among_them() -> None:
    assert changes(audited()) == [], "a first clean audit is not an event"
    first = audited(SIZE)
    assert changes(first) == ["CloudDrift"]
    told = drift_condition(first)
    assert told is not None
    known = ConditionView(True, told.reason, told.message, BEFORE)
    view = a_view(conditions={**VIEW.conditions, "CloudDrift": known})
    again = {HERE: AuditNoted(NOW, NOW, 7, (SIZE,))}
    other = {HERE: AuditNoted(NOW, NOW, 7, (SIZE, GONE))}
    assert changes(a_situation(view, drift=again)) == []
    assert changes(a_situation(view, drift=other)) == ["CloudDrift"]


RULE = Drift("module.kedge.aws_vpc.network", "module.kedge.aws_vpc.network", "tags.Name", '"kedge"', '"mine"')
NETWORK = network_label(places_of(VIEW)[0])


def of_network(*drifts: Drift, error: str = "") -> Situation:
    clean = AuditNoted(NOW, NOW, 7)
    return a_situation(VIEW, drift={HERE: clean, NETWORK: AuditNoted(NOW, None if error else NOW, 5, drifts, error)})


def test_what_was_changed_of_its_network_is_told_apart_and_names_the_network() -> None:
    situation = of_network(RULE)
    told, own = network_drift_condition(situation), drift_condition(situation)
    assert told is not None
    assert (told.type, told.status, told.reason) == (NETWORK_DRIFT, True, "ChangedByHand")
    for words in ("network default in", 'tags.Name was recorded as "kedge", there is "mine"', "kedge networks repair"):
        assert words in told.message
    assert own is not None
    assert not own.status, "it is none of the cluster's own things"


def test_a_clean_audit_of_the_network_ends_it_and_one_that_told_nothing_does_not() -> None:
    clean = network_drift_condition(of_network())
    assert clean is not None
    assert not clean.status
    assert network_drift_condition(of_network(error="no answer")) is None
    assert network_drift_condition(a_situation(VIEW)) is None, "nothing is known yet"


def test_a_cluster_that_is_in_no_network_of_kedges_any_more_is_free_of_it() -> None:
    told = network_drift_condition(audited())
    assert told is not None
    assert not told.status
