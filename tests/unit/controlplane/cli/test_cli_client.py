"""What is sent, what is sent again, and how every way to fail is told."""

from collections.abc import Callable

import httpx
import pytest
from pydantic import SecretStr

from controlplane.api.schemas import commands as command_api, specs as spec_api
from controlplane.cli.address import ServerAddress
from controlplane.cli.client import Client
from controlplane.cli.clients.exchange import ATTEMPTS
from controlplane.cli.errors import CliError, Refused, UnknownCluster, Unreachable
from tests.unit.controlplane.cli.cli_world import TOKEN, URL, FakeServer, detail, no_change, plans_of, problem

ADDRESS = ServerAddress(URL, SecretStr(TOKEN), "server.json")
SPEC = spec_api.SpecIn(text="x", file="orders.yaml")


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def client(server: FakeServer, slept: list[float]) -> Client:
    transport = httpx.MockTransport(server)
    return Client(lambda: ADDRESS, actor="ada", transport=transport, sleep=slept.append)


def test_a_post_carries_token_actor_and_an_idempotency_key(server: FakeServer, client: Client) -> None:
    server.plans(plans_of(no_change()))
    client.plan(SPEC)
    client.plan(SPEC)
    first, second = server.requests
    assert first.headers["Authorization"] == f"Bearer {TOKEN}"
    assert first.headers["X-Kedge-Actor"] == "ada"
    assert first.headers["Idempotency-Key"] != second.headers["Idempotency-Key"]


def test_a_get_carries_no_idempotency_key(server: FakeServer, client: Client) -> None:
    server.cluster(detail())
    client.clusters()
    assert "Idempotency-Key" not in server.requests[0].headers


def test_a_lost_answer_is_asked_for_again_under_the_same_key(
    server: FakeServer, client: Client, slept: list[float]
) -> None:
    server.plans(httpx.ReadError("reset"), httpx.RemoteProtocolError("cut"), plans_of(no_change()))
    assert client.plan(SPEC).ok
    assert len({r.headers["Idempotency-Key"] for r in server.requests}) == 1
    assert len(server.requests) == 3
    assert len(slept) == 2


def test_after_three_lost_answers_it_gives_up(server: FakeServer, client: Client) -> None:
    server.plans(httpx.ReadError("reset"))
    with pytest.raises(Unreachable, match="does not answer") as refused:
        client.plan(SPEC)
    assert len(server.requests) == ATTEMPTS
    assert "recorded once" in refused.value.next_step


def test_a_refused_connection_is_not_tried_again_and_says_how_to_start_the_server(
    server: FakeServer, client: Client
) -> None:
    server.on("GET", "/clusters", httpx.ConnectError("[Errno 111] Connection refused"))
    with pytest.raises(Unreachable) as refused:
        client.clusters()
    assert len(server.requests) == 1
    assert refused.value.lines() == [
        "error: the server does not answer",
        f"  where: {URL} (from server.json)",
        "  why:   connection refused",
        "  next:  `kedge server` starts it; is it running, and is this its home?",
    ]


def test_an_answer_that_takes_too_long_is_told_as_such(server: FakeServer, client: Client) -> None:
    server.on("POST", "/apply", httpx.ReadTimeout("slow"))
    with pytest.raises(Unreachable) as refused:
        client.apply(spec_api.ApplyIn(text="x"))
    assert "gave no answer in time" in refused.value.why


def test_a_wrong_token_names_where_the_address_came_from(server: FakeServer, client: Client) -> None:
    server.on("GET", "/clusters", problem(401, "token-needed", "the token is missing"))
    with pytest.raises(Refused, match="refuses the token") as refused:
        client.clusters()
    assert "server.json" in refused.value.where
    assert "KEDGE_HOME" in refused.value.next_step


def test_a_problem_is_told_with_its_code_and_its_next_step(server: FakeServer, client: Client) -> None:
    answer = problem(409, "being-deleted", "refused", detail="orders is being deleted", next_step="Wait.")
    server.on("POST", "/clusters/orders/pause", answer)
    with pytest.raises(Refused) as refused:
        client.command("orders", "pause", command_api.ReasonIn())
    assert (refused.value.status, refused.value.code) == (409, "being-deleted")
    assert "orders is being deleted [being-deleted]" in refused.value.lines()[1]
    assert refused.value.next_step == "Wait."


def test_a_server_that_is_away_for_a_moment_counts_as_not_answering(server: FakeServer, client: Client) -> None:
    server.on("GET", "/clusters/orders", problem(503, "store-unavailable", "the database does not answer"))
    with pytest.raises(Unreachable, match="database"):
        client.cluster("orders")


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(500, text="<html>oops</html>"),
        httpx.Response(404, json={"detail": "Not Found"}),
        httpx.Response(400, content=b"not json", headers={"content-type": "application/problem+json"}),
        httpx.Response(302, headers={"location": "http://elsewhere"}),
    ],
)
def test_somebody_else_at_that_port_is_recognised(server: FakeServer, client: Client, answer: httpx.Response) -> None:
    server.on("GET", "/version", answer)
    with pytest.raises(Refused) as refused:
        client.version()
    assert "something else may be listening" in refused.value.why


@pytest.mark.parametrize("content", [b"[]", b"{}", b"<html>", b'{"version": 1}'])
def test_a_success_that_is_not_in_the_contract_points_at_the_versions(
    server: FakeServer, client: Client, content: bytes
) -> None:
    server.on("GET", "/version", httpx.Response(200, content=content))
    with pytest.raises(CliError, match="cannot understand") as refused:
        client.version()
    assert refused.value.next_step.endswith("kedge version")


def test_fields_of_a_newer_server_are_ignored(server: FakeServer, client: Client) -> None:
    newer = detail().model_dump(mode="json") | {"colour": "blue"}
    newer["instances"][0]["shoe_size"] = 43
    server.on("GET", "/clusters/orders", httpx.Response(200, json=newer))
    assert client.cluster("orders") == detail()


Ask = Callable[[Client], object]


@pytest.mark.parametrize(
    "ask",
    [
        lambda c: c.cluster("ordres"),
        lambda c: c.events("ordres"),
        lambda c: c.endpoints("ordres"),
        lambda c: c.command("ordres", "resume", command_api.ReasonIn()),
        lambda c: c.delete("ordres", command_api.DeleteIn(confirm="ordres")),
    ],
)
def test_a_misspelt_cluster_is_told_with_the_one_that_was_meant(server: FakeServer, client: Client, ask: Ask) -> None:
    server.cluster(detail("orders"))
    with pytest.raises(UnknownCluster, match="no cluster `ordres`") as refused:
        ask(client)
    assert refused.value.next_step == "did you mean `orders`?"


def test_a_name_like_no_other_points_at_the_list(server: FakeServer, client: Client) -> None:
    server.cluster(detail("orders"))
    with pytest.raises(UnknownCluster) as refused:
        client.cluster("payments")
    assert refused.value.next_step == "kedge get lists the clusters"


def test_without_any_cluster_the_next_step_is_to_declare_one(server: FakeServer, client: Client) -> None:
    server.on("GET", "/clusters", [])
    with pytest.raises(UnknownCluster) as refused:
        client.cluster("orders")
    assert "kedge apply -f FILE" in refused.value.next_step


def test_a_list_that_fails_does_not_hide_the_error_about_the_name(server: FakeServer, client: Client) -> None:
    server.on("GET", "/clusters", httpx.ConnectError("gone"))
    with pytest.raises(UnknownCluster, match="`orders`"):
        client.cluster("orders")


def test_a_name_cannot_leave_its_place_in_the_path(server: FakeServer, client: Client) -> None:
    with pytest.raises(UnknownCluster):
        client.cluster("../version?x=1")
    assert server.requests[0].url.raw_path == b"/v1/clusters/..%2Fversion%3Fx%3D1"


def linked(items: list[str], *, to: str = "") -> httpx.Response:
    nothing = {"kinds": [], "clusters": [], "waiting": 0, "delivered": 0, "dropped": 0, "error": ""}
    times = {"failing_since": None, "told_at": None}
    told = [{"name": name, "kind": "slack", "where": "h", **nothing, **times} for name in items]
    return httpx.Response(200, json=told, headers={"Link": f'<{to}>; rel="next"'} if to else {})


def test_a_list_is_read_whole_page_by_page_and_always_of_the_server_that_was_asked(
    server: FakeServer, client: Client
) -> None:
    there, elsewhere = "/v1/notifiers?after=b", "https://evil.example/v1/else?after=c%26d"
    server.on("GET", "/notifiers", linked(["a", "b"], to=there), linked(["c&d"], to=elsewhere), linked(["e"]))
    assert [n.name for n in client.notifiers()] == ["a", "b", "c&d", "e"]
    assert [str(r.url) for r in server.requests] == [
        f"{URL}/v1/notifiers",
        f"{URL}/v1/notifiers?after=b",
        f"{URL}/v1/notifiers?after=c%26d",
    ]


def test_a_list_in_a_field_is_read_whole_with_the_rest_of_the_first_page(server: FakeServer, client: Client) -> None:
    pages = [
        {"cluster": "orders", "metadata_age_s": 1.0, "topics": [topic_told(name)], "total": 2} for name in ("a", "b")
    ]
    first = httpx.Response(200, json=pages[0], headers={"Link": '</v1/clusters/orders/topics?after=a>; rel="next"'})
    server.on("GET", "/clusters/orders/topics", first, httpx.Response(200, json=pages[1]))
    told = client.topics("orders")
    assert ([t.name for t in told.topics], told.total) == (["a", "b"], 2)


def topic_told(name: str) -> dict[str, object]:
    words = {"name": name, "state": "Observed", "reason": "", "message": ""}
    return {"cluster": "orders", **words, "internal": False, "declared": None, "observed": None}
