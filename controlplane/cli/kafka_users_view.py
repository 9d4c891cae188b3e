"""Users of clusters as people read them: a line each; one with its rights."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from controlplane.api.schemas.kafka_users import KafkaUserOut, UserAclOut
from controlplane.cli.tables import listing
from controlplane.cli.topics_view import STATE_STYLE
from controlplane.runtime.quantities import moment, since
from controlplane.runtime.styled_text import styled

_PASSWORDS = {
    "pending": "on its way to Kafka",
    "collectable": "in Kafka, and can be collected once: kedge users password {cluster} {name} --out FILE",
    "delivered": "in sink {sink} since {at}; for another one: kedge users rotate {cluster} {name}",
    "collected": "collected; for another one: kedge users rotate {cluster} {name}",
    "foreign": "from before Kedge knew of the user; for another one: kedge users rotate {cluster} {name}",
}


def user_table(users: Sequence[KafkaUserOut]) -> Table:
    """One line a user."""
    headers = ["USER", "STATE", "REASON", "AUTHENTICATION", "PASSWORD", "RIGHTS", "QUOTAS", "OWNER", "SOURCE"]
    rows: list[list[Text | str]] = [
        [
            user.name,
            _state(user),
            user.reason or "-",
            user.authentication,
            user.password or "-",
            str(len(user.acls)),
            ", ".join(sorted({*user.quotas, *(key for own in user.client_quotas.values() for key in own)})) or "-",
            user.owner or "-",
            user.source,
        ]
        for user in users
    ]
    return listing(headers, rows)


def user_lines(user: KafkaUserOut, *, now: datetime) -> Iterator[RenderableType]:
    """One user: who it is, what of it is where, its rights and quotas."""
    yield styled(f"{user.cluster}/{user.name}", "bold")
    yield _state(user)
    if user.message:
        yield styled(f"  {user.message}")
    yield styled(f"principal      {user.principal}")
    yield styled(f"authentication {user.authentication}")
    if user.password:
        yield styled(f"password       {_password(user)}")
    if user.deliver_to:
        yield styled(f"delivered to   sink {user.deliver_to}")
    if user.certificate is not None:
        yield styled(f"certificate    {user.certificate.serial}, until {moment(user.certificate.until)}")
    where = f": {user.path}" if user.path else ""
    at = f" at {user.commit[:7]}" if user.commit else ""
    yield styled(f"source         {user.source}{where}{at}, since {since(user.declared_at, now)}")
    yield styled(f"owner          {user.owner or '-'}")
    if user.tier:
        yield styled(f"tier           {user.tier}")
    for line in _quota_lines(user):
        yield styled(line)
    if user.acls:
        yield listing(["RESOURCE", "NAME", "OPERATION", "FROM"], [_right(acl) for acl in user.acls])
    else:
        yield styled("no rights", "dim")


def _password(user: KafkaUserOut) -> str:
    went = user.delivered
    sink, at = (went.sink, moment(went.at)) if went is not None else ("", "")
    return _PASSWORDS[user.password].format(cluster=user.cluster, name=user.name, sink=sink, at=at)


def _quota_lines(user: KafkaUserOut) -> Iterator[str]:
    for client, quotas in (("", user.quotas), *sorted(user.client_quotas.items())):
        of = "" if quotas is user.quotas else f" with {f'client {client}' if client else 'any other client'}"
        yield from (f"quota          {key} {value}{of}" for key, value in sorted(quotas.items()))


def _right(acl: UserAclOut) -> list[Text | str]:
    name = f"{acl.name}*" if acl.pattern == "prefix" else acl.name
    return [acl.type, name, acl.operation, "anywhere" if acl.host == "*" else acl.host]


def _state(user: KafkaUserOut) -> Text:
    return styled(user.state, STATE_STYLE.get(user.state, ""))
