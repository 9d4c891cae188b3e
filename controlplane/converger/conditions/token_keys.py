"""The condition of keys by which listeners judge tokens: `TokenKeysStale`."""

from datetime import datetime, timedelta

from agent.wire import TokenKeysReport
from controlplane.cluster.wait_reasons import NEXT
from controlplane.converger.situation.situation import Situation
from events import facts
from events.quantities import named

TOKEN_KEYS_STALE = "TokenKeysStale"  # noqa: S105  # a condition
PATIENCE = timedelta(minutes=10)
"""Since the provider last told its keys: agents ask it each minute."""


def token_keys_stale(situation: Situation) -> facts.ConditionChanged | None:
    """Brokers whose agents cannot fetch the keys. What nobody has said yet is not told."""
    view = situation.view
    told = [i.start.security for i in view.brokers()]
    if not any(one is not None and one.takes_tokens for one in told):
        over = facts.ConditionChanged(TOKEN_KEYS_STALE, False, "Free", "")
        return over if TOKEN_KEYS_STALE in view.conditions else None
    found = {
        (key, one.listener): one
        for key, report in sorted(situation.seen.background.certificates.items())
        for one in report.token_keys
        if report.state == "running"
    }
    if not found:
        return None
    stale = {where: one for where, one in found.items() if _is_stale(one, situation.now)}
    if not stale:
        return facts.ConditionChanged(TOKEN_KEYS_STALE, False, "Fetched", "")
    without = [f"{key} at {listener}" for (key, listener), one in stale.items() if not one.keys]
    why = next(one.problem for one in stale.values())
    cure = f"{NEXT}have the provider answer brokers there, or correct `jwks` and `ca` (kedge apply)"
    if without:
        message = f"no token is taken, as no key of the provider is known: {named(without)}. {why}. {cure}"
        return facts.ConditionChanged(TOKEN_KEYS_STALE, True, "NoKeys", message)
    named_stale = named([f"{key} at {listener}" for key, listener in stale])
    message = (
        f"the provider's keys cannot be fetched: {named_stale}. Tokens are judged by those it told last: one that it "
        f"has taken away still counts, a new one not yet. {why}. {cure}"
    )
    return facts.ConditionChanged(TOKEN_KEYS_STALE, True, "Stale", message)


def _is_stale(one: TokenKeysReport, now: datetime) -> bool:
    return bool(one.problem) and (one.fetched is None or now - one.fetched > PATIENCE)
