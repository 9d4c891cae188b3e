"""Properties of librdkafka that the settings leave to a file of their own, credentials among them."""

from events.secrets import remember

_SECRET = (".password", ".secret", ".pem")


def client_properties(text: str) -> dict[str, str]:
    """`NAME=VALUE` lines; empty ones and those that begin with `#` say nothing. Secrets among them are masked in the
    log from now on.
    """
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line and not line.lstrip().startswith("#"))
    found = {key.strip(): value.strip() for key, value in pairs}
    for key, value in found.items():
        if key.endswith(_SECRET):
            remember(value)
    return found
