"""`OwnCaFiles`: files of a CA of the user's own are looked at before something has to be signed with them."""

from dataclasses import replace
from datetime import timedelta

import pytest

from controlplane.cluster.condition_severity import Severity, is_note, severity_of
from controlplane.cluster.view import ClusterView, ConditionView
from controlplane.cluster.views.certificates import AuthorityPhase, AuthorityReplacementView
from controlplane.converger.conditions.own_authorities import LOOK_EVERY, OwnAuthorityWatch, own_ca_files
from controlplane.storage.certificates.own_authority_look import OwnAuthoritySeen
from events import facts
from tests.builders import BEFORE, NOW, a_situation, a_tls_document, a_view, with_own

LIFE = {"since": NOW - timedelta(days=100), "until": NOW + timedelta(days=900)}
FINE = OwnAuthoritySeen("corporate", **LIFE)
CHANGE = AuthorityReplacementView("ca-1", "cluster", AuthorityPhase.TRUST_BOTH, NOW, "asked by anna")


def a_cluster(*, signs: str = "corporate", spec: str = "corporate", **vms: object) -> ClusterView:
    made = facts.AuthoritiesMade("PEM", "PEM2", signs)
    return a_view(document=with_own(a_tls_document(), cluster=spec), authorities=made, **vms)


def _told(one: OwnAuthoritySeen, view: ClusterView | None = None) -> facts.ConditionChanged:
    found = own_ca_files(a_situation(view or a_cluster(), own_authorities={"cluster": one}))
    assert found is not None
    return found


def test_files_as_they_should_be_are_nobodys_business() -> None:
    assert _told(FINE) == facts.ConditionChanged("OwnCaFiles", False, "Usable", "")


def test_a_cluster_whose_cas_are_kedges_is_told_nothing_and_one_that_goes_back_to_them_that_it_is_over() -> None:
    assert own_ca_files(a_situation(a_view())) is None
    before = a_view(conditions={"OwnCaFiles": ConditionView(True, "Ending", "shown before", BEFORE)})
    assert own_ca_files(a_situation(before)) == facts.ConditionChanged("OwnCaFiles", False, "Free", "")


PROBLEM = "CA `corporate`: /etc/kedge/ca/ca-key.pem is not there: put it there"
CASES = {
    "away": (
        replace(FINE, signs=False, problem=PROBLEM),
        "CannotSign",
        ("ca-key.pem is not there", "What runs goes on", "Next: put its files back"),
    ),
    "another key": (replace(FINE, signs=False, is_other=True), "CannotSign", ("another key than that of the CA",)),
    "successor unusable": (replace(FINE, problem=PROBLEM), "FilesUnusable", ("still signs", "ca-key.pem is not")),
    "renewed": (
        replace(FINE, is_other=True, next_until=NOW + timedelta(days=2000)),
        "Renewed",
        ("has a later one, until 20", "Next: kedge replace-ca orders"),
    ),
    "ending": (
        OwnAuthoritySeen("corporate", since=NOW - timedelta(days=700), until=NOW + timedelta(days=180)),
        "Ending",
        ("all it signs with it", "Next: put a renewed one beside it", "then kedge replace-ca orders"),
    ),
    "short and ending": (
        OwnAuthoritySeen("corporate", since=NOW - timedelta(days=60), until=NOW + timedelta(days=30)),
        "Ending",
        (),
    ),
    "over": (
        OwnAuthoritySeen("corporate", since=NOW - timedelta(days=60), until=NOW, problem=PROBLEM),
        "Over",
        ("what it signed is refused", "put a renewed one beside it"),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_a_person_has_to_do_with_the_files_is_told_with_reason_and_next_step(case: str) -> None:
    one, reason, words = CASES[case]
    told = _told(one)
    assert (told.status, told.reason) == (True, reason)
    for word in words:
        assert word in told.message
    assert "the cluster CA `corporate`" in told.message


@pytest.mark.parametrize("days", [181, 400])
def test_one_that_has_time_is_not_told(days: int) -> None:
    assert not _told(replace(FINE, since=NOW - timedelta(days=700), until=NOW + timedelta(days=days))).status


def test_a_short_one_is_not_named_all_its_life() -> None:
    young = OwnAuthoritySeen("corporate", since=NOW - timedelta(days=30), until=NOW + timedelta(days=60, seconds=1))
    assert not _told(young).status


def test_while_it_is_replaced_the_replacement_speaks_for_it() -> None:
    view = a_cluster(authority_change=CHANGE)
    assert not _told(replace(FINE, is_other=True), view).status
    assert _told(replace(FINE, signs=False), view).reason == "CannotSign"


def test_a_name_in_the_spec_that_nodes_do_not_believe_yet_is_told_with_what_brings_it() -> None:
    told = _told(OwnAuthoritySeen("corporate", is_other=True), a_cluster(signs=""))
    assert told.reason == "NotInUse"
    assert told.message.endswith("nodes believe another one so far. Next: kedge replace-ca orders")


def test_the_gravest_of_both_kinds_is_the_reason_and_both_are_in_the_words() -> None:
    both = {"cluster": replace(FINE, is_other=True), "clients": replace(FINE, name="people", signs=False)}
    view = replace_own(a_cluster())
    found = own_ca_files(a_situation(view, own_authorities=both))
    assert found is not None
    assert found.reason == "CannotSign"
    assert "the clients CA `people`" in found.message
    assert "kedge replace-ca orders" in found.message


def replace_own(view: ClusterView) -> ClusterView:
    made = facts.AuthoritiesMade("PEM", "PEM2", "corporate", "people")
    return replace(view, vms=replace(view.vms, authorities=made))


def test_one_that_is_over_is_a_matter_of_now_and_one_that_only_waits_is_a_note() -> None:
    assert severity_of("OwnCaFiles", "Over") is Severity.CRITICAL
    assert severity_of("OwnCaFiles", "CannotSign") is Severity.WARNING
    assert is_note("OwnCaFiles", "Renewed")
    assert not is_note("OwnCaFiles", "Ending")


# --- how often the files are read ---------------------------------------------------------------------------------


def test_files_are_read_once_a_minute_and_never_where_no_ca_is_the_users() -> None:
    asked: list[tuple[str, str, bool]] = []

    def look_at(name: str, signer: str, is_own: bool) -> OwnAuthoritySeen:
        asked.append((name, signer, is_own))
        return replace(FINE, name=name)

    watch = OwnAuthorityWatch(look_at)
    assert not watch.look(a_view(), NOW)
    assert not watch.look(a_view(document=with_own(a_tls_document(), cluster="corporate")), NOW)
    for seconds in (0, 30, 59):
        assert watch.look(a_cluster(), NOW + timedelta(seconds=seconds)).keys() == {"cluster"}
    assert asked == [("corporate", "PEM", True)]
    watch.look(a_cluster(signs=""), NOW + LOOK_EVERY)
    assert asked[1:] == [("corporate", "PEM", False)]


def test_once_the_new_one_signs_it_is_that_one_that_is_looked_at() -> None:
    asked: list[tuple[str, str, bool]] = []

    def look_at(name: str, signer: str, is_own: bool) -> OwnAuthoritySeen:
        asked.append((name, signer, is_own))
        return FINE

    new = replace(CHANGE, phase=AuthorityPhase.REISSUE, certificate="NEW", own="corporate")
    OwnAuthorityWatch(look_at).look(a_cluster(signs="", authority_change=new), NOW)
    assert asked == [("corporate", "NEW", True)]
