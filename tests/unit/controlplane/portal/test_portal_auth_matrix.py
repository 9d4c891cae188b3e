"""Every route, every kind of caller. A route that is not in the table fails the test."""

import hashlib
from collections.abc import Iterable

import pytest
from fastapi.routing import APIRoute, APIRouter

from controlplane.storage.agent_credentials import Vm
from events.ids import ClusterUid, IntentId, NodeName
from tests.unit.controlplane.api.portal_house import TOKEN, House
from tests.unit.controlplane.portal.page_routes import PAGE_ROUTES, filled

PERSON, PAGE, AGENT, OPEN, DOOR, RUN, HOOK = "person", "page", "agent", "open", "door", "run", "hook"

ROUTES = {
    ("GET", "/v1/clusters"): PERSON,
    ("GET", "/v1/search"): PERSON,
    ("GET", "/v1/fleet"): PERSON,
    ("GET", "/v1/clusters/{name}/brokers"): PERSON,
    ("GET", "/v1/clusters/{name}/brokers/{broker}/partitions"): PERSON,
    ("GET", "/v1/clusters/{name}/matrix"): PERSON,
    ("GET", "/v1/clusters/{name}/diff"): PERSON,
    ("GET", "/v1/clusters/{name}/compare"): PERSON,
    ("GET", "/v1/clusters/{name}/generations/{generation}"): PERSON,
    ("POST", "/v1/pull-requests"): PERSON,
    ("GET", "/v1/clusters/{name}"): PERSON,
    ("GET", "/v1/clusters/{name}/endpoints"): PERSON,
    ("GET", "/v1/clusters/{name}/console/{node}"): PERSON,
    ("GET", "/v1/clusters/{name}/events"): PERSON,
    ("GET", "/v1/clusters/{name}/state"): PERSON,
    ("POST", "/v1/validate"): PERSON,
    ("POST", "/v1/plan"): PERSON,
    ("POST", "/v1/apply"): PERSON,
    ("POST", "/v1/clusters/{name}/pause"): PERSON,
    ("POST", "/v1/clusters/{name}/resume"): PERSON,
    ("POST", "/v1/clusters/{name}/abort"): PERSON,
    ("POST", "/v1/clusters/{name}/roll-now"): PERSON,
    ("POST", "/v1/clusters/{name}/delete"): PERSON,
    ("POST", "/v1/clusters/{name}/losses"): PERSON,
    ("POST", "/v1/clusters/{name}/source"): PERSON,
    ("POST", "/v1/clusters/{name}/rollback"): PERSON,
    ("GET", "/v1/clusters/{name}/generations"): PERSON,
    ("GET", "/v1/clusters/{name}/topics/{topic}/declarations"): PERSON,
    ("POST", "/v1/clusters/{name}/topics/{topic}/rollback"): PERSON,
    ("GET", "/v1/metrics"): PERSON,
    ("GET", "/v1/clusters/{name}/restart-check"): PERSON,
    ("GET", "/v1/clusters/{name}/rolls"): PERSON,
    ("POST", "/v1/clusters/{name}/readmit"): PERSON,
    ("POST", "/v1/clusters/{name}/demote"): PERSON,
    ("POST", "/v1/clusters/{name}/fix-offline"): PERSON,
    ("POST", "/v1/clusters/{name}/empty-disk"): PERSON,
    ("POST", "/v1/clusters/{name}/even-disks"): PERSON,
    ("POST", "/v1/clusters/{name}/disk-moves/cancel"): PERSON,
    ("POST", "/v1/clusters/{name}/undemote"): PERSON,
    ("POST", "/v1/clusters/{name}/rebalance"): PERSON,
    ("POST", "/v1/clusters/{name}/rebalance/cancel"): PERSON,
    ("GET", "/v1/clusters/{name}/moves"): PERSON,
    ("POST", "/v1/clusters/{name}/moves/take-back"): PERSON,
    ("POST", "/v1/clusters/{name}/moves/adopt"): PERSON,
    ("POST", "/v1/clusters/{name}/chaos"): PERSON,
    ("GET", "/v1/clusters/{name}/games"): PERSON,
    ("POST", "/v1/clusters/{name}/games"): PERSON,
    ("GET", "/v1/clusters/{name}/games/{game}"): PERSON,
    ("POST", "/v1/clusters/{name}/games/{game}/end"): PERSON,
    ("GET", "/v1/clusters/{name}/health"): PERSON,
    ("POST", "/v1/clusters/{name}/evacuate"): PERSON,
    ("POST", "/v1/clusters/{name}/moves/plan"): PERSON,
    ("POST", "/v1/clusters/{name}/replace"): PERSON,
    ("POST", "/v1/clusters/{name}/restart"): PERSON,
    ("GET", "/v1/anomalies"): PERSON,
    ("GET", "/v1/clusters/{name}/anomalies"): PERSON,
    ("GET", "/v1/clusters/{name}/anomalies/{anomaly}"): PERSON,
    ("POST", "/v1/clusters/{name}/healing"): PERSON,
    ("GET", "/v1/notifiers"): PERSON,
    ("POST", "/v1/notifiers/{name}/test"): PERSON,
    ("GET", "/v1/clusters/{name}/figures"): PERSON,
    ("GET", "/v1/clusters/{name}/groups"): PERSON,
    ("GET", "/v1/clusters/{name}/brokers/{broker}/dependents"): PERSON,
    ("GET", "/v1/clusters/{name}/logs"): PERSON,
    ("GET", "/v1/clusters/{name}/drift"): PERSON,
    ("POST", "/v1/clusters/{name}/drift/audit"): PERSON,
    ("GET", "/v1/clusters/{name}/groups/{group:path}"): PERSON,
    ("GET", "/v1/clusters/{name}/group"): PERSON,
    ("POST", "/v1/clusters/{name}/offset-resets/plan"): PERSON,
    ("POST", "/v1/clusters/{name}/offset-resets"): PERSON,
    ("GET", "/v1/clusters/{name}/topics"): PERSON,
    ("GET", "/v1/clusters/{name}/topics/{topic}"): PERSON,
    ("GET", "/v1/clusters/{name}/topics/{topic}/logs"): PERSON,
    ("GET", "/v1/clusters/{name}/topics/{topic}/partitions"): PERSON,
    ("GET", "/v1/clusters/{name}/ailing-partitions"): PERSON,
    ("GET", "/v1/clusters/{name}/acls"): PERSON,
    ("GET", "/v1/clusters/{name}/certificates"): PERSON,
    ("POST", "/v1/clusters/{name}/replace-ca"): PERSON,
    ("POST", "/v1/clusters/{name}/revoke-certificates"): PERSON,
    ("GET", "/v1/clusters/{name}/acls/explain"): PERSON,
    ("GET", "/v1/clusters/{name}/topics/{topic}/settings"): PERSON,
    ("GET", "/v1/clusters/{name}/brokers/{broker}/settings"): PERSON,
    ("POST", "/v1/clusters/{name}/topics/{topic}/adopt"): PERSON,
    ("POST", "/v1/clusters/{name}/replication-factor"): PERSON,
    ("POST", "/v1/clusters/{name}/replication-factor/cancel"): PERSON,
    ("POST", "/v1/clusters/{name}/topics/{topic}/delete"): PERSON,
    ("GET", "/v1/clusters/{name}/users"): PERSON,
    ("GET", "/v1/clusters/{name}/users/{user}"): PERSON,
    ("POST", "/v1/clusters/{name}/users/{user}/delete"): PERSON,
    ("POST", "/v1/clusters/{name}/users/{user}/password/rotate"): PERSON,
    ("POST", "/v1/clusters/{name}/users/{user}/password/collect"): PERSON,
    ("POST", "/v1/clusters/{name}/users/{user}/certificate"): PERSON,
    ("GET", "/v1/networks"): PERSON,
    ("POST", "/v1/networks/{name}/remove"): PERSON,
    ("POST", "/v1/networks/{name}/repair"): PERSON,
    ("GET", "/v1/agents"): PERSON,
    ("POST", "/v1/agents"): PERSON,
    ("POST", "/v1/agents/resume"): PERSON,
    ("POST", "/v1/agents/{version}/withdraw"): PERSON,
    ("GET", "/v1/failovers"): PERSON,
    ("GET", "/v1/failovers/{name}"): PERSON,
    ("GET", "/v1/failovers/{name}/plan"): PERSON,
    ("POST", "/v1/failovers/{name}/failover"): PERSON,
    ("POST", "/v1/failovers/{name}/abort"): PERSON,
    ("POST", "/v1/failovers/{name}/certify-shut"): PERSON,
    ("POST", "/v1/failovers/{name}/withdraw"): PERSON,
    ("GET", "/v1/freezes"): PERSON,
    ("POST", "/v1/freezes"): PERSON,
    ("POST", "/v1/freezes/{name}/thaw"): PERSON,
    ("GET", "/v1/images"): PERSON,
    ("POST", "/v1/images"): PERSON,
    ("GET", "/v1/images/{name}"): PERSON,
    ("POST", "/v1/images/{name}/withdraw"): PERSON,
    ("GET", "/v1/proposals"): PERSON,
    ("GET", "/v1/proposals/{number}"): PERSON,
    ("POST", "/v1/proposals/{number}/approve"): PERSON,
    ("POST", "/v1/proposals/{number}/reject"): PERSON,
    ("GET", "/v1/policies"): PERSON,
    ("GET", "/v1/sources"): PERSON,
    ("POST", "/v1/sources/{name}/poll"): PERSON,
    ("POST", "/v1/sources/{name}/accept"): PERSON,
    ("GET", "/v1/version"): PERSON,
    ("GET", "/v1/loop"): PERSON,
    ("GET", "/v1/machines"): PERSON,
    ("GET", "/v1/doctor"): PERSON,
    ("GET", "/v1/events"): PERSON,
    ("POST", "/v1/backup"): PERSON,
    ("GET", "/v1/users"): PERSON,
    ("POST", "/v1/users"): PERSON,
    ("POST", "/v1/users/{name}/password"): PERSON,
    ("DELETE", "/v1/users/{name}"): PERSON,
    ("POST", "/v1/bindings"): PERSON,
    ("POST", "/v1/bindings/remove"): PERSON,
    ("POST", "/v1/users/{name}/disable"): PERSON,
    ("POST", "/v1/users/{name}/enable"): PERSON,
    ("GET", "/v1/whoami"): PERSON,
    ("GET", "/v1/tokens"): PERSON,
    ("POST", "/v1/tokens"): PERSON,
    ("POST", "/v1/tokens/{token_id}/revoke"): PERSON,
    ("GET", "/v1/audit"): PERSON,
    ("GET", "/v1/audit/check"): PERSON,
    ("GET", "/openapi.json"): PERSON,
    ("GET", "/login"): DOOR,
    ("POST", "/login"): DOOR,
    ("GET", "/oidc/begin"): DOOR,
    ("GET", "/oidc/callback"): DOOR,
    ("GET", "/oidc/out"): DOOR,
    ("POST", "/oidc/backchannel"): DOOR,
    ("GET", "/static/{stamp}/{name:path}"): DOOR,
    **dict.fromkeys(PAGE_ROUTES, PAGE),
    ("GET", "/agent/v1/document"): AGENT,
    ("POST", "/agent/v1/report"): AGENT,
    ("POST", "/agent/v1/unchanged"): AGENT,
    ("POST", "/agent/v1/rotate"): AGENT,
    ("POST", "/agent/v1/certificate"): AGENT,
    ("POST", "/agent/v1/node-certificate"): AGENT,
    ("POST", "/agent/v1/enrol"): OPEN,
    ("GET", "/agent/v1/ca"): OPEN,
    ("GET", "/healthz"): OPEN,
    ("GET", "/readyz"): OPEN,
    ("POST", "/hooks/git/{name}"): HOOK,  # let in by test_forge_hooks.py
    **{
        (method, "/terraform/v1/states/{cluster_uid}/{place}"): RUN  # at a door of its own: test_terraform_routes.py
        for method in ("GET", "POST", "LOCK", "UNLOCK")
    },
}

UID = ClusterUid("ab" * 16)
CREDENTIAL = "what the agent made"
INSTANCE = f"{UID}/brokers-a-0.g1"
AS_PERSON = {"Authorization": f"Bearer {TOKEN}"}
AS_AGENT = {"Authorization": f"Bearer {CREDENTIAL}", "X-Kedge-Instance": INSTANCE}

CALLERS = {
    "nobody": {},
    "a wrong token": {"Authorization": "Bearer wrong"},
    "the token in another scheme": {"Authorization": f"Basic {TOKEN}"},
    "an empty token": {"Authorization": "Bearer "},
    "a person": AS_PERSON,
    "a person who claims an instance": {**AS_PERSON, "X-Kedge-Instance": INSTANCE},
    "an agent": AS_AGENT,
    "an agent as another instance": {**AS_AGENT, "X-Kedge-Instance": f"{UID}/brokers-b-0.g1"},
    "an agent as its next generation": {**AS_AGENT, "X-Kedge-Instance": f"{UID}/brokers-a-0.g2"},
    "an agent with a broken instance": {**AS_AGENT, "X-Kedge-Instance": "../../etc"},
    "an agent without an instance": {"Authorization": f"Bearer {CREDENTIAL}"},
}
LET_IN = {
    PERSON: {"a person", "a person who claims an instance"},
    PAGE: {"a person", "a person who claims an instance"},
    DOOR: {"nobody", "a person", "a person who claims an instance"},
    AGENT: {"an agent"},
    OPEN: set(CALLERS),
    RUN: set[str](),
    HOOK: set[str](),
}


@pytest.fixture(scope="module")
def house() -> House:
    house = House()
    digest = hashlib.sha256(CREDENTIAL.encode()).hexdigest()
    house.app.state.tailer.close()  # live streams end at once
    house.credentials.enroll(Vm(UID, NodeName("brokers-a-0"), 1), credential_sha256=digest, intent_id=IntentId("i"))
    return house


def test_the_table_names_every_route_there_is(house: House) -> None:
    found = {(m, r.path) for r in routes_of(house.app.routes) for m in r.methods - {"HEAD"}}
    assert found == set(ROUTES)


@pytest.mark.parametrize("caller", CALLERS)
def test_a_route_lets_in_whom_the_table_says(house: House, caller: str) -> None:
    wrong = []
    for (method, path), kind in ROUTES.items():
        house.pass_time(minutes=6)  # so many wrong tokens in a row are made to wait
        response = house.client_with(CALLERS[caller]).request(method, filled(path))
        told = (response.status_code, response.headers.get("content-type"), response.headers.get("www-authenticate"))
        if caller in LET_IN[kind]:
            is_right = response.status_code != 401
        elif kind == RUN:
            is_right = (response.status_code, response.json()["code"]) == (403, "states-apart")
        else:
            is_right = told == (401, "application/problem+json", "Bearer")
        if not is_right:
            wrong.append((method, path, kind, told))
    assert not wrong


@pytest.mark.parametrize(
    "path", ["/", "/docs", "/redoc", "/v1/nothing", "/static", "/login/", "/healthz/", "/agent", "/hooks/git"]
)
def test_a_path_nobody_thought_of_asks_for_the_token_first(house: House, path: str) -> None:
    assert house.client_with({}).get(path).status_code == 401


def test_the_health_page_says_nothing(house: House) -> None:
    response = house.client_with({}).get("/healthz")
    assert (response.status_code, response.text) == (200, "ok\n")


def routes_of(routes: Iterable[object]) -> list[APIRoute]:
    """All API routes, also those of included routers. Anything else that answers would be a way round the table."""
    found: list[APIRoute] = []
    for route in routes:
        inner = getattr(route, "original_router", route)
        if isinstance(inner, APIRouter):
            found += routes_of(inner.routes)
        else:
            assert isinstance(inner, APIRoute), f"what is {inner!r}?"
            found.append(inner)
    return found
