"""The agent's side of HTTP: three calls, and for each failure what the agent is to do about it."""

from dataclasses import dataclass
from typing import TypeAlias

import httpx

from agent.identity import Identity, check_server_url, is_loopback
from agent.wire import EnrolRequest, Report

_CALL_TIMEOUT_S = 10.0


class RetryLater(Exception):
    """Nobody there, or the server has trouble (5xx, 429, 404): keep what runs and ask again with back-off."""


class CredentialLost(Exception):
    """401 or 403: the server does not know us. Keep what runs, say so, ask rarely: a person must look."""


class Retired(Exception):
    """410: this instance is over. Stop the services, remember it, stay down."""


class Refused(Exception):
    """Another 4xx: the server understood us and says no; repeating will not help, an update of one side may."""


@dataclass(frozen=True, slots=True)
class NewDocument:
    raw: bytes
    etag: str


@dataclass(frozen=True, slots=True)
class Unchanged:
    """304: the document of our etag is still the one."""


DocumentAnswer: TypeAlias = NewDocument | Unchanged


class ServerClient:
    """All calls raise `RetryLater`, `CredentialLost`, `Retired` or `Refused`; the constructor `PlainHttpRefused`."""

    def __init__(self, server_url: str, identity: Identity, *, transport: httpx.BaseTransport | None = None) -> None:
        check_server_url(server_url)
        self._identity = identity
        self._http = httpx.Client(
            base_url=server_url,
            timeout=_CALL_TIMEOUT_S,
            transport=transport,
            follow_redirects=False,  # the credential goes to the server of the boot data and nowhere else
            trust_env=not is_loopback(server_url),  # a proxy of the environment cannot reach our loopback
        )

    def enrol(self, request: EnrolRequest) -> None:
        """POST /agent/v1/enrol. Repeating it with the same credential is fine."""
        self._call("POST", "/agent/v1/enrol", content=request.model_dump_json(), headers={})

    def document(self, *, etag: str, wait_s: float) -> DocumentAnswer:
        """GET /agent/v1/document: held by the server for up to `wait_s` while the document is the one of `etag`."""
        me = self._identity
        params = {"cluster": me.cluster_uid, "node": me.node, "generation": str(me.generation), "etag": etag}
        response = self._call(
            "GET",
            "/agent/v1/document",
            params={**params, "wait_s": f"{wait_s:g}"},
            headers=me.headers,
            timeout=wait_s + _CALL_TIMEOUT_S,
        )
        if response.status_code == httpx.codes.NOT_MODIFIED:
            return Unchanged()
        return NewDocument(response.content, response.headers.get("etag", "").removeprefix("W/").strip('"'))

    def report(self, report: Report) -> None:
        """POST /agent/v1/report."""
        self._call("POST", "/agent/v1/report", content=report.model_dump_json(), headers=self._identity.headers)

    def close(self) -> None:
        self._http.close()

    def _call(
        self,
        method: str,
        path: str,
        *,
        headers: dict[str, str],
        content: str | None = None,
        params: dict[str, str] | None = None,
        timeout: float = _CALL_TIMEOUT_S,
    ) -> httpx.Response:
        if content is not None:
            headers = {**headers, "Content-Type": "application/json"}
        try:
            response = self._http.request(
                method, path, params=params, content=content, headers=headers, timeout=timeout
            )
        except httpx.HTTPError as error:
            raise RetryLater(f"{method} {path}: the server cannot be reached: {error!r}") from error
        _raise_for(response, f"{method} {path}")
        return response


def _raise_for(response: httpx.Response, call: str) -> None:
    status = response.status_code
    if response.is_success or status == httpx.codes.NOT_MODIFIED:
        return
    said = f"{call}: HTTP {status} {response.text[:200]}"
    if status in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
        raise CredentialLost(said)
    if status == httpx.codes.GONE:
        raise Retired(said)
    if status >= 500 or response.is_redirect or status in (httpx.codes.NOT_FOUND, httpx.codes.TOO_MANY_REQUESTS):
        raise RetryLater(said)
    raise Refused(said)
