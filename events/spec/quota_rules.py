"""Rules about quotas of clients: each says something, of somebody, once."""

from collections.abc import Iterator

from events.spec import problems as p
from events.spec.fields import fields_of
from events.spec.positions import Positions
from events.spec.problems import Path, Problem, shorten
from events.spec.quotas import ClientRates, ClusterQuotas, QuotaRates, UserQuotas

_QUOTAS: Path = ("spec", "quotas")
_EVERY_ONE = "<default>"
"""How Kafka's tools write the default entity: as a name it would be taken for that (`ConfigEntityName.DEFAULT`)."""


def values_of(rates: QuotaRates) -> dict[str, int]:
    """What is said of it, by Kafka's names (`QuotaConfig`)."""
    told = {name: getattr(rates, name) for name, _, _ in fields_of(QuotaRates)}
    return {name: value for name, value in told.items() if value is not None}


def quota_problems(quotas: ClusterQuotas | None, where: Positions) -> Iterator[Problem]:
    """Everything wrong with those of a cluster, where the section is sound."""
    if quotas is None:
        return
    if quotas.default_user is not None:
        here: Path = (*_QUOTAS, "defaultUser")
        yield from _silent(quotas.default_user, here, where)
        yield from user_quota_problems(quotas.default_user, where, here)
    if quotas.default_client_id is not None:
        yield from _silent(quotas.default_client_id, (*_QUOTAS, "defaultClientId"), where)
    yield from _clients(quotas.client_ids, (*_QUOTAS, "clientIds"), where)
    for tier, rates in quotas.tiers.items():
        yield from _silent(rates, (*_QUOTAS, "tiers", tier), where)


def user_quota_problems(quotas: UserQuotas, where: Positions, here: Path = _QUOTAS) -> Iterator[Problem]:
    """Everything wrong with those of a user. It may have none of its own."""
    if quotas.default_client_id is not None:
        yield from _silent(quotas.default_client_id, (*here, "defaultClientId"), where)
    yield from _clients(quotas.by_client_id, (*here, "byClientId"), where)


def _clients(clients: tuple[ClientRates, ...], here: Path, where: Positions) -> Iterator[Problem]:
    for index, client in enumerate(clients):
        path: Path = (*here, index)
        name = client.client_id
        if name in ("", _EVERY_ONE) or name != name.strip():
            message = f"`{shorten(name)}` is no client id a quota can be for"
            fix = "Write the client's own `client.id`; for all that have none of their own use `defaultClientId`."
            yield where.problem(p.QUOTA, (*path, "clientId"), message, fix)
        elif any(name == other.client_id for other in clients[:index]):
            message = f"client id `{shorten(name)}` is there twice"
            yield where.problem(p.REPEATED, (*path, "clientId"), message, "Give each client id once.")
        yield from _silent(client, path, where)


def _silent(rates: QuotaRates, path: Path, where: Positions) -> Iterator[Problem]:
    more = isinstance(rates, UserQuotas) and (rates.by_client_id or rates.default_client_id)
    if not values_of(rates) and not more:
        known = ", ".join(f"`{key}`" for _, key, _ in fields_of(QuotaRates))
        yield where.problem(p.QUOTA, path, "this quota says nothing", f"Give at least one of {known}, or take it out.")
