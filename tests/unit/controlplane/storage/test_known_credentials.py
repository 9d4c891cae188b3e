"""Credentials in memory: what counts of them without a look at the database, and for how long."""

from dataclasses import dataclass

import pytest

from controlplane.storage.agent_credentials import Vm
from controlplane.storage.known_credentials import KEPT_S, LOADED_EVERY_S, KnownCredentials
from events.ids import ClusterUid, IntentId, NodeName
from tests.fakes.agent_credentials import MemoryCredentialStore

VM = Vm(ClusterUid("c1"), NodeName("broker-0"), 1)
OTHER = Vm(ClusterUid("c1"), NodeName("broker-1"), 1)


@dataclass
class Watch:
    """A monotonic clock that tests move."""

    now_s: float = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def store() -> MemoryCredentialStore:
    store = MemoryCredentialStore()
    for vm in (VM, OTHER):
        store.enroll(vm, credential_sha256="aa", intent_id=IntentId("i1"))
    return store


@pytest.fixture
def known(store: MemoryCredentialStore, watch: Watch) -> KnownCredentials:
    return KnownCredentials(store, watch)


def test_nobody_is_known_before_the_store_recognised_them(known: KnownCredentials) -> None:
    assert known.known(VM, "aa", is_certified=False) is None
    found = known.recognise(VM, "aa")
    assert found is not None
    assert known.known(VM, "aa", is_certified=False) == found
    assert known.known(VM, "bb", is_certified=False) is None
    assert known.known(OTHER, "aa", is_certified=False) is None


def test_all_of_a_cluster_come_with_one_look(known: KnownCredentials) -> None:
    known.load(VM.cluster_uid)
    assert known.known(VM, "aa", is_certified=False)
    assert known.known(OTHER, "aa", is_certified=False)


def test_who_knocks_with_what_nobody_knows_has_a_cluster_read_once(
    known: KnownCredentials, store: MemoryCredentialStore, watch: Watch
) -> None:
    watch.now_s = 1.0
    known.load(VM.cluster_uid)
    late = Vm(VM.cluster_uid, NodeName("broker-2"), 1)
    store.enroll(late, credential_sha256="aa", intent_id=IntentId("i1"))
    watch.now_s += LOADED_EVERY_S / 2
    known.load(VM.cluster_uid)
    assert known.known(late, "aa", is_certified=False) is None, "nothing was read"
    assert known.recognise(late, "aa"), "whoever is in time is asked about alone"
    other = Vm(VM.cluster_uid, NodeName("broker-3"), 1)
    store.enroll(other, credential_sha256="aa", intent_id=IntentId("i1"))
    watch.now_s += LOADED_EVERY_S
    known.load(VM.cluster_uid)
    assert known.known(other, "aa", is_certified=False)


def test_it_counts_for_a_while_only(known: KnownCredentials, watch: Watch) -> None:
    known.recognise(VM, "aa")
    watch.now_s = KEPT_S
    assert known.known(VM, "aa", is_certified=False)
    watch.now_s = KEPT_S + 1
    assert known.known(VM, "aa", is_certified=False) is None


def test_the_one_before_ends_with_the_first_use_of_the_next(known: KnownCredentials) -> None:
    known.recognise(VM, "aa")
    known.rotate(VM, shown_sha256="aa", next_sha256="bb")
    assert known.known(VM, "bb", is_certified=False) is None, "the store has to write down that it was shown"
    assert known.recognise(VM, "bb")
    assert known.known(VM, "bb", is_certified=False)
    assert known.known(VM, "aa", is_certified=False) is None


def test_a_first_certificate_is_the_stores_to_write_down(known: KnownCredentials) -> None:
    known.recognise(VM, "aa")
    assert known.known(VM, "aa", is_certified=True) is None
    known.recognise(VM, "aa", is_certified=True)
    assert known.known(VM, "aa", is_certified=True)
    assert known.known(VM, "aa", is_certified=False) is None, "it is to come with its certificate for ever after"


def test_who_is_silent_for_long_is_let_go_of(known: KnownCredentials, watch: Watch) -> None:
    known.recognise(VM, "aa")
    watch.now_s = 2 * KEPT_S
    known.recognise(OTHER, "aa")
    assert set(known._kept) == {OTHER}
