"""One HTTP call to a forge: the token read anew, bounds on time and size, each failure a ForgeFault without secrets."""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
from pydantic import SecretStr

from controlplane.background.forges import forge as f
from controlplane.background.git_sync.faults import SourceFault
from controlplane.background.git_sync.forge_binding import ForgeBinding
from controlplane.background.git_sync.tokens import kept_token
from controlplane.runtime.bounded_answers import AnswerTooLong, whole_answer
from controlplane.runtime.egress import Egress, EgressRefused, keep_calls_out_of_logs
from events.clock import Clock
from events.spec.problems import shorten

TIMEOUT_S = 10.0
MOST_BYTES = 4 * 1024 * 1024
_LONGEST_WAIT_S = 3600.0

_REASONS = {401: f.AUTHENTICATION_FAILED, 403: f.NOT_ALLOWED, 404: f.NOT_FOUND, 429: f.RATE_LIMITED}


@dataclass(frozen=True, slots=True)
class ForgeAnswer:
    """What the forge said: its status, and the JSON."""

    status: int
    data: Any


class ForgeCalls:
    """Calls to one repository of a forge. Redirects are not followed: a token goes where it was sent, nowhere else."""

    def __init__(
        self,
        binding: ForgeBinding,
        api: str,
        headers: Mapping[str, str],
        *,
        where: str,
        clock: Clock,
        egress: Egress,
    ) -> None:
        self._binding, self._api, self._headers, self._where, self._clock = binding, api, headers, where, clock
        keep_calls_out_of_logs()
        host = urlsplit(api).hostname or ""
        self._http = egress.client({host}, timeout=TIMEOUT_S)

    def ask(
        self,
        method: str,
        path: str,
        *,
        what: str,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
        also: tuple[int, ...] = (),
    ) -> ForgeAnswer:
        """Asks; statuses of `also` are answers, too, besides those of success. Raises ForgeFault."""
        token = self._token(what)
        headers = {
            **self._headers,
            "Authorization": f"Bearer {token.get_secret_value()}",
            "Accept-Encoding": "identity",
        }
        try:
            with self._http.stream(method, f"{self._api}{path}", json=body, params=query, headers=headers) as response:
                text = whole_answer(response.iter_bytes(), most_bytes=MOST_BYTES, within_s=TIMEOUT_S)
        except AnswerTooLong:
            why = f"its answer is longer than {MOST_BYTES} bytes, or took longer than {TIMEOUT_S:g} s"
            raise self._fault(f.UNREACHABLE, what, why) from None
        except (httpx.HTTPError, httpx.InvalidURL, RuntimeError) as error:
            # Its text may name what was sent; a client that was closed meanwhile is a RuntimeError.
            why = str(error) if isinstance(error, EgressRefused) else f"it did not answer ({type(error).__name__})"
            raise self._fault(f.UNREACHABLE, what, why) from None
        if not response.is_success and response.status_code not in also:
            raise self._refusal(response, text, what)
        try:
            return ForgeAnswer(response.status_code, json.loads(text) if text else None)
        except ValueError:
            raise self._fault(f.UNAVAILABLE, what, "its answer is not JSON") from None

    def file(self, path: str, ref: str, *, what: str) -> str | None:
        """The text of a file, None where it is not there. Both forges send it in base64. Raises ForgeFault."""
        answer = self.ask("GET", path, what=what, query={"ref": ref}, also=(404,))
        if answer.status == 404:
            return None
        try:
            return base64.b64decode(answer.data["content"]).decode()
        except (KeyError, TypeError, ValueError, binascii.Error):
            raise self.unreadable(what) from None

    def request(self, document: Any, branch: str, *, number: str, url: str, what: str) -> f.PullRequest:
        """A pull request by the names the forge has for its number and its address. Raises ForgeFault."""
        try:
            return f.PullRequest(int(document[number]), str(document[url]), branch)
        except (KeyError, TypeError, ValueError):
            raise self.unreadable(what) from None

    def unreadable(self, what: str) -> f.ForgeFault:
        """For an answer that lacks what is read from it."""
        return self._fault(f.UNAVAILABLE, what, "its answer lacks what the API promises")

    def close(self) -> None:
        """Gives back the connections."""
        self._http.close()

    def _token(self, what: str) -> SecretStr:
        try:
            return kept_token(self._binding.token_env, self._binding.token_file)
        except SourceFault as fault:
            raise self._fault(f.CREDENTIAL_MISSING, what, fault.message) from None

    def _refusal(self, response: httpx.Response, text: bytes, what: str) -> f.ForgeFault:
        status, wait_s = response.status_code, _wait_s(response, self._clock)
        reason = _REASONS.get(status, f.UNAVAILABLE if status >= 500 else f.REFUSED)
        if status == 403 and wait_s:
            reason = f.RATE_LIMITED  # GitHub says so with 403 as well
        said = _said(text)
        return self._fault(reason, what, f"it answered {status}{f': {said}' if said else ''}", wait_s)

    def _fault(self, reason: str, what: str, why: str, wait_s: float = 0.0) -> f.ForgeFault:
        return f.ForgeFault(reason, what=what, where=self._where, why=why, wait_s=wait_s)


def listed(document: Any) -> list[dict[str, Any]]:
    """The objects of a JSON list; nothing where it is none."""
    return [one for one in document if isinstance(one, dict)] if isinstance(document, list) else []


def _said(text: bytes) -> str:
    """What it says of the refusal, on one line: GitHub `message` (and `errors`), GitLab `message` or `error`."""
    try:
        document = json.loads(text)
    except ValueError:
        return ""
    if not isinstance(document, dict):
        return ""
    message = document.get("message") or document.get("error") or ""
    errors = [e.get("message") for e in document.get("errors") or () if isinstance(e, dict) and e.get("message")]
    words = [message if isinstance(message, str) else json.dumps(message), *errors]
    return shorten(" ".join(" ".join(str(word) for word in words if word).split()), 300)


def _wait_s(response: httpx.Response, clock: Clock) -> float:
    """How long it asks to be left alone: `Retry-After` of both, else GitHub's moment at which the count begins anew."""
    after = response.headers.get("Retry-After", "")
    if after.isascii() and after.isdigit():
        return min(float(after), _LONGEST_WAIT_S)
    reset = response.headers.get("X-RateLimit-Reset", response.headers.get("RateLimit-Reset", ""))
    left = response.headers.get("X-RateLimit-Remaining", response.headers.get("RateLimit-Remaining", ""))
    if left == "0" and reset.isascii() and reset.isdigit():
        return min(max(float(reset) - clock().timestamp(), 1.0), _LONGEST_WAIT_S)
    return 0.0
