"""What users are to have beside what they have."""

import time

import pytest

from planner.rights.acls import Acl, is_protected, principal_of
from planner.rights.difference import (
    MOST_CREATED,
    MOST_USERS,
    end_step,
    lacks_password,
    one_batch,
    undeclared_users,
    user_step,
)
from planner.rights.seen import SCRAM_SHA_512, RightsSeen
from planner.rights.step import RightsStage, RightsStep, UserStep
from planner.rights.wanted import UserRights, user_entity

PASSWORD = frozenset({SCRAM_SHA_512})
READS = Acl("User:alice", "topic", "pay-", "prefix", "Read")
WRITES = Acl("User:alice", "topic", "pay-", "prefix", "Write")
BOBS = Acl("User:bob", "topic", "pay-", "prefix", "Read")


def test_what_is_there_already_is_taken_over_without_a_request() -> None:
    wanted = UserRights("alice", frozenset({READS}), {"producer_byte_rate": 1024}, mechanisms=PASSWORD)
    seen = RightsSeen(
        acls=(READS, BOBS),
        quotas={user_entity("alice"): {"producer_byte_rate": 1024.0}},
        credentials={"alice": {"SCRAM-SHA-512": 8192}},
    )
    assert not user_step(wanted, seen)
    assert not one_batch([user_step(wanted, seen)])


def test_all_of_a_declared_user_is_made_so_and_nobody_elses() -> None:
    seen = RightsSeen(acls=(READS, BOBS), quotas={user_entity("bob"): {"request_percentage": 5.0}})
    step = user_step(UserRights("alice", frozenset({WRITES})), seen)
    assert (step.create, step.delete, step.quotas, step.credential) == ((WRITES,), (READS,), {}, "")
    assert undeclared_users(seen, {"alice"}) == ("bob",)


def test_quotas_of_a_user_with_one_client_are_the_users_too() -> None:
    both = (("client-id", "app"), ("user", "alice"))
    seen = RightsSeen(
        quotas={
            user_entity("alice"): {"producer_byte_rate": 5.0, "request_percentage": 9.0},
            both: {"producer_byte_rate": 1e9},
        }
    )
    step = user_step(UserRights("alice", quotas={"producer_byte_rate": 7}), seen)
    assert step.quotas == {
        both: {"producer_byte_rate": None},
        user_entity("alice"): {"producer_byte_rate": 7, "request_percentage": None},
    }


def test_a_deleted_user_loses_its_credential_first_and_its_quotas_last() -> None:
    denies = READS._replace(permission="deny")
    seen = RightsSeen(
        acls=(READS, denies),
        quotas={user_entity("alice"): {"producer_byte_rate": 5.0}},
        credentials={"alice": {"SCRAM-SHA-512": 8192, "SCRAM-SHA-256": 4096}},
    )
    step = end_step("alice", seen)
    assert step.mechanisms == ("SCRAM-SHA-256", "SCRAM-SHA-512")
    assert [stage for stage, _ in RightsStep({"alice": step}).stages()] == [
        RightsStage.REMOVE_CREDENTIALS,
        RightsStage.END_ALLOW,
        RightsStage.END_DENY,
        RightsStage.REMOVE_QUOTAS,
    ]
    assert not end_step("alice", RightsSeen())


def test_a_new_user_gets_its_credential_after_its_rights_and_quotas() -> None:
    wanted = UserRights("alice", frozenset({READS}), {"producer_byte_rate": 5}, mechanisms=PASSWORD, pending=True)
    stages = [stage for stage, _ in RightsStep({"alice": user_step(wanted, RightsSeen())}).stages()]
    assert stages == [RightsStage.SET_QUOTAS, RightsStage.ALLOW, RightsStage.SET_CREDENTIALS]


def test_a_password_by_another_mechanism_than_the_declared_one_is_a_way_in_that_nobody_declared() -> None:
    wanted = UserRights("alice", mechanisms=PASSWORD)
    seen = RightsSeen(credentials={"alice": {"SCRAM-SHA-512": 8192, "SCRAM-SHA-256": 4096}})
    step = user_step(wanted, seen)
    assert (step.credential, step.mechanisms) == ("remove", ("SCRAM-SHA-256",))
    assert not lacks_password(wanted, seen)
    assert lacks_password(wanted, RightsSeen())
    signs_in_otherwise = user_step(UserRights("alice"), seen)
    assert signs_in_otherwise.mechanisms == ("SCRAM-SHA-256", "SCRAM-SHA-512")
    assert not user_step(UserRights("alice", mechanisms=None), seen)


def test_without_an_authorizer_no_acl_is_created() -> None:
    assert not user_step(UserRights("alice", frozenset({READS})), RightsSeen(acls=None))


@pytest.mark.parametrize("name", ["ANONYMOUS", "*", "", "CN=kedge-node-0123456789abcdef", "kedge-server", "a;User:b"])
def test_names_of_kedge_of_nodes_and_of_everybody_are_never_touched(name: str) -> None:
    acl = Acl(principal_of(name), "topic", "*", "literal", "All")
    seen = RightsSeen(
        acls=(acl,), quotas={user_entity(name): {"request_percentage": 1.0}}, credentials={name: {"SCRAM-SHA-512": 1}}
    )
    assert is_protected(name)
    assert not user_step(UserRights(name), seen)
    assert not end_step(name, seen)
    assert undeclared_users(seen, ()) == ()


def test_a_batch_ends_at_its_bounds_and_one_user_always_fits() -> None:
    many = [UserStep(f"u{n:04}", create=(READS,)) for n in range(MOST_USERS + 5)]
    assert len(one_batch(many).users) == MOST_USERS
    large = UserStep("large", create=(READS,) * (MOST_CREATED + 1))
    assert one_batch([large, *many]).names == {"large"}
    assert one_batch([UserStep("same"), *many[:2]]).names == {"u0000", "u0001"}


def test_ten_thousand_users_with_five_acls_each_are_compared_in_well_under_a_second() -> None:
    wanted, acls = [], []
    for n in range(10_000):
        own = frozenset(Acl(f"User:user-{n}", "topic", f"team-{n}-{k}", "prefix", "Read") for k in range(5))
        wanted.append(UserRights(f"user-{n}", own, {"producer_byte_rate": 1e6}))
        acls.extend(own)
    seen = RightsSeen(tuple(acls), {user_entity(w.name): {"producer_byte_rate": 1e6} for w in wanted})
    begin = time.process_time()
    assert not one_batch(user_step(w, seen) for w in wanted)
    assert time.process_time() - begin < 1.0
