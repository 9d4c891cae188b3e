"""One call to UpCloud, bounded in time and tries. The SDK's own opens a connection per call and keeps no status."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import requests
from upcloud_api.api import API  # type: ignore[import-untyped]

from providers.callbudget import PATIENCE_S, TokenBucket
from providers.upcloud.errors import ApiError, api_error

CONNECT_S, READ_S = 3.0, 7.0
"""A call of the converger lasts at most 10 s."""

_LONGEST_PAUSE_S = 10.0
_THROTTLED = 429
_FIRST_PAUSE_S = 0.5

Label = tuple[str, str]


@dataclass(slots=True)
class Pauses:
    """How often a call is tried, and who sleeps between."""

    attempts: int = 3
    sleep: Callable[[float], None] = field(default=time.sleep)


class Calls(API):  # type: ignore[misc]  # the SDK has no types
    """The SDK's API on kept connections. Raises `ApiError`, and `requests.RequestException` without an answer.

    Reading is tried again after a throttle, a fault of the server and a lost answer, after the pause UpCloud asks for;
    anything else only after a throttle, because nothing was done then.
    """

    def __init__(self, authorization: str, root: str | None, pauses: Pauses, bucket: TokenBucket) -> None:
        super().__init__(token=authorization, timeout=(CONNECT_S, READ_S))
        if root:
            self.api_root = root
        self._pauses, self._bucket = pauses, bucket
        self._session = requests.Session()
        # Nothing of the person's netrc, which would take the place of the account's own credentials.
        self._session.auth = _Bearing(authorization)
        self._session.headers["User-Agent"] = self.user_agent

    def api_request(
        self, method: str, endpoint: str, body: Any = None, params: Any = None, timeout: float = -1
    ) -> dict[str, Any]:
        """The answer's JSON, `{}` for an empty one."""
        for tried in range(1, self._pauses.attempts + 1):
            last = tried == self._pauses.attempts
            try:
                return self._once(method, endpoint, body, params)
            except ApiError as error:
                if last or (error.retry_after_s or 0) > _LONGEST_PAUSE_S:
                    raise
                if not (error.status == _THROTTLED or (method == "GET" and error.status >= 500)):
                    raise
                asked = error.retry_after_s
            except requests.RequestException:
                if last or method != "GET":
                    raise
                asked = None
            pause = _FIRST_PAUSE_S * 2 ** (tried - 1) if asked is None else asked
            self._pauses.sleep(min(pause, _LONGEST_PAUSE_S))
        raise ValueError(f"{self._pauses.attempts} attempts are none")

    def pages(
        self, endpoint: str, part: Sequence[str], labels: Sequence[Label], *, size: int, more: Mapping[str, str] = {}
    ) -> Iterator[dict[str, Any]]:
        """Every item of a listing that has all these labels. `part` is the way to the items in an answer.

        A page that is not full is the last one; an item that moved between two pages is told once.
        """
        told: set[str] = set()
        offset = 0
        filters = [("label", f"{key}={value}" if value else key) for key, value in labels]
        while True:
            place = [("limit", str(size)), ("offset", str(offset))]
            answer: Any = self.get_request(endpoint, params=[*filters, *more.items(), *place])
            for name in part:
                answer = answer[name]
            for item in answer:
                if item["uuid"] not in told:
                    told.add(item["uuid"])
                    yield item
            if len(answer) < size:
                return
            offset += size

    def _once(self, method: str, endpoint: str, body: Any, params: Any) -> dict[str, Any]:
        self._bucket.take(patience_s=PATIENCE_S)
        response = self._session.request(
            method, f"{self.api_root}{endpoint}", json=body, params=params, timeout=self.timeout
        )
        self._bucket.heard(response.headers, throttled=response.status_code == _THROTTLED)
        told = _json(response)
        if response.status_code >= 400:
            raise api_error(response.status_code, response.headers, told)
        if not isinstance(told, dict):
            raise requests.RequestException(f"{method} {endpoint}: an answer that is no JSON object")
        return told


class _Bearing(requests.auth.AuthBase):
    def __init__(self, authorization: str) -> None:
        self._authorization = authorization

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = self._authorization
        return request


def _json(response: requests.Response) -> Any:
    if not response.content:
        return {}
    try:
        return response.json()
    except ValueError:
        return None
