"""Agent credentials: whoever enrols first for a VM is its agent, nobody after."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine

from controlplane.storage.agent_credentials import (
    Credential,
    CredentialRefused,
    CredentialStore,
    SqlCredentialStore,
    Vm,
)
from controlplane.storage.known_credentials import KnownCredentials
from events.ids import ClusterUid, IntentId, NodeName
from tests.fakes.agent_credentials import MemoryCredentialStore
from tests.present import present

C1 = ClusterUid("c1")

I1 = IntentId("i1")

VM = Vm(C1, NodeName("broker-0"), 3)


class Ticking:
    """A clock that tests move."""

    start = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)

    def __init__(self) -> None:
        self._now = self.start

    def __call__(self) -> datetime:
        return self._now

    def pass_time(self, **by: float) -> None:
        self._now += timedelta(**by)


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture(params=["bare", "in memory"])
def credentials(request: pytest.FixtureRequest, engine_or_memory: Engine | None, clock: Ticking) -> CredentialStore:
    store = MemoryCredentialStore(clock) if engine_or_memory is None else SqlCredentialStore(engine_or_memory, clock)
    return store if request.param == "bare" else KnownCredentials(store)


def test_the_first_credential_is_bound_to_the_vm(credentials: CredentialStore) -> None:
    enrolled = credentials.enroll(VM, credential_sha256="aa", intent_id=I1)
    assert (enrolled.vm, enrolled.credential_sha256, enrolled.intent_id) == (VM, "aa", "i1")
    assert credentials.get(VM) == enrolled
    assert credentials.recognise(VM, "aa")
    assert not credentials.recognise(VM, "ab")


def test_the_same_credential_again_is_answered_as_the_first_time(credentials: CredentialStore) -> None:
    first = credentials.enroll(VM, credential_sha256="aa", intent_id=I1)
    assert credentials.enroll(VM, credential_sha256="aa", intent_id=I1) == first


def test_another_credential_for_the_same_vm_is_refused(credentials: CredentialStore) -> None:
    credentials.enroll(VM, credential_sha256="aa", intent_id=I1)
    with pytest.raises(CredentialRefused, match=r"broker-0 \(generation 3\) of cluster c1"):
        credentials.enroll(VM, credential_sha256="bb", intent_id=I1)
    assert credentials.recognise(VM, "aa")


def test_the_next_generation_enrols_for_itself(credentials: CredentialStore) -> None:
    credentials.enroll(VM, credential_sha256="aa", intent_id=I1)
    successor = Vm(C1, NodeName("broker-0"), 4)
    assert not credentials.recognise(successor, "aa")
    credentials.enroll(successor, credential_sha256="bb", intent_id=IntentId("i2"))
    assert not credentials.recognise(successor, "aa")
    assert credentials.recognise(VM, "aa")


def test_of_ten_agents_at_once_one_is_enrolled(credentials: CredentialStore) -> None:
    def enroll(number: int) -> str | None:
        try:
            return credentials.enroll(VM, credential_sha256=f"hash-{number}", intent_id=I1).credential_sha256
        except CredentialRefused:
            return None

    with ThreadPoolExecutor(10) as pool:
        winners = [one for one in pool.map(enroll, range(10)) if one]
    assert len(winners) == 1
    assert credentials.recognise(VM, winners[0])


# --- rotation ---------------------------------------------------------------------------------------------------


def enrolled(credentials: CredentialStore, *, sha256: str = "aa") -> CredentialStore:
    credentials.enroll(VM, credential_sha256=sha256, intent_id=I1)
    return credentials


def rotated(credentials: CredentialStore, clock: Ticking, *, before: str = "aa", after: str = "bb") -> CredentialStore:
    """A rotation to its end: the next one was shown."""
    enrolled(credentials, sha256=before)
    clock.pass_time(days=7)
    credentials.rotate(VM, shown_sha256=before, next_sha256=after)
    assert credentials.recognise(VM, after)
    return credentials


def test_the_old_credential_counts_until_the_new_one_was_shown_once(credentials: CredentialStore) -> None:
    enrolled(credentials)
    credentials.rotate(VM, shown_sha256="aa", next_sha256="bb")
    assert credentials.recognise(VM, "aa")
    assert credentials.recognise(VM, "aa")
    assert present(credentials.recognise(VM, "bb")).credential_sha256 == "bb"
    assert credentials.recognise(VM, "aa") is None
    assert credentials.recognise(VM, "bb")


def test_a_rotation_is_for_whoever_shows_the_one_in_force(credentials: CredentialStore) -> None:
    enrolled(credentials)
    with pytest.raises(CredentialRefused, match="nothing was rotated"):
        credentials.rotate(VM, shown_sha256="xx", next_sha256="bb")
    assert credentials.recognise(VM, "bb") is None
    assert credentials.recognise(VM, "aa")


def test_an_outdated_credential_rotates_nothing(credentials: CredentialStore, clock: Ticking) -> None:
    rotated(credentials, clock)
    with pytest.raises(CredentialRefused, match="not in force"):
        credentials.rotate(VM, shown_sha256="aa", next_sha256="cc")
    assert credentials.recognise(VM, "cc") is None


def test_a_rotation_whose_answer_was_lost_may_be_repeated(credentials: CredentialStore) -> None:
    enrolled(credentials)
    first = credentials.rotate(VM, shown_sha256="aa", next_sha256="bb")
    assert credentials.rotate(VM, shown_sha256="aa", next_sha256="bb") == first
    in_force = credentials.recognise(VM, "bb")
    assert credentials.rotate(VM, shown_sha256="bb", next_sha256="bb") == in_force


def test_an_agent_that_lost_its_next_credential_names_another_one(credentials: CredentialStore) -> None:
    enrolled(credentials)
    credentials.rotate(VM, shown_sha256="aa", next_sha256="bb")
    credentials.rotate(VM, shown_sha256="aa", next_sha256="cc")
    assert credentials.recognise(VM, "bb") is None
    assert credentials.recognise(VM, "cc")


def test_nobody_rotates_back_to_the_credential_before(credentials: CredentialStore, clock: Ticking) -> None:
    rotated(credentials, clock)
    with pytest.raises(CredentialRefused, match="had before"):
        credentials.rotate(VM, shown_sha256="bb", next_sha256="aa")
    assert credentials.recognise(VM, "aa") is None


def test_the_token_enrols_the_credential_in_force_and_the_next_one_and_no_outdated_one(
    credentials: CredentialStore, clock: Ticking
) -> None:
    rotated(credentials, clock)
    credentials.rotate(VM, shown_sha256="bb", next_sha256="cc")
    for sha256 in ("bb", "cc"):
        assert credentials.enroll(VM, credential_sha256=sha256, intent_id=I1).vm == VM
    for sha256 in ("aa", "dd"):
        with pytest.raises(CredentialRefused, match="replace the node"):
            credentials.enroll(VM, credential_sha256=sha256, intent_id=I1)


def test_a_rotation_says_when_it_came_into_force(credentials: CredentialStore, clock: Ticking) -> None:
    enrolled(credentials)
    assert present(credentials.get(VM)).since == clock()
    clock.pass_time(days=7)
    credentials.rotate(VM, shown_sha256="aa", next_sha256="bb")
    assert present(credentials.get(VM)).since < clock()
    credentials.recognise(VM, "bb")
    assert present(credentials.get(VM)).since == clock()
    assert present(credentials.get(VM)).enrolled_at == clock.start


def test_an_outdated_credential_that_is_shown_is_remembered_as_a_sign_of_a_copy(
    credentials: CredentialStore, clock: Ticking
) -> None:
    rotated(credentials, clock)
    clock.pass_time(hours=1)
    assert credentials.recognise(VM, "aa") is None
    assert present(credentials.get(VM)).outdated_shown_at == clock()


def test_a_request_that_was_on_its_way_during_the_rotation_is_no_sign_of_a_copy(
    credentials: CredentialStore, clock: Ticking
) -> None:
    rotated(credentials, clock)
    clock.pass_time(seconds=20)
    assert credentials.recognise(VM, "aa") is None
    assert present(credentials.get(VM)).outdated_shown_at is None


def test_a_credential_nobody_ever_had_is_no_sign_of_a_copy(credentials: CredentialStore, clock: Ticking) -> None:
    rotated(credentials, clock)
    clock.pass_time(hours=1)
    assert credentials.recognise(VM, "xx") is None
    assert present(credentials.get(VM)).outdated_shown_at is None


def test_of_ten_requests_with_the_next_credential_all_are_let_in(credentials: CredentialStore, clock: Ticking) -> None:
    enrolled(credentials)
    credentials.rotate(VM, shown_sha256="aa", next_sha256="bb")
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _: credentials.recognise(VM, "bb"), range(10)))
    assert all(answers)
    assert present(credentials.get(VM)).earlier_sha256 == "aa"


def test_a_vm_that_never_enrolled_is_nobody(credentials: CredentialStore) -> None:
    assert credentials.get(VM) is None
    assert credentials.recognise(VM, "aa") is None
    with pytest.raises(CredentialRefused):
        credentials.rotate(VM, shown_sha256="aa", next_sha256="bb")


def test_the_credentials_of_a_cluster_are_found_together(credentials: CredentialStore) -> None:
    enrolled(credentials)
    other = credentials.enroll(Vm(C1, NodeName("broker-1"), 1), credential_sha256="bb", intent_id=IntentId("i2"))
    credentials.enroll(Vm(ClusterUid("c2"), NodeName("broker-0"), 3), credential_sha256="cc", intent_id=IntentId("i3"))
    assert credentials.of_cluster(C1) == {VM: credentials.get(VM), other.vm: other}
    assert credentials.of_cluster(ClusterUid("nobody")) == {}


@pytest.mark.parametrize(
    ("age", "is_old"),
    [
        (timedelta(0), False),
        (timedelta(days=6), False),
        (timedelta(days=7), True),
        (timedelta(days=400), True),
        (timedelta(minutes=-4), False),
        (timedelta(days=-1), True),
    ],
    ids=["fresh", "younger", "of-that-age", "ancient", "by-a-clock-that-differs", "by-a-clock-that-was-set-back"],
)
def test_an_age_is_judged_by_the_servers_clock_alone(age: timedelta, is_old: bool) -> None:
    now = Ticking().start
    credential = Credential(VM, "aa", I1, enrolled_at=now - age)
    assert credential.is_older_than(timedelta(days=7), now) is is_old


# --- certificates -----------------------------------------------------------------------------------------------


def test_the_first_certificate_is_remembered_for_ever(credentials: CredentialStore, clock: Ticking) -> None:
    enrolled(credentials)
    assert present(credentials.recognise(VM, "aa")).certified_at is None
    clock.pass_time(hours=1)
    first = clock()
    assert present(credentials.recognise(VM, "aa", is_certified=True)).certified_at == first
    clock.pass_time(hours=1)
    assert present(credentials.recognise(VM, "aa", is_certified=True)).certified_at == first
    credentials.rotate(VM, shown_sha256="aa", next_sha256="bb")
    assert present(credentials.recognise(VM, "bb", is_certified=True)).certified_at == first
    assert credentials.enroll(VM, credential_sha256="bb", intent_id=I1).certified_at == first
    assert credentials.of_cluster(C1)[VM].certified_at == first


def test_a_wrong_credential_certifies_nobody(credentials: CredentialStore) -> None:
    enrolled(credentials)
    assert credentials.recognise(VM, "xx", is_certified=True) is None
    assert present(credentials.get(VM)).certified_at is None


def test_a_first_certificate_may_come_with_the_next_credential(credentials: CredentialStore, clock: Ticking) -> None:
    enrolled(credentials)
    credentials.rotate(VM, shown_sha256="aa", next_sha256="bb")
    shown = present(credentials.recognise(VM, "bb", is_certified=True))
    assert (shown.credential_sha256, shown.certified_at) == ("bb", clock())


def test_without_its_certificate_a_vm_is_told_by_its_credential_and_nothing_changes(
    credentials: CredentialStore, clock: Ticking
) -> None:
    """Who has a copy of the next secret, and not the key, puts nothing in force."""
    enrolled(credentials)
    credentials.recognise(VM, "aa", is_certified=True)
    credentials.rotate(VM, shown_sha256="aa", next_sha256="bb")
    before = credentials.get(VM)
    for sha256 in ("aa", "bb"):
        assert credentials.recognise(VM, sha256) == before
    assert credentials.get(VM) == before
    assert present(credentials.recognise(VM, "bb", is_certified=True)).credential_sha256 == "bb"


def test_the_next_generation_shows_a_certificate_of_its_own(credentials: CredentialStore) -> None:
    enrolled(credentials)
    credentials.recognise(VM, "aa", is_certified=True)
    assert (
        credentials.enroll(
            Vm(C1, NodeName("broker-0"), 4), credential_sha256="bb", intent_id=IntentId("i2")
        ).certified_at
        is None
    )


def test_of_ten_first_certificates_at_once_one_moment_is_kept(credentials: CredentialStore) -> None:
    enrolled(credentials)
    with ThreadPoolExecutor(10) as pool:
        shown = list(pool.map(lambda _: credentials.recognise(VM, "aa", is_certified=True), range(10)))
    assert {present(one).certified_at for one in shown} == {present(credentials.get(VM)).certified_at}
