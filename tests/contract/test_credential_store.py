"""Agent credentials: whoever enrols first for a VM is its agent, nobody after."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from controlplane.credentials import CredentialRefused, CredentialStore, MemoryCredentialStore, SqlCredentialStore, Vm

VM = Vm("c1", "broker-0", 3)


@pytest.fixture
def credentials(engine_or_memory) -> CredentialStore:
    return MemoryCredentialStore() if engine_or_memory is None else SqlCredentialStore(engine_or_memory)


def test_the_first_credential_is_bound_to_the_vm(credentials):
    enrolled = credentials.enroll(VM, credential_sha256="aa", intent_id="i1")
    assert (enrolled.vm, enrolled.credential_sha256, enrolled.intent_id) == (VM, "aa", "i1")
    assert credentials.get(VM) == enrolled
    assert credentials.verify(VM, "aa")
    assert not credentials.verify(VM, "ab")


def test_the_same_credential_again_is_answered_as_the_first_time(credentials):
    first = credentials.enroll(VM, credential_sha256="aa", intent_id="i1")
    assert credentials.enroll(VM, credential_sha256="aa", intent_id="i1") == first


def test_another_credential_for_the_same_vm_is_refused(credentials):
    credentials.enroll(VM, credential_sha256="aa", intent_id="i1")
    with pytest.raises(CredentialRefused, match=r"broker-0 \(generation 3\) of cluster c1"):
        credentials.enroll(VM, credential_sha256="bb", intent_id="i1")
    assert credentials.verify(VM, "aa")


def test_the_next_generation_enrols_for_itself(credentials):
    credentials.enroll(VM, credential_sha256="aa", intent_id="i1")
    successor = Vm("c1", "broker-0", 4)
    assert not credentials.verify(successor, "aa")
    credentials.enroll(successor, credential_sha256="bb", intent_id="i2")
    assert not credentials.verify(successor, "aa")
    assert credentials.verify(VM, "aa")


def test_of_ten_agents_at_once_one_is_enrolled(credentials):
    def enroll(number: int) -> str | None:
        try:
            return credentials.enroll(VM, credential_sha256=f"hash-{number}", intent_id="i1").credential_sha256
        except CredentialRefused:
            return None

    with ThreadPoolExecutor(10) as pool:
        winners = [one for one in pool.map(enroll, range(10)) if one]
    assert len(winners) == 1
    assert credentials.verify(VM, winners[0])


def test_a_rotation_needs_the_old_credential(credentials):
    credentials.enroll(VM, credential_sha256="aa", intent_id="i1")
    with pytest.raises(CredentialRefused, match="nothing was rotated"):
        credentials.rotate(VM, old_sha256="xx", new_sha256="bb")
    assert credentials.rotate(VM, old_sha256="aa", new_sha256="bb").credential_sha256 == "bb"
    assert credentials.verify(VM, "bb")
    assert not credentials.verify(VM, "aa")


def test_a_rotation_whose_answer_was_lost_may_be_repeated(credentials):
    credentials.enroll(VM, credential_sha256="aa", intent_id="i1")
    first = credentials.rotate(VM, old_sha256="aa", new_sha256="bb")
    assert credentials.rotate(VM, old_sha256="aa", new_sha256="bb") == first


def test_a_vm_that_never_enrolled_is_nobody(credentials):
    assert credentials.get(VM) is None
    assert not credentials.verify(VM, "aa")
    with pytest.raises(CredentialRefused):
        credentials.rotate(VM, old_sha256="aa", new_sha256="bb")
