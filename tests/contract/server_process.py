"""Servers as processes of their own, forked off one that has imported what they need: a server spends more of the
processor on its imports than on all else that these tests ask of it.

That one process is Python's own fork server, of which each process of tests has one; it ends with that.
"""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from io import TextIOWrapper
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from tests.contract.reachable import open_to_all
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    [__name__, "controlplane.server.bootstrap", "controlplane.portal.app", "controlplane.server.process"]
)


class ServerProcess:
    """A server without planner on the home at that path, at a port the system chooses, or `PORT_OF_TEST` of its
    environment. `stderr` is its log.

    It has the environment given and no more, as a process that was started by its command. `user`: the id of the Unix
    user it runs as, that of the tests where none is given. `descriptors`: how many it may have at most, soft and hard.
    """

    def __init__(
        self, home: str, environ: dict[str, str], *, user: int | None = None, descriptors: int | None = None
    ) -> None:
        reader, writer = _FORKS.Pipe(duplex=False)
        given = (home, environ, writer, user, descriptors)
        self._process = _FORKS.Process(target=_serve, args=given, daemon=True)
        self._process.start()
        writer.close()  # the child has it, and its end is the end of the log
        self.stderr: TextIOWrapper = os.fdopen(os.dup(reader.fileno()), encoding="utf-8", errors="replace")
        reader.close()

    @property
    def pid(self) -> int:
        """Of the process, which has been started."""
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        """The exit status, the negative number of a signal, None while it runs."""
        return self._process.exitcode

    def wait(self, timeout_s: float) -> int:
        """The exit status. Raises TimeoutError while it runs on."""
        self._process.join(timeout_s)
        code = self._process.exitcode
        if code is None:
            raise TimeoutError(f"the server still runs after {timeout_s:.0f} s")
        return code

    def send_signal(self, number: int) -> None:
        """To the process alone, if it still runs."""
        if self._process.exitcode is None and self._process.pid is not None:
            os.kill(self._process.pid, number)

    def kill(self) -> None:
        """As nobody can refuse."""
        self.send_signal(signal.SIGKILL)


def _serve(home: str, environ: dict[str, str], log: Connection, user: int | None, descriptors: int | None) -> None:
    import logging
    import resource

    from controlplane.server.bootstrap import build
    from controlplane.server.logging_setup import log_to_stderr
    from controlplane.server.parts import Services
    from controlplane.server.process import serve, serve_agents, serve_portal
    from controlplane.server.settings import Settings, load_settings
    from controlplane.server.split.relay import serve_relay

    os.dup2(log.fileno(), sys.stderr.fileno())
    log.close()
    if descriptors is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
    os.environ.clear()
    os.environ.update(environ)

    def assemble(settings: Settings, **bound: Any) -> Services:
        return replace(build(settings, **bound), planning=_NoPlanner())  # type: ignore[arg-type]

    if "KEDGE_LOG_FORMAT" in environ:
        log_to_stderr("INFO", environ["KEDGE_LOG_FORMAT"])
    else:
        logging.basicConfig(level="INFO")
    if user is not None:
        _become(user)
    settings = load_settings(home=home, port=int(environ.get("PORT_OF_TEST", "0")))
    if settings.process.only == "portal":
        serve_portal(settings)
    elif settings.process.only == "agents":
        serve_agents(settings)
    elif settings.process.only == "relay":
        serve_relay(settings)
    else:
        serve(settings, assemble=assemble)


def _become(user: int) -> None:
    """Another Unix user, of a group of its own. Checkout, packages and Python's own library may lie where only root
    gets to, as below /root: what is read of them later is there for this process.
    """
    import ctypes

    open_to_all((ROOT, Path(sys.prefix), Path(sys.base_prefix)))
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
    # prctl(2): a process that changed its user may not look at its own /proc without it. PR_SET_DUMPABLE is 4.
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)


class _NoPlanner:
    def warm_up(self) -> None: ...

    def stop(self) -> None: ...


class Logged(Protocol):
    """A process whose words are kept."""

    @property
    def log(self) -> str: ...


def eventually(condition: Callable[[], object], of: Logged, *, timeout_s: float = 60.0) -> None:
    """Waits for it. What the process said comes with the TimeoutError."""
    until(condition, timeout_s=timeout_s, every_s=0.1, told=lambda: of.log)
