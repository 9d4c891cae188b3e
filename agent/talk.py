"""The two threads that talk to the server: one enrols and then long-polls the document, one sends reports.

Neither ever stops anything on its own: without the server the last document stays in force.
"""

import logging
import threading
import time
from collections.abc import Callable

from agent.backoff import Backoff
from agent.certification import Certification
from agent.client import CertificateLost, CredentialLost, NewDocument, Retired, RetryLater, ServerClient, ServerRefused
from agent.credential import CredentialFiles
from agent.inbox import Inbox, Outgoing, ReportOutbox
from agent.rotation import Rotation
from agent.wire import EnrolRequest, Report, ReportAnswer, UnchangedReport

_log = logging.getLogger(__name__)

_RARELY_S = 15.0
"""Between tries that a person must make succeed (lost credential, refused request)."""
_LEAST_POLL_S = 0.1
"""Between two polls, so that a server that answers at once does not spin us."""
_FRESH_S = 10.0
"""A document is taken from an answer that came so soon after it was asked for; a later one may have lain about."""


class DocumentTalk:
    """Enrolment and documents. `step` is one exchange and returns the seconds to pause before the next.

    `enrolment` makes the request that enrols a secret, `heard` is called after each answer. `clock`: monotonic seconds.
    Without `certification` the server is called on loopback, where there are no certificates. `outbox` is told when the
    server wants a report sooner than it said before.

    What a held question brings is asked for once more, for an answer at once: if this process was stopped, or cut off,
    meanwhile, it may ask for a stop that is safe no more.
    """

    def __init__(
        self,
        *,
        client: ServerClient,
        credential: CredentialFiles,
        enrolment: Callable[[str], EnrolRequest],
        inbox: Inbox,
        backoff: Backoff,
        etag: str,
        wait_s: float,
        heard: Callable[[], None] = lambda: None,
        certification: Certification | None = None,
        clock: Callable[[], float] = time.monotonic,
        outbox: ReportOutbox | None = None,
    ) -> None:
        self._client = client
        self._outbox = outbox
        self._certification = certification
        self._is_to_certify = False
        self._clock = clock
        self._credential = credential
        self._enrolment = enrolment
        self._inbox = inbox
        self._backoff = backoff
        self._etag = etag
        self._wait_s = wait_s
        self._heard = heard
        self._is_heard = False
        self._is_to_confirm = False
        self._said = ""
        self.is_over = False

    def step(self) -> float:
        try:
            if not self._credential.is_enrolled:
                self._enrol()
            if self._is_to_certify and self._certification is not None:
                self._is_to_certify = not self._certification.run()
            # An agent that has just begun hears at once that it is heard.
            is_held, asked_at = self._is_heard and not self._is_to_confirm, self._clock()
            answer = self._client.document(
                # Of an agent that has just begun all that is recorded counts: a door is opened by what it hears then.
                etag=self._etag if self._is_heard else "",
                wait_s=self._wait_s if is_held else 0.0,
                report_s=self._outbox.named_s() if self._outbox is not None else 0.0,
            )
        except Retired as error:
            _log.warning("retired: %s", error)
            self._inbox.put_retired()
            self.is_over = True
            return 0.0
        except RetryLater as error:
            self._say(str(error))
            return self._backoff.next_s(after_s=error.after_s)
        except CertificateLost as error:
            self._say(str(error))
            is_in_vain, self._is_to_certify = self._is_to_certify, True
            return _RARELY_S if is_in_vain else self._backoff.next_s()
        except CredentialLost as error:
            self._show_another()
            self._say(str(error))
            return _RARELY_S
        except ServerRefused as error:
            self._say(str(error))
            return _RARELY_S
        self._backoff.reset()
        self._say("")
        if answer.report_in_s is not None and self._outbox is not None:
            self._outbox.ask(answer.report_in_s)
        is_fresh = self._clock() - asked_at <= _FRESH_S
        self._is_to_confirm = isinstance(answer, NewDocument) and not is_fresh
        if isinstance(answer, NewDocument) and not self._is_to_confirm:
            # Also the etag of a document the converger will refuse: asking on without it would bring it back at once.
            self._etag = answer.etag
            self._inbox.put_document(answer, confirmed=answer.etag)
        elif is_fresh:
            self._inbox.put_confirmed(self._etag)
        self._is_heard = self._is_heard or is_fresh
        self._heard()
        return _LEAST_POLL_S

    def _enrol(self) -> None:
        begun = self._certification.begin() if self._certification is not None else None
        asked = self._enrolment(self._client.shown)
        answer = self._client.enrol(asked.model_copy(update={"csr": begun.csr_pem}) if begun is not None else asked)
        self._credential.keep_enrolled()
        if self._certification is not None and begun is not None and answer.certificate:
            self._certification.take(begun, answer.certificate)

    def _show_another(self) -> None:
        """The credential that was shown is not known: try the one before, and after that enrol again.

        A server that was restored from a backup knows the one before the last rotation. One that has lost its database
        judges alone whether this VM may enrol once more, with the same token: who is refused goes on as before.
        """
        earlier = self._credential.earlier
        if earlier and self._client.shown != earlier:
            self._client.show(earlier)
            return
        self._client.show(self._credential.load_or_make())
        self._credential.forget_enrolled()

    def _say(self, problem: str) -> None:
        if problem and problem != self._said:
            _log.warning("%s", problem)
        self._said = problem
        self._inbox.put_problem(problem)


class ReportTalk:
    """Sends the latest report, and rotates the credential, or renews the certificate, when the answer asks for it. The
    answer also says when the next one is wanted; a server that has a report already hears its digest alone.

    `step` is one exchange and returns the seconds to pause before the next; `told` is called after each that was taken.
    """

    def __init__(
        self,
        *,
        client: ServerClient,
        credential: CredentialFiles,
        rotation: Rotation,
        outbox: ReportOutbox,
        inbox: Inbox,
        backoff: Backoff,
        on_taken: Callable[[], None] = lambda: None,
        certification: Certification | None = None,
    ) -> None:
        self._client = client
        self._certification = certification
        self._on_taken = on_taken
        self._rotation = rotation
        self._credential = credential
        self._outbox = outbox
        self._inbox = inbox
        self._backoff = backoff
        self._kept_digest = ""
        self.is_over = False

    def step(self) -> float:
        outgoing = self._outbox.wait(5.0)
        if outgoing is None:
            return 0.0
        if not self._credential.is_enrolled:
            self._outbox.again()
            return self._backoff.next_s()
        pause_s, answer = self._sent(outgoing)
        if answer is None:
            return pause_s
        self._backoff.reset()
        self._outbox.ask(answer.next_s)
        if answer.whole:
            self._kept_digest = ""
            self._outbox.again()
        self._on_taken()
        pause_s = self._renew("credential", self._rotation.run) if answer.rotate else 0.0
        if answer.certify and self._certification is not None:
            pause_s = max(pause_s, self._renew("certificate", self._certification.run))
        return pause_s

    def _sent(self, outgoing: Outgoing) -> tuple[float, ReportAnswer | None]:
        """The answer; None where the report was not taken, and the pause after that."""
        report, kept_digest = outgoing.report, self._kept_digest
        self._kept_digest = ""
        try:
            if report.digest and report.digest == kept_digest and not outgoing.is_measured:
                answer = self._client.unchanged(_unchanged(report))
            else:
                answer = self._client.report(report)
        except RetryLater as error:
            _log.info("report %d not sent: %s", report.seq, error)
            pause_s = self._backoff.next_s(after_s=error.after_s)
        except Retired:
            self._inbox.put_retired()
            pause_s = _RARELY_S
        except (CredentialLost, ServerRefused) as error:
            _log.warning("report %d not taken: %s", report.seq, error)
            pause_s = _RARELY_S
        else:
            self._kept_digest = report.digest if answer.next_s is not None else ""
            return 0.0, answer
        self._outbox.again()
        return pause_s, None

    def _renew(self, what: str, renewal: Callable[[], object]) -> float:
        """The server asks again with each report: what fails now is done later, and what is in force counts."""
        try:
            renewal()
        except Retired:
            self._inbox.put_retired()
            return _RARELY_S
        except (RetryLater, CredentialLost, ServerRefused, OSError) as error:
            _log.warning("the %s was not renewed, the one in force still counts: %s", what, error)
            return _RARELY_S
        return 0.0


def _unchanged(report: Report) -> UnchangedReport:
    return UnchangedReport(
        wire=report.wire,
        cluster_uid=report.cluster_uid,
        node=report.node,
        generation=report.generation,
        boot_id=report.boot_id,
        seq=report.seq,
        digest=report.digest,
    )


def talk_in_thread(talk: DocumentTalk | ReportTalk, *, pause: Callable[[float], object]) -> threading.Thread:
    """A daemon thread: the agent's end never waits for a long-poll."""

    def run() -> None:
        while not talk.is_over:
            pause(talk.step())

    thread = threading.Thread(target=run, name=type(talk).__name__, daemon=True)
    thread.start()
    return thread
