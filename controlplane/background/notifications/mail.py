"""A mail by SMTP: all notices of a cluster in one."""

import smtplib
import socket
import ssl
from collections.abc import Callable, Sequence
from email.message import EmailMessage
from email.utils import format_datetime, make_msgid

from pydantic import SecretStr

from controlplane.background.notifications.binding import NotifierUnusable, SmtpBinding
from controlplane.background.notifications.delivery import NotDelivered
from controlplane.background.notifications.notice import Notice
from controlplane.cluster.condition_severity import Severity
from controlplane.runtime.egress import Egress, EgressRefused

MOST_SUBJECT = 150
"""Characters."""


class Mail:
    """See Notifier. A connection for each mail; `password` is read anew for it."""

    def __init__(
        self, binding: SmtpBinding, password: Callable[[], SecretStr] | None, egress: Egress, timeout_s: float
    ) -> None:
        self._binding, self._password = binding, password
        self._egress, self._timeout_s = egress, timeout_s

    def tell(self, notices: Sequence[Notice]) -> None:
        """See Notifier. Taken once the server has accepted it for every recipient."""
        where = self._binding.where
        try:
            with self._connected() as server:
                refused = server.send_message(mail(self._binding, notices))
        except (NotifierUnusable, ssl.SSLError) as error:
            raise NotDelivered(f"{where}: {error}") from None
        except smtplib.SMTPAuthenticationError as error:
            raise NotDelivered(f"{where} refused the credentials of {self._binding.user}: {error.smtp_code}") from None
        except smtplib.SMTPResponseException as error:
            raise NotDelivered(f"{where} answered {error.smtp_code}") from None
        except smtplib.SMTPRecipientsRefused as error:
            raise NotDelivered(f"{where} refused {', '.join(sorted(error.recipients))}") from None
        except (OSError, smtplib.SMTPException) as error:
            raise NotDelivered(f"{where} did not answer: {type(error).__name__}: {error}") from None
        if refused:
            raise NotDelivered(f"{where} refused {', '.join(sorted(refused))}")

    def close(self) -> None:
        """Nothing is held."""

    def _connected(self) -> smtplib.SMTP:
        """Raises OSError, SMTPException, NotifierUnusable."""
        binding = self._binding
        made = _JudgedTls if binding.security == "tls" else _Judged
        server = made(self._egress, binding.host, self._timeout_s)
        try:
            server.connect(binding.host, binding.port)
            if binding.security == "starttls":
                server.starttls(context=ssl.create_default_context())
            if binding.user and self._password is not None:
                server.login(binding.user, self._password().get_secret_value())
        except BaseException:
            server.close()
            raise
        return server


class _Judged(smtplib.SMTP):
    """A connection that goes to no address which the settings do not allow."""

    def __init__(self, egress: Egress, host: str, timeout_s: float) -> None:
        super().__init__(timeout=timeout_s)
        # What STARTTLS holds the certificate against: `connect` alone does not keep it.
        self._egress, self._host = egress, host

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        return _connected(self._egress, host, port, timeout)


class _JudgedTls(smtplib.SMTP_SSL):
    """The same, over TLS from the first byte."""

    def __init__(self, egress: Egress, host: str, timeout_s: float) -> None:
        super().__init__(timeout=timeout_s, context=ssl.create_default_context())
        self._egress, self._host = egress, host

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        return self.context.wrap_socket(_connected(self._egress, host, port, timeout), server_hostname=host)


def _connected(egress: Egress, host: str, port: int, timeout: float) -> socket.socket:
    """To the first address that answers. Raises OSError, ConnectionRefusedError where none may be called."""
    failed: OSError | None = None
    try:
        addresses = egress.addresses(host, port, named=True)
    except EgressRefused as refused:
        raise ConnectionRefusedError(str(refused)) from None
    for address in addresses:
        try:
            return socket.create_connection((address, port), timeout)
        except OSError as error:
            failed = error
    raise failed or OSError(f"{host} has no address")


def mail(binding: SmtpBinding, notices: Sequence[Notice]) -> EmailMessage:
    """The mail. The subject has no line break whatever a message of Kafka's has; the thread is that of the cluster."""
    first = notices[0]
    made = EmailMessage()
    word = max((Severity(n.severity) for n in notices if not n.is_over), key=list(Severity).index, default="resolved")
    subject = first.sentence if len(notices) == 1 else f"{first.cluster}: {len(notices)} notices"
    made["Subject"] = " ".join(f"[Kedge {word}] {subject}".split())[:MOST_SUBJECT]
    made["From"], made["To"] = binding.sender, ", ".join(binding.recipients)
    made["Date"] = format_datetime(max(n.at for n in notices))
    made["Message-ID"] = make_msgid(first.id, domain="kedge")
    made["Auto-Submitted"] = "auto-generated"  # RFC 3834: nobody's absence notice comes back
    made.set_content("\n\n".join(f"{n.at:%Y-%m-%d %H:%M:%S} UTC [{n.severity}]\n{n.sentence}" for n in notices) + "\n")
    return made
