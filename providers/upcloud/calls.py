"""One call to UpCloud, bounded in time and tries. The SDK's own opens a connection per call and keeps no status."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import requests
from upcloud_api.api import API  # type: ignore[import-untyped]

from providers.call_budget import PATIENCE_S, TokenBucket
from providers.upcloud.errors import UpcloudAnswerError, api_error

CONNECT_S, READ_S = 3.0, 7.0
"""A call of the converger lasts at most 10 s."""

TOTAL = "Upcloud-Total-Count"
"""How many things there are by the filters of a listing, of all its pages. Recorded answers of UpCloud's newer listings
have it (file-storage, database, certificate bundles: upcloud-go-api f64673e, upcloud/service/fixtures), those of
/server and /storage, of 2023 and asked without `limit`, do not. So it counts where it is there."""

_READINGS = 5
_LONGEST_PAUSE_S = 10.0
_THROTTLED = 429
_FIRST_PAUSE_S = 0.5

Label = tuple[str, str]


@dataclass(slots=True)
class Pauses:
    """How often a call is tried, and who sleeps between."""

    attempts: int = 3
    sleep: Callable[[float], None] = field(default=time.sleep)


@dataclass(frozen=True, slots=True)
class _Answer:
    """What an answer says, and how many things its listing has in all, where it tells."""

    body: dict[str, Any]
    total: int | None = None


class Calls(API):  # type: ignore[misc]  # the SDK has no types
    """The API of the SDK on kept connections. Raises `UpcloudAnswerError` and `requests.RequestException`.

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
        return self._answer(method, endpoint, body, params).body

    def _answer(self, method: str, endpoint: str, body: Any, params: Any) -> _Answer:
        for tried in range(1, self._pauses.attempts + 1):
            last = tried == self._pauses.attempts
            try:
                return self._once(method, endpoint, body, params)
            except UpcloudAnswerError as error:
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

        A page that is not full is the last one, and so is a full one where UpCloud tells that there are no more. Where
        it tells how many there are, and that was another number on another page or than was listed, items moved across
        the edge of a page and one may be missing: all is read again, until it is right or twice the same, as nobody has
        seen yet what this number counts. An item that was told twice is told once.

        Raises `requests.RequestException` where it does not come to rest.
        """
        filters = [("label", f"{key}={value}" if value else key) for key, value in labels]
        before: tuple[set[str], set[int]] | None = None
        for _ in range(_READINGS):
            listed: dict[str, dict[str, Any]] = {}
            totals: set[int] = set()
            for items, total in self._read(endpoint, part, [*filters, *more.items()], size):
                totals |= {total} if total is not None else set()
                listed.update((item["uuid"], item) for item in items)
            seen = set(listed), totals
            if totals <= {len(listed)} or seen == before:
                yield from listed.values()
                return
            before = seen
        raise requests.RequestException(f"GET {endpoint}: the listing changed in each of {_READINGS} readings")

    def _read(
        self, endpoint: str, part: Sequence[str], asked: Sequence[tuple[str, str]], size: int
    ) -> Iterator[tuple[list[dict[str, Any]], int | None]]:
        """Page after page, and the total told beside it."""
        for offset in count(0, size):
            place = [("limit", str(size)), ("offset", str(offset))]
            answer = self._answer("GET", endpoint, None, [*asked, *place])
            items: Any = answer.body
            for name in part:
                items = items[name]
            yield items, answer.total
            if len(items) < size or (answer.total is not None and offset + size >= answer.total):
                return

    def _once(self, method: str, endpoint: str, body: Any, params: Any) -> _Answer:
        self._bucket.take(patience_s=PATIENCE_S)
        response = self._session.request(
            method, f"{self.api_root}{endpoint}", json=body, params=params, timeout=self.timeout
        )
        self._bucket.heard(response.headers, throttled=response.status_code == _THROTTLED)
        told = _json(response)
        if response.status_code >= 400:
            raise api_error(response.status_code, response.headers, told)
        if not isinstance(told, dict):
            raise requests.RequestException(f"{method} {endpoint}: an answer that is not a JSON object")
        return _Answer(told, _number(response.headers.get(TOTAL)))


class _Bearing(requests.auth.AuthBase):
    def __init__(self, authorization: str) -> None:
        self._authorization = authorization

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = self._authorization
        return request


def _number(told: str | None) -> int | None:
    return int(told) if told is not None and told.isascii() and told.isdigit() else None


def _json(response: requests.Response) -> Any:
    if not response.content:
        return {}
    try:
        return response.json()
    except ValueError:
        return None
