"""The gate for known vulnerabilities, against an index on loopback that tells none, one, or nothing at all."""

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.gates.known_holes import LOCK, known_holes
from tests.gates.scanners import ROOT

PLANTED = "starlette"


class Index(ThreadingHTTPServer):
    """Speaks OSV's protocol. `holes`: package -> the id of its one vulnerability."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.holes: dict[str, str] = {}
        self.asked: dict[str, str] = {}
        self.status = 200

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1/query"


class _Answers(BaseHTTPRequestHandler):
    server: Index

    def do_POST(self) -> None:
        query = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = query["package"]["name"]
        self.server.asked[name] = query["version"]
        hole = self.server.holes.get(name)
        affected = {
            "package": {"name": name, "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "9999"}]}],
        }
        told = {"vulns": [{"id": hole, "summary": "planted", "aliases": [], "affected": [affected]}]} if hole else {}
        body = json.dumps(told).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    index = Index()
    thread = threading.Thread(target=index.serve_forever, daemon=True)
    thread.start()
    yield index
    index.shutdown()
    index.server_close()
    thread.join(10)


def test_a_known_vulnerability_of_a_locked_package_fails_the_gate_and_none_passes_it(index: Index) -> None:
    clean = known_holes(LOCK, osv_url=index.url)
    assert clean.passed, clean.words
    locked = dict(re.findall(r"^([a-z0-9._-]+)(?:\[[^]]*\])?==(\S+)", LOCK.read_text(), re.MULTILINE))
    assert index.asked == locked, "every locked package, at its version"
    index.holes[PLANTED] = "GHSA-planted"
    found = known_holes(LOCK, osv_url=index.url)
    assert not found.passed
    assert re.search(rf"{PLANTED}\s+{re.escape(locked[PLANTED])}\s+GHSA-planted", found.words), found.words


def test_an_index_that_does_not_answer_fails_the_gate(index: Index) -> None:
    index.status = 503
    assert not known_holes(LOCK, osv_url=index.url).passed


def test_make_audit_runs_this_gate() -> None:
    text = (ROOT / "Makefile").read_text()
    assert "-m tests.gates.known_holes" in text
