"""`kedge server --only relay`: writes the audit to its topic, and does nothing else. It serves nobody, keeps no file,
and has no more of Kedge than the right to read the audit.
"""

import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from sqlalchemy import Engine
from sqlalchemy.exc import ProgrammingError

from controlplane.api.audit.binding import AuditTopicBinding
from controlplane.api.audit.holder import RelayWord
from controlplane.api.audit.lock import AuditTurnTaken, SqlTurn
from controlplane.api.audit.relay import PAGE, RELAY_EVERY_S, AuditRelay
from controlplane.api.audit.store import AuditFilter, SqlAuditStore
from controlplane.api.audit.topic import AuditNotSent, AuditTopicForeign, KafkaAuditTopic
from controlplane.background.notifications.binding import NotifierUnusable, kept_secret
from controlplane.runtime.core_dumps import leave_no_core_files
from controlplane.runtime.process_errors import TROUBLES
from controlplane.runtime.redaction import redacted
from controlplane.server.database_roles import RELAY, RoleRefused, check_role
from controlplane.server.logging_setup import log_to_stderr
from controlplane.server.settings import Settings, warn_of_old_names
from controlplane.server.split.relay_forbidden_access import RelayRefused, check_relay_reach
from events.engine import build_engine
from events.errors import EventsError

_log = logging.getLogger(__name__)

_REFUSALS = (RelayRefused, RoleRefused, NotifierUnusable, EventsError, OSError)


def run_relay(settings: Settings) -> int:
    """Relays until SIGTERM or SIGINT. Returns the exit code."""
    log_to_stderr(settings.process.log_level, settings.process.log_format, server=socket.gethostname())
    warn_of_old_names(settings)
    leave_no_core_files()
    try:
        serve_relay(settings)
    except _REFUSALS as error:
        print(redacted(f"kedge server: {error}"), file=sys.stderr)
        return 1
    return 0


def serve_relay(settings: Settings) -> None:
    """The same, raising: RelayRefused, RoleRefused, NotifierUnusable, StoreUnavailable."""
    binding = settings.audit_topic
    if binding is None:  # the settings refuse it
        raise RelayRefused("there is no [audit_topic]: a relay has nothing to write to")
    check_relay_reach(settings.home)
    engine = build_engine(settings.database_url, pool_size=2)
    try:
        with _stopped_by_signals() as stop:
            _relayed(engine, binding, stop)
    finally:
        engine.dispose()


def _relayed(engine: Engine, binding: AuditTopicBinding, stop: threading.Event) -> None:
    check_role(engine, RELAY)
    if binding.properties_file is not None:
        kept_secret(binding.properties_file, "[audit_topic]")  # refused now rather than at the first entry
    store = SqlAuditStore(engine)
    try:
        store.page(AuditFilter(), 1)
    except ProgrammingError as error:
        raise RelayRefused(
            "the audit's table is of another release than this relay. As its owner: `kedge db migrate`, then what "
            "`kedge db grants` prints; then start again"
        ) from error
    turn = SqlTurn(engine, keeps=True)
    relay = AuditRelay(store, KafkaAuditTopic(binding), GoesOn(stop), binding.where, turn=turn)
    _log.info("relaying the audit to %s, and nothing else", binding.where)
    try:
        RelayDuty(relay, turn.tell, stop).run()
    finally:
        relay.close()
        _log.info("stopped: the audit goes on from there at the next start")


class GoesOn:
    """`Leadership` of a relay: it acts until it is told to stop."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop

    @property
    def may_act(self) -> bool:
        """Whether another record may be sent."""
        return not self._stop.is_set()


class RelayDuty:
    """A relay's looks, one after the other, each with a word of how it went. A problem is logged when it is another."""

    def __init__(self, relay: AuditRelay, tell: Callable[[RelayWord], None], stop: threading.Event) -> None:
        self._relay, self._tell, self._stop = relay, tell, stop
        self._position: int | None = None
        self._problem = ""

    def run(self) -> None:
        """Until the stop is set."""
        while not self._stop.is_set():
            has_more = False
            with TROUBLES.turn("audit relay"):
                has_more = self.look()
            if not has_more:
                self._stop.wait(RELAY_EVERY_S)

    def look(self) -> bool:
        """Writes what there is. Whether there may be more at once."""
        before, short, problem = self._position, "", ""
        try:
            self._relay.poll()
        except AuditNotSent as error:
            short, problem = f"not sent: {error.why}", str(error)
        except AuditTopicForeign as error:
            short, problem = "its topic is of another audit", str(error)
        except AuditTurnTaken as error:
            short, problem = "waits", str(error)
        except EventsError as error:
            short, problem = "the database did not answer", str(error)
        except Exception as error:  # noqa: BLE001 - one look that is poisoned must not end the others
            short, problem = f"failed: {type(error).__name__}", f"the look failed: {type(error).__name__}"
            _log.exception("the look failed")
        self._position = self._relay.reached
        self._log_change(problem)
        self._tell(RelayWord(self._position, short))
        return not problem and self._position is not None and self._position - (before or 0) >= PAGE

    def _log_change(self, problem: str) -> None:
        if problem and problem != self._problem:
            _log.warning("%s", problem)
        elif self._problem and not problem:
            _log.info("the audit reaches its topic again")
        self._problem = problem


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """Set at the first SIGTERM or SIGINT: the record in hand is sent, or given up within its time."""
    stop = threading.Event()

    def ask(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
