"""The agent's side of HTTP: seven calls, and for each failure what the agent is to do about it."""

from dataclasses import dataclass, replace
from typing import TypeAlias

import httpx
from pydantic import SecretStr, ValidationError

from agent import wire
from agent.connections import Connections
from agent.identity import Identity, check_server_url, is_loopback
from agent.trust import CaRefused, PinnedCa, certificate_problem

_CALL_TIMEOUT_S = 10.0
_LONGEST_RETRY_AFTER_S = 600.0


class RetryLater(Exception):
    """Nobody there, or the server has trouble (5xx, 429, 404): keep what runs and ask again with back-off, but not
    before `after_s` where the server said so (`Retry-After`); 0 where it did not.
    """

    def __init__(self, message: str, *, after_s: float = 0.0) -> None:
        super().__init__(message)
        self.after_s = after_s


class CredentialLost(Exception):
    """401 or 403: the server does not know us. Keep what runs, say so, ask rarely: a person must look."""


class CertificateLost(CredentialLost):
    """401: the credential counts, and the certificate is missing or over. Ask for another one."""


class Retired(Exception):
    """410: this instance is over. Stop the services, remember it, stay down."""


class ServerRefused(Exception):
    """Another 4xx: the server understood us and says no; repeating will not help, an update of one side may.

    Also a server whose CA is not the one of the boot data: nothing is sent to it.
    """


@dataclass(frozen=True, slots=True)
class NewDocument:
    """`report_in_s` of both: when a report is wanted; None where the server does not say."""

    raw: bytes
    etag: str
    report_in_s: float | None = None


@dataclass(frozen=True, slots=True)
class Unchanged:
    """304: the document of our etag is still the one."""

    report_in_s: float | None = None


DocumentAnswer: TypeAlias = NewDocument | Unchanged


class ServerClient:
    """Calls raise `RetryLater`, `CredentialLost`, `Retired` or `ServerRefused`; the constructor `PlainHttpRefused`."""

    def __init__(
        self,
        server_url: str,
        identity: Identity,
        *,
        trust: PinnedCa | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Without `trust` an https server is believed as the system's CAs say."""
        check_server_url(server_url)
        self._identity = identity
        self._trust = trust
        self._connections = Connections(
            lambda: httpx.Client(
                base_url=server_url,
                verify=trust.context if trust else True,
                timeout=_CALL_TIMEOUT_S,
                transport=transport,
                follow_redirects=False,  # the credential goes to the server of the boot data and nowhere else
                trust_env=not is_loopback(server_url),  # a proxy of the environment cannot reach our loopback
            )
        )

    @property
    def shown(self) -> str:
        """The credential that is sent."""
        return self._identity.credential.get_secret_value()

    def show(self, credential: str) -> None:
        """Sends another credential from now on."""
        self._identity = replace(self._identity, credential=SecretStr(credential))

    def reconnect(self) -> None:
        """Shows what `trust` shows now. Calls under way go on as they began."""
        self._connections.renew()

    def enrol(self, request: wire.EnrolRequest) -> wire.EnrolAnswer:
        """POST /agent/v1/enrol. Repeating it with the same credential is fine."""
        response = self._call("POST", "/agent/v1/enrol", content=request.model_dump_json(), me=None)
        try:
            return wire.EnrolAnswer.model_validate_json(response.content)
        except ValidationError:  # taken, in words of another release
            return wire.EnrolAnswer()

    def certify(self, request: wire.CertificateRequest) -> wire.CertificateAnswer:
        """POST /agent/v1/certificate. Repeating it is fine: what was signed before counts, too."""
        response = self._call("POST", "/agent/v1/certificate", content=request.model_dump_json(), me=self._identity)
        try:
            return wire.CertificateAnswer.model_validate_json(response.content)
        except ValidationError as error:
            raise ServerRefused(f"the server's answer to the signing request makes no sense: {error}") from error

    def certify_node(self, request: wire.CertificateRequest) -> wire.NodeCertificateAnswer:
        """POST /agent/v1/node-certificate. Repeating it is fine: what was signed before counts, too."""
        asked = request.model_dump_json()
        response = self._call("POST", "/agent/v1/node-certificate", content=asked, me=self._identity)
        try:
            return wire.NodeCertificateAnswer.model_validate_json(response.content)
        except ValidationError as error:
            raise ServerRefused(f"the server's answer to the node's signing request makes no sense: {error}") from error

    def rotate(self, request: wire.RotateRequest) -> None:
        """POST /agent/v1/rotate. Repeating it with the same next credential is fine."""
        self._call("POST", "/agent/v1/rotate", content=request.model_dump_json(), me=self._identity)

    def document(self, *, etag: str, wait_s: float, report_s: float = 0.0) -> DocumentAnswer:
        """GET /agent/v1/document: held by the server for up to `wait_s` while the document is the one of `etag`, and
        reports are not wanted more often than every `report_s`, as they are sent; 0: as always."""
        me = self._identity
        params = {"cluster": me.cluster_uid, "node": me.node, "generation": str(me.generation), "etag": etag}
        response = self._call(
            "GET",
            "/agent/v1/document",
            params={**params, "wait_s": f"{wait_s:g}", **({"report_s": f"{report_s:g}"} if report_s > 0 else {})},
            me=me,
            timeout=wait_s + _CALL_TIMEOUT_S,
        )
        if response.status_code == httpx.codes.NOT_MODIFIED:
            return Unchanged(_report_in_s(response))
        etag = response.headers.get("etag", "").removeprefix("W/").strip('"')
        return NewDocument(response.content, etag, _report_in_s(response))

    def report(self, report: wire.Report) -> wire.ReportAnswer:
        """POST /agent/v1/report."""
        return self._reported("/agent/v1/report", report)

    def unchanged(self, report: wire.UnchangedReport) -> wire.ReportAnswer:
        """POST /agent/v1/unchanged."""
        return self._reported("/agent/v1/unchanged", report)

    def close(self) -> None:
        self._connections.close()

    def _reported(self, path: str, report: wire.Report | wire.UnchangedReport) -> wire.ReportAnswer:
        response = self._call("POST", path, content=report.model_dump_json(), me=self._identity)
        try:
            return wire.ReportAnswer.model_validate_json(response.content)
        except ValidationError:  # taken, in words of another release
            return wire.ReportAnswer()

    def _call(
        self,
        method: str,
        path: str,
        *,
        me: Identity | None,
        content: str | None = None,
        params: dict[str, str] | None = None,
        timeout: float = _CALL_TIMEOUT_S,
    ) -> httpx.Response:
        headers = {**(me.headers if me else {}), **({"Content-Type": "application/json"} if content else {})}
        try:
            if self._trust is not None:
                self._trust.ensure()
            with self._connections.call() as pool:
                response = pool.http.request(
                    method, path, params=params, content=content, headers=headers, timeout=timeout
                )
        except CaRefused as error:
            raise ServerRefused(str(error)) from error
        except httpx.HTTPError as error:
            why = certificate_problem(error) or f"the server cannot be reached: {error!r}"
            raise RetryLater(f"{method} {path}: {why}") from error
        if response.status_code == httpx.codes.UNAUTHORIZED and me is not None and me is not self._identity:
            raise RetryLater(f"{method} {path}: the credential was rotated while this was on its way")
        if response.status_code == httpx.codes.UNAUTHORIZED and not self._connections.is_current(pool):
            raise RetryLater(f"{method} {path}: the certificate was renewed while this was on its way")
        _raise_for(response, f"{method} {path}")
        return response


def _raise_for(response: httpx.Response, call: str) -> None:
    status = response.status_code
    if response.is_success or status == httpx.codes.NOT_MODIFIED:
        return
    said = f"{call}: HTTP {status} {response.text[:200]}"
    if status == httpx.codes.UNAUTHORIZED and _code(response) in (wire.CERTIFICATE_NEEDED, wire.CERTIFICATE_OVER):
        raise CertificateLost(said)
    if status in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
        raise CredentialLost(said)
    if status == httpx.codes.GONE:
        raise Retired(said)
    if status >= 500 or response.is_redirect or status in (httpx.codes.NOT_FOUND, httpx.codes.TOO_MANY_REQUESTS):
        raise RetryLater(said, after_s=_retry_after_s(response))
    raise ServerRefused(said)


def _report_in_s(response: httpx.Response) -> float | None:
    header = response.headers.get(wire.REPORT_IN, "").strip()
    return float(header) if header.isascii() and header.isdigit() and len(header) < 10 else None


def _retry_after_s(response: httpx.Response) -> float:
    """Seconds of `Retry-After` (RFC 9110, 10.2.3), at most ten minutes: a broken answer must not silence an agent.

    The date form is not read: it would compare two machines' clocks. The server sends seconds.
    """
    header = response.headers.get("retry-after", "").strip()
    return (
        min(float(header), _LONGEST_RETRY_AFTER_S)
        if header.isascii() and header.isdigit() and len(header) < 10
        else 0.0
    )


def _code(response: httpx.Response) -> str:
    """The word of a problem by the server, "" where it is another's answer."""
    try:
        answer = response.json()
    except ValueError:
        return ""
    return str(answer.get("code", "")) if isinstance(answer, dict) else ""
