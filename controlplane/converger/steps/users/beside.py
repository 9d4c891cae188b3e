"""Users, beside whatever else the cluster does: looked at, changed in batches, looked at again.

    look -> users.change_requested -> changed -> look -> users.changed
                 +--> users.troubled: this user waits, the others go on

One batch goes on beside a roll, which takes hours: nobody's rights wait for it. A server that dies in between finds
what is left of the batch by looking, the password that was to be set too (`planner.rights.passwords`). Nothing here
makes a cluster `Blocked`: users in trouble are told by `UsersDegraded`.
"""

from dataclasses import replace

from controlplane.cluster.holds import hold_on
from controlplane.converger.questions.kept import outcome_text
from controlplane.converger.questions.users.wanted import bindings_of
from controlplane.converger.questions.users.work import UserWork, all_users_work, refusals, user_work
from controlplane.converger.situation.decision import Decision, record
from controlplane.converger.situation.effects import ChangeUsers
from controlplane.converger.situation.situation import Situation
from events import user_facts as facts
from events.ids import derived_id
from events.quantities import named
from events.user_facts import UserTrouble
from planner.rights.step import RightsStep, UserStep
from planner.rights.wanted import client_words, user_entity


def with_users(situation: Situation, decision: Decision) -> Decision:
    """The decision, with what is done about users beside it. What it has to record comes first."""
    if decision.events:
        return decision
    found = users_decision(situation)
    if found is None:
        return _waiting(situation, decision)
    return decision.and_beside(found)


def _waiting(situation: Situation, decision: Decision) -> Decision:
    """Says so where something is to be done and what Kafka has of users cannot be read."""
    why = situation.seen.missing.get("users") if situation.view.users.has_work else None
    return decision if why is None else replace(decision, sentence=f"{decision.sentence}; users wait: {why}")


def users_decision(situation: Situation) -> Decision | None:
    """What is to be recorded or changed now. None where there is nothing, or it cannot be told."""
    view, seen = situation.view, situation.seen
    if view.history.unreadable or view.requests.held or view.deleted or view.requests.tombstone:
        return None
    if not view.roll.converged or not view.users.by_name or seen.users is None:
        return None
    change = view.users.change
    if change is not None:
        return _in_hand(situation, user_work(view, seen.users.rights, change.names))
    if hold_on(view, situation.now) is not None:
        return None
    work = all_users_work(view, seen.users.rights)
    return _news(situation, work) or _request(situation, work)


def _in_hand(situation: Situation, work: UserWork) -> Decision:
    """What was asked for is there, or is sent (again): the world tells, never memory."""
    change, seen = situation.view.users.change, situation.seen.users
    if change is None or seen is None:
        raise ValueError("no change of users is in hand")
    refused = {n: why for n, why in seen.refused.items() if n in work.step.names}
    left = work.step.without(frozenset(refused))
    if left:
        passwords = {name: work.passwords[name] for name in left.names if name in work.passwords}
        return Decision(_words(situation, left), effects=(ChangeUsers(change.id, left, passwords),))
    ended = facts.UsersChanged(
        change.id,
        passwords=dict(sorted(work.applied.items())),
        kept=tuple(sorted(work.kept)),
        settled=tuple(sorted(work.settled)),
        deleted=tuple(sorted(work.gone)),
        left=tuple(sorted(refused)),
    )
    if not refused:
        return record("users are as was asked for", ended)
    return record(f"users: {len(refused)} refused", ended, facts.UsersTroubled(tuple(refusals(refused))))


def _news(situation: Situation, work: UserWork) -> Decision | None:
    """What this look tells that is not recorded yet."""
    users = situation.view.users
    events: list[object] = []
    settled = sorted(name for name in work.settled if name in users.pending)
    if settled or work.gone or work.kept:
        events.append(
            facts.UsersChanged("", {}, tuple(sorted(work.kept)), tuple(settled), tuple(sorted(work.gone)), ())
        )
    # One that a person let be tried again is told anew, though nothing of it changed: else it is in hand for ever.
    news = [t for n, t in sorted(work.troubles.items()) if users.troubles.get(n) != t or n in users.pending]
    over = [n for n in sorted(users.troubles) if n in work.asked and n not in work.troubles and n not in work.gone]
    news += [UserTrouble(n, "", "") for n in over if n not in settled]
    if news:
        events.append(facts.UsersTroubled(tuple(news)))
    why = "Kafka has one by its number already, as after a restored backup"
    for number, name in enumerate(sorted(work.taken), users.passwords + 1):
        events.append(facts.UserPasswordRequested(name, number, why))
    return record(f"users: {outcome_text(settled, news)}", *events) if events else None


def _request(situation: Situation, work: UserWork) -> Decision | None:
    """What is not as declared is to be made so."""
    view, step = situation.view, work.step
    if not step:
        return None
    reason = _words(situation, step)
    living = {name: user for name, user in sorted(step.users.items()) if not user.ends}
    request = facts.UsersChangeRequested(
        change=derived_id("users", view.uid, str(view.users.changes + 1)),
        passwords={name: work.passwords[name].number for name in living if name in work.passwords},
        # Of a user that only loses a password by another mechanism nothing is granted; it is named all the same.
        grant={n: bindings_of(u.create) for n, u in living.items() if u.create or u.credential == "remove"},
        revoke={n: bindings_of(u.delete) for n, u in living.items() if u.delete},
        quotas={n: _quotas(u) for n, u in living.items() if u.quotas},
        delete=tuple(name for name, user in sorted(step.users.items()) if user.ends),
        reason=reason,
    )
    return record(reason, request)


def _quotas(user: UserStep) -> dict[str, int | None]:
    """By Kafka's names; those of the user with one client, which no document asks for, say whose they are."""
    found: dict[str, int | None] = {}
    for entity, change in user.quotas.items():
        client = "" if entity == user_entity(user.name) else f" with {client_words(entity)}"
        found |= {f"{key}{client}": None if value is None else int(value) for key, value in sorted(change.items())}
    return found


def _words(situation: Situation, step: RightsStep) -> str:
    pending, deleting = situation.view.users.pending, [name for name, user in step.users.items() if user.ends]
    ways = (
        ("deleting", deleting),
        ("giving what is declared to", [n for n in step.users if n in pending and n not in deleting]),
        ("putting right what others changed of", [n for n in step.users if n not in pending and n not in deleting]),
    )
    return "; ".join(f"{way} {named(sorted(names))}" for way, names in ways if names)
