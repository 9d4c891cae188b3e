"""Lines of logs for people: which are wanted, repeats, the API with its rights, and `kedge logs`."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent.wire import Document
from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.api.documents import offer
from controlplane.api.schemas.logs import LogLineOut, LogsOut
from controlplane.background.log_reader.lines import LogLine, LogQuery, in_time, lines_in
from controlplane.background.log_reader.reading import Cursor, LogPage
from controlplane.background.log_reader.topic import LOGS_CONFIG, LOGS_TOPIC
from controlplane.cli import exits
from controlplane.cluster.view import ClusterView
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.portal.app import create_app
from events.ids import Epoch
from tests.builders import a_view
from tests.unit.controlplane.api.portal_house import START
from tests.unit.controlplane.api.test_api_tokens import program, token_of
from tests.unit.controlplane.cli.cli_world import START as CLI_START, World
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_orders

AT = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
LINE = LogLine("brokers-a-0", 1, "broker", AT, "ERROR", "java.io.IOException", "[..] ERROR gone\njava.io.IOException")


def told(line: LogLine, **more: object) -> bytes:
    at = line.at.isoformat().replace("+00:00", "Z")
    about = {"node": line.node, "generation": line.generation, "service": line.service, "at": at}
    return json.dumps({**about, "level": line.level, "error": line.error, "text": line.text, **more}).encode()


def read(payload: bytes, seen: set[bytes] | None = None) -> list[LogLine]:
    return list(lines_in(payload, appended_at=AT + timedelta(hours=1), seen=set() if seen is None else seen))


def test_a_record_is_read_line_by_line_and_what_is_none_of_ours_is_passed_over() -> None:
    other = replace(LINE, level="WARN", text="3 lines left out", left_out=3)
    payload = b"\n".join([told(LINE), b"{", b"[]", b'{"at": 5}', b"\xff\xfe", told(other, left_out=3)])
    assert read(payload) == [LINE, other]


def test_lines_told_twice_are_there_once() -> None:
    seen: set[bytes] = set()
    assert read(told(LINE), seen) == [LINE]
    assert read(told(LINE), seen) == []


def test_a_line_without_a_time_has_that_of_kafka() -> None:
    (line,) = read(told(LINE, at=""))
    assert line.at == AT + timedelta(hours=1)


@pytest.mark.parametrize(
    ("wanted", "takes"),
    [
        (LogQuery(AT), True),
        (LogQuery(AT + timedelta(seconds=1)), False),
        (LogQuery(AT, node="brokers-a-0", service="broker", level="ERROR"), True),
        (LogQuery(AT, node="brokers-a"), False),
        (LogQuery(AT, service="agent"), False),
        (LogQuery(AT, level="WARN"), True),
        (LogQuery(AT, level="FATAL"), False),
    ],
)
def test_lines_are_chosen_by_node_service_level_and_time(wanted: LogQuery, takes: bool) -> None:
    assert wanted.takes(LINE) is takes


def test_a_line_without_a_level_is_as_urgent_as_info() -> None:
    line = replace(LINE, level="")
    assert LogQuery(AT, level="INFO").takes(line)
    assert not LogQuery(AT, level="WARN").takes(line)


def test_late_lines_stand_where_their_time_is() -> None:
    late = replace(LINE, at=AT - timedelta(minutes=5))
    assert in_time([LINE, late]) == [late, LINE]


def test_every_vm_is_told_where_lines_go_only_when_asked_for() -> None:
    for key in ("brokers-a-0.g1", "controllers-a-0.g1"):
        on = Document.model_validate_json(offer(a_view(), key, epoch=Epoch(3), logs=True).body)
        off = Document.model_validate_json(offer(a_view(), key, epoch=Epoch(3)).body)
        assert on.logs is not None
        assert (on.logs.name, on.logs.replication, on.logs.config) == (LOGS_TOPIC, 3, LOGS_CONFIG)
        assert len(on.logs.bootstrap.split(",")) == 3
        assert off.logs is None
        assert on.model_copy(update={"logs": None}) == off


@dataclass
class Journals:
    """Pages that are there, and what was asked for."""

    lines: Sequence[LogLine] = (LINE,)
    silent: bool = False
    asked: list[tuple[LogQuery, Cursor, int]] = field(default_factory=list)

    def read(self, view: ClusterView, wanted: LogQuery, *, after: Cursor, limit: int) -> LogPage:
        self.asked.append((wanted, after, limit))
        if self.silent:
            raise KafkaUnavailable(what="reading logs", where=view.name, why="nobody answers")
        return LogPage(tuple(line for line in self.lines if wanted.takes(line)), {0: 7, 1: 9}, True)


class LogHouse:
    """A portal whose agents send lines."""

    def __init__(self, *, logs: bool = True) -> None:
        self.house, self.journals = house_with_orders(), Journals()
        self.house.services = replace(
            self.house.services, brokers=replace(self.house.services.brokers, logs=logs, journals=self.journals)
        )
        self.house.app = create_app(self.house.services)
        self.client = self.house.client_with({"Authorization": "Bearer the-token"})


def test_a_page_of_lines_comes_with_where_to_go_on() -> None:
    there = LogHouse()
    page = there.client.get("/v1/clusters/orders/logs").json()
    assert [line["text"] for line in page["lines"]] == [LINE.text]
    assert (page["next"], page["is_end"]) == ("0:7,1:9", True)
    there.client.get("/v1/clusters/orders/logs", params={"after": page["next"], "level": "WARN", "limit": 5})
    (first, _, _), (second, after, limit) = there.journals.asked
    assert first.since == START - timedelta(minutes=15)
    assert (second.level, after, limit) == ("WARN", {0: 7, 1: 9}, 5)


@pytest.mark.parametrize("query", ["after=x", "after=0:", "level=LOUD", "service=vm", "limit=0", "since=yesterday"])
def test_a_question_without_sense_is_refused(query: str) -> None:
    assert LogHouse().client.get(f"/v1/clusters/orders/logs?{query}").status_code == 422


def test_brokers_that_do_not_answer_and_logs_that_are_off_are_said_to_be_so() -> None:
    there = LogHouse()
    there.journals.silent = True
    silent = there.client.get("/v1/clusters/orders/logs")
    assert (silent.status_code, silent.json()["code"]) == (503, "kafka-unavailable")
    off = LogHouse(logs=False).client.get("/v1/clusters/orders/logs")
    assert (off.status_code, off.json()["code"]) == (422, "logs-off")
    assert "KEDGE_TELEMETRY__LOGS" in off.json()["next"]


def test_lines_are_kept_from_who_may_not_read_the_cluster() -> None:
    there = LogHouse()
    admin = Binding("", Role.ADMIN, "*")
    for scope, status, name in (("team:search", 404, "eve"), ("cluster:orders", 200, "ada")):
        token = token_of(there.house, admin, role="viewer", scope=scope, name=name)
        assert program(there.house, token).get("/v1/clusters/orders/logs").status_code == status
    assert len(there.journals.asked) == 1


TOLD = LogLineOut(
    node="brokers-a-0",
    generation=1,
    service="broker",
    at=CLI_START,
    level="ERROR",
    error="java.io.IOException",
    text="[2026-01-02 03:04:05,000] ERROR gone \x1b[31m\njava.io.IOException",
)


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    pages = [
        LogsOut(cluster="orders", lines=[TOLD], next="0:7", is_end=False),
        LogsOut(cluster="orders", lines=[TOLD.model_copy(update={"level": ""})], next="0:9", is_end=True),
    ]
    world.server.on("GET", "/clusters/orders/logs", *pages)
    return world


def test_lines_are_printed_page_after_page_without_what_would_steer_the_terminal(world: World) -> None:
    result = world.run("logs", "orders", "--since", "2h", "--level", "warn", "--service", "broker")
    assert result.exit_code == 0
    first, second, *_ = result.stdout.splitlines()
    assert first.split()[2:6] == ["brokers-a-0", "broker", "ERROR", "gone"]
    assert second == "java.io.IOException"
    assert "\x1b" not in result.stdout
    asked = [dict(r.url.params) for r in world.server.requests if r.url.path.endswith("/logs")]
    since = (CLI_START - timedelta(hours=2)).isoformat()
    assert asked[0] == {"node": "", "service": "broker", "level": "WARN", "since": since, "after": ""}
    assert [one["after"] for one in asked] == ["", "0:7"]


def test_following_goes_on_behind_the_end(world: World) -> None:
    pauses = 0

    def sleep(seconds: float) -> None:
        nonlocal pauses
        pauses += 1
        if pauses == 3:
            raise KeyboardInterrupt

    world.time.sleep = sleep  # type: ignore[method-assign]
    result = world.run("logs", "orders", "-f", "-o", "json")
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(records) == 4
    assert records[0]["error"] == "java.io.IOException"
    assert [dict(r.url.params)["after"] for r in world.server.requests][-3:] == ["0:7", "0:9", "0:9"]
    assert result.exit_code == 130


def test_no_line_is_said_and_so_is_an_age_without_sense(world: World) -> None:
    world.server.on(
        "GET",
        "/clusters/orders/logs",
        LogsOut(cluster="orders", lines=[], next="", is_end=True, problem="no topic yet"),
    )
    assert "no topic yet" in world.run("logs", "orders").stderr
    assert world.run("logs", "orders", "--since", "soon").exit_code == exits.USAGE
