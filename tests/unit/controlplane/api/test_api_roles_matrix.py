"""Every call of the API, every role, on a cluster of one's own team and on another's: as the table says."""

import itertools
import re

import pytest
from httpx import Response

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import ALLOWS, Role, Verb
from controlplane.api.audit.store import AuditFilter
from tests.unit.controlplane.api.api_routes import API_ROUTES, KNOWN, NO_TOKEN, SOMEWHERE, address
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.api.test_proposals import TOPIC, token_of
from tests.unit.controlplane.portal.test_portal_auth_matrix import PERSON, ROUTES
from tests.unit.controlplane.portal.test_portal_roles_matrix import OURS, SCOPES, house_with_topics

ALWAYS = {(None, "*"), (Role.OWNER, "team:search"), (Role.ADMIN, "team:search")}
ALWAYS |= set(itertools.product(Role, ("*", "team:payments")))
CASES = [
    pytest.param(role, scope, marks=[] if (role, scope) in ALWAYS else pytest.mark.soak)
    for role, scope in [(None, "*"), *itertools.product(Role, SCOPES)]
]
BY_SPEC = ("/v1/apply", "/v1/pull-requests")
"""The cluster is named in the body. Who may not declare what the spec says is refused whether the name is taken or not.
"""
MADE_NO_SENSE = {"request-invalid", "token-needed", "csrf"}
NOT_THERE = {"cluster-not-found", "proposal-not-found"}


def denied_with(verb: Verb | str, role: Role | None, scope: str, path: str) -> int:
    """The status of a refusal, 0 where the call is allowed."""
    allowed = ALLOWS[role] if role is not None and SCOPES[scope] else frozenset()
    if verb == KNOWN:
        return 0
    if verb == NO_TOKEN:
        return 403
    if verb == SOMEWHERE:
        return 0 if role is not None else 403
    if verb in (Verb.ADMINISTER, Verb.AUDIT):
        return 0 if role is not None and scope == "*" and verb in ALLOWS[role] else 403
    if verb in allowed:
        return 0
    return 403 if Verb.READ in allowed or path in BY_SPEC else 404


def judged(answer: Response) -> int:
    """What an answer says of rights: 0 for allowed, however the call went on."""
    code = answer.json()["code"] if answer.status_code >= 400 else ""
    assert answer.status_code != 500, answer.text
    assert code not in MADE_NO_SENSE, f"a refusal of its body is not a refusal of rights: {answer.text}"
    return answer.status_code if answer.status_code == 403 or code in NOT_THERE else 0


@pytest.mark.parametrize(("role", "scope"), CASES)
def test_a_call_answers_a_role_as_the_table_says(role: Role | None, scope: str) -> None:
    house = house_with_topics()
    caller = token_of(house, "ada", *([Binding("", role, scope)] if role else []))
    for (method, path), (verb, body) in API_ROUTES.items():
        before = house.store.head()
        answer = caller.request(method, address(path), json=body)
        wanted = denied_with(verb, role, scope, path)
        assert judged(answer) == wanted, f"{method} {path} for {role} on {scope}: {answer.text}"
        if wanted:
            assert house.store.head() == before, f"{method} {path} was refused, and recorded something"
            assert house.backups == []


def test_who_may_not_read_a_cluster_gets_the_answer_of_one_that_is_not_there() -> None:
    house = house_with_topics()
    caller = token_of(house, "eve", Binding("", Role.OWNER, "team:search"))
    for (method, path), (_, body) in API_ROUTES.items():
        if "/clusters/{name}" in path:
            hidden = caller.request(method, address(path), json=body)
            missing = caller.request(method, address(path.replace("{name}", "nothing")), json=body)
            assert hidden.text.replace("orders", "nothing") == missing.text, f"{method} {path}"


@pytest.mark.parametrize("role", [None, Role.VIEWER, Role.OWNER, Role.ADMIN])
@pytest.mark.parametrize("text", [OURS, TOPIC, OURS.replace("zones: [a, b, c]", "zones: [a]"), f"{OURS}{TOPIC}"])
def test_validate_and_plan_tell_nothing_of_a_cluster_one_may_not_see(role: Role | None, text: str) -> None:
    """Nor may a quota of its team: it counts the cluster whatever is asked."""
    house = house_with_topics()
    caller = token_of(house, "eve", *([Binding("", role, "team:search")] if role else []))
    for path in ("/v1/validate", "/v1/plan"):
        taken = caller.post(path, json={"text": text})
        free = caller.post(path, json={"text": text.replace("orders", "nothing")})
        assert taken.status_code == free.status_code == 200
        assert without_digests(taken.text).replace("orders", "nothing") == without_digests(free.text)


def without_digests(text: str) -> str:
    """Digests and machines' names follow from the name that was asked for."""
    return re.sub(r'"(digest|\w*_digest)":"[^"]*"', "", text)


@pytest.mark.parametrize("path", BY_SPEC)
@pytest.mark.parametrize("role", [None, Role.VIEWER, Role.OWNER])
def test_who_could_not_have_a_name_is_not_told_whether_it_is_taken(path: str, role: Role | None) -> None:
    house = house_with_topics()
    caller = token_of(house, "eve", *([Binding("", role, "team:search")] if role else []))
    taken = caller.post(path, json={"text": OURS})
    free = caller.post(path, json={"text": OURS.replace("orders", "nothing")})
    assert taken.status_code == free.status_code == 403
    assert taken.text.replace("orders", "nothing") == free.text


@pytest.mark.parametrize("path", BY_SPEC)
def test_who_may_declare_a_name_that_is_taken_is_refused_with_that_alone_and_it_is_noted(path: str) -> None:
    """Somebody has to be told: names are unique. It takes the right to declare such a cluster, and the audit has it."""
    house = house_with_topics()
    caller = token_of(house, "eve", Binding("", Role.OWNER, "team:search"))
    head = house.store.head()
    answer = caller.post(path, json={"text": OURS.replace("owner: payments", "owner: search")})
    assert (answer.status_code, answer.json()["title"]) == (403, "the name orders is taken")
    assert house.store.head() == head
    noted = house.audit.page(AuditFilter(), 1)[0].entry
    assert (noted.outcome, noted.object, noted.who) == ("denied", "orders", "user:eve")


def test_every_call_of_people_is_in_the_table() -> None:
    calls = {key for key, kind in ROUTES.items() if kind == PERSON and key[1].startswith("/v1/")}
    assert calls == set(API_ROUTES)


def test_the_token_of_the_home_may_everything_but_agree_to_what_somebody_proposed() -> None:
    house = house_with_topics()
    for (method, path), (verb, body) in API_ROUTES.items():
        wanted = 403 if verb is Verb.APPROVE else 0
        assert judged(house.client.request(method, address(path), json=body)) == wanted, f"{method} {path}"


def test_every_write_twice_with_one_key_is_done_once() -> None:
    """Each at a house of its own state: what one did, the next one finds."""
    house = house_with_topics()
    for number, ((method, path), (_, body)) in enumerate(API_ROUTES.items()):
        if method == "GET":
            continue
        call = {"json": body, "headers": {"Idempotency-Key": f"key {number}"}}
        first, was = house.client.request(method, address(path), **call), state_of(house)
        again = house.client.request(method, address(path), **call)
        assert state_of(house) == was, f"{method} {path}"
        if first.status_code < 400 and again.status_code >= 400:
            assert again.json()["code"] == "done-before", f"{method} {path}: {again.text}"


def state_of(house: House) -> tuple[object, ...]:
    people = house.services.access.people
    users = [(u.name, u.password_hash, u.disabled_at) for u in people.users.all()]
    tokens = [(t.id, t.revoked_at) for t in people.tokens.all()]
    return house.store.head(), users, tokens, people.users.bindings(), list(house.backups)
