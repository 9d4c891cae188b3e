"""How Spark shows itself to brokers that speak TLS: a certificate and its key in the options of a read, in no file.

Kafka's client takes PEM from its settings (KIP-651). Options go into no checkpoint, and Spark writes those whose name
`REDACTED` matches as `*********(redacted)`, in plans, in its event log and on its pages.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

_USUAL = "(?i)secret|password|token|access[.]?key"
"""Spark 4.1's own default of `spark.redaction.regex`."""

REDACTED: Mapping[str, str] = {
    "spark.redaction.regex": f"{_USUAL}|keystore[.]key",
    "spark.sql.redaction.options.regex": "(?i)url|keystore[.]key",
    "spark.sql.redaction.string.regex": r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END|$)",
}
"""Settings of a session that reads so."""


@dataclass(frozen=True, slots=True)
class ReaderTls:
    """Whom a reader believes, and what it shows: PEM, the key PKCS#8 without a password. `repr` shows none of it."""

    ca_pem: str = field(repr=False)
    certificate_pem: str = field(repr=False)
    key_pem: str = field(repr=False)


def read_options(tls: ReaderTls | None) -> dict[str, str]:
    """Options of Spark's Kafka source; none in plaintext. The broker's address has to be in its certificate, which is
    Kafka's default."""
    if tls is None:
        return {}
    return {
        "kafka.security.protocol": "SSL",
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.certificates": tls.ca_pem,
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.certificate.chain": tls.certificate_pem,
        "kafka.ssl.keystore.key": tls.key_pem,
    }
