"""Between the old ACLs and the new ones nobody has more than either gives, nor less than both give."""

from collections.abc import Iterator
from itertools import product

from hypothesis import given, strategies as st

from planner.rights.acls import Acl, AclRequest
from planner.rights.authorize import authorize
from planner.rights.difference import end_step, user_step
from planner.rights.seen import RightsSeen
from planner.rights.step import RightsStage, RightsStep, acls_in
from planner.rights.wanted import UserRights

ALICE = "User:alice"
NAMES = ("pay", "pay-in", "*")
OPERATIONS = ("Read", "Describe", "All")
HOSTS = ("*", "10.0.0.7")


def _acls(principal: str) -> st.SearchStrategy[frozenset[Acl]]:
    one = st.builds(
        Acl,
        principal=st.just(principal),
        resource=st.just("topic"),
        name=st.sampled_from(NAMES),
        pattern=st.sampled_from(("literal", "prefix")),
        operation=st.sampled_from(OPERATIONS),
        permission=st.sampled_from(("allow", "deny")),
        host=st.sampled_from(HOSTS),
    )
    return st.frozensets(one, max_size=5)


REQUESTS = [
    AclRequest(ALICE, "topic", name, operation, host)
    for name, operation, host in product(("pay", "pay-in", "other"), ("Read", "Describe"), (*HOSTS, "10.0.0.8"))
]


@given(old=_acls(ALICE), new=_acls(ALICE), everybody=_acls("User:*"))
def test_between_old_and_new_a_user_has_what_both_give_and_nothing_that_neither_gives(
    old: frozenset[Acl], new: frozenset[Acl], everybody: frozenset[Acl]
) -> None:
    step = user_step(UserRights("alice", new), RightsSeen(acls=tuple(old | everybody)))
    before, after = _given(old | everybody), _given(new | everybody)
    states = list(_states(old | everybody, RightsStep({"alice": step} if step else {})))
    for between in states:
        granted = _given(between)
        assert before & after <= granted <= before | after
    assert states[-1] == new | everybody


@given(old=_acls(ALICE), everybody=_acls("User:*"))
def test_while_a_user_is_deleted_it_has_nothing_that_it_had_not_before(
    old: frozenset[Acl], everybody: frozenset[Acl]
) -> None:
    step = end_step("alice", RightsSeen(acls=tuple(old | everybody)))
    states = list(_states(old | everybody, RightsStep({"alice": step} if step else {})))
    for between in states:
        assert _given(between) <= _given(old | everybody) | _given(everybody)
    assert states[-1] == everybody


def _states(begin: frozenset[Acl], step: RightsStep) -> Iterator[frozenset[Acl]]:
    """After each single ACL: brokers may see a request half done."""
    acls = set(begin)
    yield begin
    for stage, users in step.stages():
        for acl in acls_in(stage, users):
            (acls.add if stage in (RightsStage.DENY, RightsStage.ALLOW) else acls.discard)(acl)
            yield frozenset(acls)


def _given(acls: frozenset[Acl]) -> frozenset[AclRequest]:
    return frozenset(request for request in REQUESTS if authorize(request, acls).allowed)
