"""One request to the server, sent again where its answer was lost; and a list read whole, page by page."""

import uuid
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast
from urllib.parse import parse_qsl, quote, urlsplit

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from controlplane.api.schemas.messages import API_PREFIX
from controlplane.cli import exits, replies
from controlplane.cli.address import ServerAddress
from controlplane.cli.errors import CliError
from controlplane.runtime.path_names import is_path_part
from controlplane.runtime.untrusted_text import on_one_line

TIMEOUT_S = 60.0
"""A plan over a large cluster takes a while; a connection that nobody accepts does not."""
CONNECT_TIMEOUT_S = 5.0
ATTEMPTS = 3
PAUSE_S = 0.5

_T = TypeVar("_T")
_LOST = (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)


def part(name: str) -> str:
    """The name as a part of a path. Raises CliError for one that cannot be: `..` would lead to another address."""
    if not is_path_part(name):
        why = "it is empty, `.`, `..`, or holds what cannot be printed: nothing of a cluster is called so"
        raise CliError(f"`{on_one_line(name)}` is not a name", why=why, exit_code=exits.USAGE)
    return quote(name, safe="")


class Exchange:
    """Talks to one server. Methods raise Unreachable, Refused and CliError."""

    def __init__(
        self,
        locate: Callable[[], ServerAddress],
        *,
        actor: str = "",
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None],
    ) -> None:
        """`actor` is who the history names; a courtesy to the others, no proof."""
        self._locate = locate
        self._actor = actor
        self._transport = transport
        self._sleep = sleep
        self._open: dict[bool, httpx.Client] = {}

    def close(self) -> None:
        """Closes what connections there are."""
        for http in self._open.values():
            http.close()
        self._open.clear()

    def _get(
        self, path: str, reply: type[_T], *, params: Mapping[str, str] | None = None, timeout_s: float = TIMEOUT_S
    ) -> _T:
        return self._send("GET", path, reply, params=params, timeout_s=timeout_s)

    def _post(self, path: str, body: BaseModel, reply: type[_T]) -> _T:
        return self._send("POST", path, reply, body=body, key=str(uuid.uuid4()))

    def _whole(
        self,
        path: str,
        reply: type[_T],
        *,
        of: str = "",
        params: Mapping[str, str] | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> _T:
        """All pages of a list as one answer: those of a bare list, or those of the field `of`; else as the first."""
        first, following = self._page(path, reply, params, timeout_s)
        whole: Any = first
        items = [*getattr(whole, of)] if of else [*whole]
        while following is not None:
            page: Any
            page, following = self._page(path, reply, following, timeout_s)
            items += getattr(page, of) if of else page
        return cast("_T", whole.model_copy(update={of: items}) if of else items)

    def _page(
        self, path: str, reply: type[_T], params: Mapping[str, str] | None, timeout_s: float
    ) -> tuple[_T, Mapping[str, str] | None]:
        """An answer, and what the page behind it is asked for by."""
        response, address = self._answer("GET", path, params=params, timeout_s=timeout_s)
        link = response.links.get("next")
        # Only what is asked comes from the server: the token goes where it went before.
        following = dict(parse_qsl(urlsplit(link["url"]).query, keep_blank_values=True)) if link else None
        return _read(response, address, reply), following

    def _send(
        self,
        method: str,
        path: str,
        reply: type[_T],
        *,
        params: Mapping[str, str] | None = None,
        body: BaseModel | None = None,
        key: str = "",
        timeout_s: float = TIMEOUT_S,
    ) -> _T:
        response, address = self._answer(method, path, params=params, body=body, key=key, timeout_s=timeout_s)
        return _read(response, address, reply)

    def _answer(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: BaseModel | None = None,
        key: str = "",
        timeout_s: float = TIMEOUT_S,
    ) -> tuple[httpx.Response, ServerAddress]:
        address = self._locate()
        headers = {"Authorization": f"Bearer {address.token.get_secret_value()}", "Accept": "application/json"}
        if key:
            headers["Idempotency-Key"] = key
        if self._actor.isascii() and self._actor.isprintable() and self._actor:
            headers["X-Kedge-Actor"] = self._actor
        request = httpx.Request(
            method,
            f"{address.url}{API_PREFIX}{path}",
            params=params,
            headers=headers,
            json=None if body is None else body.model_dump(mode="json"),
            extensions={"timeout": httpx.Timeout(timeout_s, connect=min(timeout_s, CONNECT_TIMEOUT_S)).as_dict()},
        )
        response = self._exchange(request, address)
        if not response.is_success:
            raise replies.refusal(response, address)
        return response, address

    def _exchange(self, request: httpx.Request, address: ServerAddress) -> httpx.Response:
        http = self._http(trust_env=not address.is_local)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return http.send(request)
            except _LOST as error:
                if attempt == ATTEMPTS:
                    raise replies.unreachable(address, error) from None
                self._sleep(PAUSE_S)
            except httpx.HTTPError as error:
                raise replies.unreachable(address, error) from None
        raise AssertionError("unreachable")

    def _http(self, *, trust_env: bool) -> httpx.Client:
        """`trust_env` False: a proxy of the environment neither sees a loopback token nor stands in the way of it."""
        if trust_env not in self._open:
            self._open[trust_env] = httpx.Client(transport=self._transport, trust_env=trust_env, follow_redirects=False)
        return self._open[trust_env]


def _read(response: httpx.Response, address: ServerAddress, reply: type[_T]) -> _T:
    try:
        # A newer server may say more than this client knows.
        return TypeAdapter(reply).validate_json(response.content, extra="ignore")
    except ValidationError as error:
        raise replies.unreadable(response, address, error) from None
