"""A properties file of a Kafka client: where the brokers are. What it asks for beyond that is refused, not ignored."""

from pathlib import Path

from controlplane.cli.errors import CliError

_BOOTSTRAP = "bootstrap.servers"
_PROTOCOL = "security.protocol"
_HARMLESS = frozenset({"client.id", "request.timeout.ms", "default.api.timeout.ms"})


def bootstrap_in(file: Path) -> str:
    """The brokers it names, "" for none. Raises CliError for a file that asks for more than plaintext."""
    where = str(file)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CliError("cannot read the file", where=where, why=str(error)) from None
    found: dict[str, str] = {}
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith(("#", "!")):
            key, _, value = line.partition("=")
            found[key.strip()] = value.strip()
    protocol = found.pop(_PROTOCOL, "PLAINTEXT")
    if protocol.upper() != "PLAINTEXT":
        raise CliError(
            f"`{_PROTOCOL}={protocol}` is not offered",
            where=where,
            why="Kedge speaks plaintext to brokers; TLS and SASL are not offered yet",
            next_step="name a plaintext listener of the cluster",
        )
    bootstrap = found.pop(_BOOTSTRAP, "")
    strange = sorted(set(found) - _HARMLESS)
    if strange:
        raise CliError(
            f"`{strange[0]}` is not a property that is read here",
            where=where,
            why=f"only {_BOOTSTRAP}, {_PROTOCOL}=PLAINTEXT and {', '.join(sorted(_HARMLESS))} are",
            next_step="remove the line",
        )
    return bootstrap
