"""The server's log: what a line carries, as text and as JSON."""

import json
import logging
import threading
from contextvars import copy_context
from datetime import UTC, datetime
from io import StringIO

import pytest

from controlplane.server.logging_setup import Lines, json_lines
from controlplane.storage.log_context import WithContext, current, logged, tell_event
from events.envelope import Recorded

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Log:
    """A logger of its own that writes to memory."""

    def __init__(self, formatter: logging.Formatter) -> None:
        self.written = StringIO()
        handler = logging.StreamHandler(self.written)
        handler.setFormatter(formatter)
        handler.addFilter(WithContext())
        self.logger = logging.Logger("kedge.test", logging.INFO)
        self.logger.addHandler(handler)

    def lines(self) -> list[str]:
        return self.written.getvalue().splitlines()

    def objects(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.lines()]


@pytest.fixture
def as_json() -> Log:
    return Log(json_lines("server-1"))


def recorded(type_: str, data: dict[str, object], *, stream: str = "cluster-c1") -> Recorded:
    return Recorded(812, stream, 40, "e1", type_, 1, data, "converger", None, None, 7, AT)


def test_a_json_line_has_its_time_in_utc_level_logger_words_and_server(as_json: Log) -> None:
    as_json.logger.warning("disk of %s is full", "brokers-a-0")
    (line,) = as_json.objects()
    assert datetime.fromisoformat(str(line.pop("at"))).tzinfo is UTC
    assert line == {
        "level": "WARNING",
        "logger": "kedge.test",
        "message": "disk of brokers-a-0 is full",
        "server": "server-1",
    }


def test_lines_carry_the_cluster_and_the_intent_they_were_written_for_and_no_longer(as_json: Log) -> None:
    with logged(cluster="orders"), logged(intent="i1", job="terraform-surge"):
        as_json.logger.info("begun")
    as_json.logger.info("idle")
    begun, idle = as_json.objects()
    assert (begun["cluster"], begun["intent"], begun["job"]) == ("orders", "i1", "terraform-surge")
    assert not {"cluster", "intent", "job"} & set(idle)


def test_the_inner_word_counts_and_the_outer_is_back_after_it() -> None:
    with logged(cluster="orders", node="a"):
        with logged(node="b"):
            assert current() == {"cluster": "orders", "node": "b"}
        assert current() == {"cluster": "orders", "node": "a"}
    assert current() == {}


def test_a_thread_that_runs_in_a_copy_of_the_context_writes_for_the_same_cluster(as_json: Log) -> None:
    with logged(cluster="orders"):
        bare = threading.Thread(target=as_json.logger.info, args=("bare",))
        copied = threading.Thread(target=copy_context().run, args=(as_json.logger.info, "copied"))
        for thread in (bare, copied):
            thread.start()
            thread.join()
    assert [line.get("cluster") for line in as_json.objects()] == [None, "orders"]


def test_a_recorded_event_is_told_with_cluster_node_intent_and_position(as_json: Log) -> None:
    event = recorded("instance.launched", {"key": "brokers-a-0.g2", "intent": "i9", "cloud_id": "vm-1"})
    tell_event(as_json.logger, event, "orders")
    (line,) = as_json.objects()
    told = {name: line[name] for name in ("cluster", "cluster_uid", "node", "key", "intent", "position", "version")}
    assert told == {
        "cluster": "orders",
        "cluster_uid": "c1",
        "node": "brokers-a-0",
        "key": "brokers-a-0.g2",
        "intent": "i9",
        "position": 812,
        "version": 40,
    }
    assert (line["event"], line["actor"], line["epoch"]) == ("instance.launched", "converger", 7)


def test_an_event_of_no_cluster_names_none(as_json: Log) -> None:
    tell_event(as_json.logger, recorded("freeze.declared", {"name": "friday"}, stream="freezes"), "")
    (line,) = as_json.objects()
    assert not {"cluster", "cluster_uid", "node", "intent"} & set(line)


@pytest.mark.parametrize("reason", ["first\nsecond", "a\r\x1b[31mb"])
def test_nobodys_words_begin_a_line_of_their_own_or_colour_it(reason: str) -> None:
    log = Log(Lines())
    tell_event(log.logger, recorded("instance.join_failed", {"key": "brokers-a-0.g2", "reason": reason}), "orders")
    (line,) = log.lines()
    assert line.endswith(
        "[cluster=orders cluster_uid=c1 node=brokers-a-0 key=brokers-a-0.g2 version=40 position=812 "
        "event=instance.join_failed actor=converger epoch=7]"
    )
    assert "\x1b" not in line


def test_words_of_others_in_an_error_neither_begin_a_line_of_the_log_nor_steer_a_terminal() -> None:
    """An error of a broker or a forge is told with its words, and those with a traceback."""
    forged = "gone\n2026-01-02 03:04:05,678Z INFO kedge: all is well\x1b]0;owned\x07\x9b\u202e"
    for log in (Log(Lines()), Log(json_lines("server-1"))):
        log.logger.warning("the forge said %s", forged)
        try:
            raise ValueError(forged)
        except ValueError:
            log.logger.exception("asking failed")
        told = log.written.getvalue()
        assert "all is well" in told
        assert not [line for line in told.splitlines() if line.startswith("2026") and "all is well" in line]
        assert not [c for c in told if not c.isprintable() and c != "\n"]
    assert [o["message"] for o in log.objects()] == [f"the forge said {forged}", "asking failed"]


def test_a_long_event_is_cut(as_json: Log) -> None:
    tell_event(as_json.logger, recorded("cluster.declared", {"spec": "x" * 5000}), "orders")
    assert len(str(as_json.objects()[0]["message"])) < 400


def test_an_error_has_its_traceback_in_a_field_of_the_same_line(as_json: Log) -> None:
    try:
        raise ValueError("no such port")
    except ValueError:
        as_json.logger.exception("request failed")
    (line,) = as_json.objects()
    assert "ValueError: no such port" in str(line["error"])
