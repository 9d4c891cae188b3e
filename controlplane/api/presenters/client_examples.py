"""Example configuration of clients for one listener: what can be copied as it is, in capitals what a person fills in.

No password is in it, and none belongs into an argument: everybody on a machine reads those.
"""

from collections.abc import Callable, Mapping, Sequence

from events.spec.security import Listener

KINDS = ("java", "librdkafka", "python", "kcat")

_PROTOCOLS = {
    ("plaintext", "none"): "PLAINTEXT",
    ("tls", "scram-sha-512"): "SASL_SSL",
    ("tls", "oauth"): "SASL_SSL",
}
_FILL_IN = {
    "none": "",
    "scram-sha-512": "USER: a user of the cluster. Its password goes into a file of mode 0600.",
    "oauth": "CLIENT_ID and TOKEN_ENDPOINT, as the provider has them, and SCOPE, or no such line. The client's secret "
    "goes into a file of mode 0600. A provider with a CA of its own: PROVIDER_CA.",
    "tls": "USER.pem, mode 0600: the user's key (PKCS#8), and its certificate by the clients CA of the cluster.",
}
_SECRETS = {
    "scram-sha-512": ("sasl.password", "PASSWORD", "/PATH/USER.password"),
    "oauth": ("sasl.oauthbearer.client.secret", "SECRET", "/PATH/CLIENT_ID.secret"),
}
"""librdkafka's property, what stands for it, and the file a program reads it from."""


def protocol_of(listener: Listener) -> str:
    """As clients call it: `PLAINTEXT`, `SSL` or `SASL_SSL`."""
    return _PROTOCOLS.get((listener.security, listener.authentication.type), "SSL")


def client_examples(cluster: str, listener: Listener, addresses: Sequence[str]) -> Mapping[str, str]:
    """By the kind of client, in the order of `KINDS`; nothing while no broker has the listener."""
    if not addresses:
        return {}
    servers, made = ",".join(addresses), (_java, _librdkafka, _python, _kcat)
    builders: Sequence[Callable[[str, Listener, str], list[str]]] = made
    return {kind: "\n".join(build(cluster, listener, servers)) for kind, build in zip(KINDS, builders, strict=True)}


def _head(cluster: str, listener: Listener, mark: str = "#") -> list[str]:
    lines = [f"listener {listener.name} of {cluster}"]
    if listener.security == "tls":
        lines.append(f"{_ca(cluster)}: kedge endpoints {cluster} --ca > {_ca(cluster)}")
    fill_in = _FILL_IN[listener.authentication.type]
    return [f"{mark} {line}" for line in (*lines, *([f"to fill in: {fill_in}"] if fill_in else []))]


def _ca(cluster: str) -> str:
    return f"{cluster}-ca.pem"


def _java(cluster: str, listener: Listener, servers: str) -> list[str]:
    lines = [*_head(cluster, listener), f"bootstrap.servers={servers}", f"security.protocol={protocol_of(listener)}"]
    if listener.security == "tls":
        lines += ["ssl.truststore.type=PEM", f"ssl.truststore.location={_ca(cluster)}"]
    if listener.authentication.type == "tls":
        lines += ["ssl.keystore.type=PEM", "ssl.keystore.location=USER.pem"]
    if listener.authentication.type == "scram-sha-512":
        lines += [
            "sasl.mechanism=SCRAM-SHA-512",
            "# /PATH/USER.properties has the line password=...",
            "config.providers=file",
            "config.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider",
            "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\",
            '  username="USER" password="${file:/PATH/USER.properties:password}";',
        ]
    if listener.authentication.type == "oauth":
        lines += _java_tokens()
    return lines


def _java_tokens() -> list[str]:
    """KIP-768. The settings of KIP-1139 (`sasl.oauthbearer.client.credentials.*`) are for clients of 4.1 on alone."""
    return [
        "# start it with -Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=TOKEN_ENDPOINT; jose4j has to be beside it",
        "sasl.mechanism=OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url=TOKEN_ENDPOINT",
        "sasl.login.callback.handler.class=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
        "# /PATH/CLIENT_ID.properties has the line secret=...",
        "config.providers=file",
        "config.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider",
        "sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required \\",
        '  clientId="CLIENT_ID" clientSecret="${file:/PATH/CLIENT_ID.properties:secret}" scope="SCOPE" \\',
        '  ssl.truststore.type="PEM" ssl.truststore.location="PROVIDER_CA";',
    ]


def _settings(cluster: str, listener: Listener, servers: str) -> dict[str, str]:
    """Of librdkafka, but for a password."""
    settings = {"bootstrap.servers": servers, "security.protocol": protocol_of(listener).lower()}
    if listener.security == "tls":
        settings["ssl.ca.location"] = _ca(cluster)
    if listener.authentication.type == "tls":
        settings |= {"ssl.certificate.location": "USER.pem", "ssl.key.location": "USER.pem"}
    if listener.authentication.type == "scram-sha-512":
        settings |= {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "USER"}
    if listener.authentication.type == "oauth":
        settings |= {
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.token.endpoint.url": "TOKEN_ENDPOINT",
            "sasl.oauthbearer.client.id": "CLIENT_ID",
            "sasl.oauthbearer.scope": "SCOPE",
            "https.ca.location": "PROVIDER_CA",
        }
    return settings


def _librdkafka(cluster: str, listener: Listener, servers: str) -> list[str]:
    lines = [f"{name}={value}" for name, value in _settings(cluster, listener, servers).items()]
    secret = _SECRETS.get(listener.authentication.type)
    if secret is None:
        return [*_head(cluster, listener), *lines]
    kept = "# keep this very file at mode 0600, as it has the password"
    return [*_head(cluster, listener), kept, *lines, f"{secret[0]}={secret[1]}"]


def _python(cluster: str, listener: Listener, servers: str) -> list[str]:
    secret = _SECRETS.get(listener.authentication.type)
    lines = [f'        "{name}": "{value}",' for name, value in _settings(cluster, listener, servers).items()]
    if secret is not None:
        lines.append(f'        "{secret[0]}": Path("{secret[2]}").read_text().strip(),')
    imports = ["from pathlib import Path", ""] if secret is not None else []
    made = ["producer = Producer(", "    {", *lines, "    }", ")"]
    return [*_head(cluster, listener), *imports, "from confluent_kafka import Producer", "", *made]


def _kcat(cluster: str, listener: Listener, servers: str) -> list[str]:
    if listener.authentication.type in _SECRETS:
        file = f"{cluster}-kcat.conf"
        made = f"# {file}: kedge endpoints {cluster} --listener {listener.name} --config librdkafka"
        return [*_head(cluster, listener), made, f"kcat -F {file} -L"]
    settings = _settings(cluster, listener, servers)
    given = [f"-X {name}={value}" for name, value in settings.items() if name != "bootstrap.servers"]
    return [*_head(cluster, listener), " ".join(["kcat", f"-b {servers}", *given, "-L"])]
