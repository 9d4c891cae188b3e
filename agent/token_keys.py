"""The keys by which listeners judge tokens (JWKS, RFC 7517), fetched from their provider each minute into files that
Kafka reads again by itself (`agent.services.token_properties`).

What was fetched last stays while the provider is away, over restarts of Kafka and of the agent, too. Only public keys
of signatures are taken: a symmetric one would let anybody who reads it sign.
"""

import json
import logging
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Protocol

import httpx

from agent import wire
from agent.call_end import CallEnd
from agent.durable import write_durably
from agent.duty import Duty
from agent.identity import is_loopback
from agent.service_user import ServiceUser
from agent.services.token_properties import key_file
from agent.system_clock import SystemClock

_log = logging.getLogger(__name__)

EVERY_S, AGAIN_S = 60.0, 5.0
"""Between two fetches, and after one that failed."""
LARGEST_BYTES = 256 * 1024
_TIMEOUT_S = 10.0
"""For each byte."""
WITHIN_S = 30.0
"""For all of them: who sends one now and then would keep the keys as they are for ever, and nobody would hear of it."""
_PUBLIC = frozenset({"kty", "kid", "use", "alg", "n", "e", "crv", "x", "y", "x5t", "x5t#S256"})
_KINDS = ("RSA", "EC", "OKP")


class KeysUnusable(ValueError):
    """What came from the provider, or did not: the words say why, and repeat nothing of it."""


class KeysClock(Protocol):
    def now(self) -> datetime: ...


@dataclass(frozen=True, slots=True)
class TokenListener:
    """Whose keys go into which file."""

    listener: str
    tokens: wire.TokenIssuer
    file: Path


@dataclass(frozen=True, slots=True)
class TokenKeysTask:
    """All that is to be fetched for the services of a VM."""

    listeners: tuple[TokenListener, ...]


def token_keys_task(document: wire.Document | None, folder: Callable[[str], Path]) -> TokenKeysTask | None:
    """None where no listener asks for tokens. `folder`: by service, of its certificates."""
    found = tuple(
        TokenListener(listener.name, tokens, key_file(folder(service.name), listener))
        for service in (document.services if document is not None else ())
        if service.tls is not None
        for listener, tokens in service.tls.token_listeners
    )
    return TokenKeysTask(found) if found else None


class LatestTokenKeys:
    """What reports tell of them. Written by one thread, read by another."""

    def __init__(self) -> None:
        self._said: Mapping[str, wire.TokenKeysReport] = {}

    def put(self, report: wire.TokenKeysReport) -> None:
        self._said = {**self._said, report.listener: report}

    def keep(self, task: TokenKeysTask | None) -> None:
        """Forgets listeners that are no more."""
        names = {one.listener for one in task.listeners} if task is not None else set()
        if not names >= self._said.keys():
            self._said = {name: one for name, one in self._said.items() if name in names}

    def of(self, listener: str) -> wire.TokenKeysReport | None:
        return self._said.get(listener)

    def read(self) -> tuple[wire.TokenKeysReport, ...]:
        return tuple(self._said[name] for name in sorted(self._said))


class TokenKeys:
    """Keeps the files of the listeners there are, by a thread of its own while there is one. `follow` after every pass
    of the converger; it never waits."""

    def __init__(self, folder: Callable[[str], Path], user: ServiceUser | None, clock: SystemClock) -> None:
        self._folder, self._user, self._clock = folder, user, clock
        self._latest = LatestTokenKeys()
        self._duty = Duty[TokenKeysTask](self._start, clock)

    def follow(self, document: wire.Document | None) -> None:
        task = token_keys_task(document, self._folder)
        self._latest.keep(task)
        self._duty.follow(task)

    def read(self) -> tuple[wire.TokenKeysReport, ...]:
        """What reports tell of them."""
        return self._latest.read()

    def _start(self, task: TokenKeysTask, /, *, leaving: threading.Event) -> threading.Thread:
        keep = partial(keep_token_keys, task, leaving=leaving, latest=self._latest, user=self._user, clock=self._clock)
        thread = threading.Thread(target=keep, name="token-keys", daemon=True)
        thread.start()
        return thread


def keep_token_keys(
    task: TokenKeysTask,
    *,
    leaving: threading.Event,
    latest: LatestTokenKeys,
    user: ServiceUser | None,
    clock: KeysClock,
    fetch: Callable[[wire.TokenIssuer], bytes] | None = None,
) -> None:
    """Until `leaving` is set."""
    while not leaving.is_set():
        done = [_refresh(one, latest, user, clock, fetch or fetch_keys) for one in task.listeners]
        leaving.wait(EVERY_S if all(done) else AGAIN_S)


def _refresh(
    one: TokenListener,
    latest: LatestTokenKeys,
    user: ServiceUser | None,
    clock: KeysClock,
    fetch: Callable[[wire.TokenIssuer], bytes],
) -> bool:
    """Whether the file has what the provider tells."""
    problem, before = "", latest.of(one.listener)
    fetched = before.fetched if before is not None else None
    try:
        _keep(one.file, public_keys(fetch(one.tokens)), user)
        fetched = clock.now().replace(microsecond=0)
    except (KeysUnusable, OSError) as error:
        problem = str(error)
    if problem and (before is None or before.problem != problem):
        _log.warning("the keys for tokens at listener %s are as before: %s", one.listener, problem)
    report = wire.TokenKeysReport(listener=one.listener, keys=count_keys(one.file), fetched=fetched, problem=problem)
    latest.put(report)
    return not problem


def fetch_keys(tokens: wire.TokenIssuer, within_s: float = WITHIN_S) -> bytes:
    """What the provider tells, as it comes over the wire: packed it could be any size once it is unpacked. Raises
    KeysUnusable."""
    found = b""
    late = f"{tokens.jwks} is not done with its answer after {within_s:.0f} s"
    headers = {"accept": "application/json", "accept-encoding": "identity"}
    loopback = is_loopback(tokens.jwks)
    with CallEnd(within_s) as end:
        try:
            trust = ssl.create_default_context(cadata=tokens.ca or None)
            with (
                httpx.Client(
                    verify=trust, timeout=_TIMEOUT_S, follow_redirects=False, trust_env=not loopback
                ) as client,
                client.stream("GET", tokens.jwks, headers=headers, extensions={"trace": end.trace}) as answer,
            ):
                if answer.status_code != httpx.codes.OK:
                    raise KeysUnusable(f"{tokens.jwks} answers {answer.status_code}")
                if (packed := answer.headers.get("content-encoding", "identity").lower()) != "identity":
                    raise KeysUnusable(f"{tokens.jwks} answers packed ({packed[:20]!r}), which nobody asked for")
                for part in answer.iter_raw():
                    found += part
                    if end.is_over:
                        raise KeysUnusable(late)
                    if len(found) > LARGEST_BYTES:
                        raise KeysUnusable(f"{tokens.jwks} answers more than {LARGEST_BYTES} bytes")
        except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError) as error:
            raise KeysUnusable(late if end.is_over else f"{tokens.jwks} cannot be fetched: {error}") from error
    if end.is_over:
        raise KeysUnusable(late)
    return found


def public_keys(told: bytes) -> bytes:
    """The keys of signatures in a JWKS, as a file has them. Raises KeysUnusable where there is none."""
    try:
        listed = json.loads(told)["keys"]
        keys = [
            {name: value for name, value in key.items() if name in _PUBLIC and isinstance(value, str)}
            for key in listed
            if key.get("kty") in _KINDS and key.get("use", "sig") == "sig"
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise KeysUnusable("what the provider tells is no JWKS") from error
    if not keys:
        raise KeysUnusable("the provider tells no public key of signatures")
    return json.dumps({"keys": keys}, sort_keys=True).encode() + b"\n"


def count_keys(file: Path) -> int:
    """How many a file has; 0 where there is none."""
    try:
        return len(json.loads(file.read_bytes())["keys"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def _keep(file: Path, keys: bytes, user: ServiceUser | None) -> None:
    """Nothing where it is so already: Kafka reads a file again whose time is another. Raises OSError."""
    if file.is_file() and file.read_bytes() == keys:
        return
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if user is not None:
        user.share(file.parent)
    write_durably(file, keys, mode=0o600, owner=(user.uid, user.gid) if user is not None else None)
    _log.info("%s has the keys that its provider tells", file.name)
