"""From what users are to have, and what they have, to what is to be done. What is there already is left as it is."""

from collections.abc import Collection, Iterable, Mapping

from planner.rights.acls import is_protected
from planner.rights.seen import RightsSeen
from planner.rights.step import QuotaChange, RightsStep, UserStep
from planner.rights.wanted import QuotaEntity, UserRights

MOST_USERS = 200
"""Users changed in one go: hashing a password takes some milliseconds."""
MOST_CREATED = 2000
"""ACLs created in one go. A controller writes at most 10,000 records for one request."""
MOST_DELETED = 300
"""ACLs deleted in one go: for each, the controller walks through all there are."""


def user_step(wanted: UserRights, seen: RightsSeen) -> UserStep:
    """What a declared user lacks, and has too much. False where it is as declared."""
    if is_protected(wanted.name):
        return UserStep(wanted.name)
    has = seen.acls_of(wanted.name)
    mechanisms = tuple(sorted(seen.credentials.get(wanted.name, {})))
    surplus = tuple(m for m in mechanisms if wanted.mechanisms is not None and m not in wanted.mechanisms)
    return UserStep(
        wanted.name,
        create=tuple(sorted(wanted.acls - has)) if seen.acls is not None else (),
        delete=tuple(sorted(has - wanted.acls)),
        quotas=quota_changes(wanted.entities, seen.quotas_of(wanted.name)),
        credential="set" if wanted.pending else "remove" if surplus else "",
        mechanisms=() if wanted.pending else surplus,
    )


def end_step(user: str, seen: RightsSeen) -> UserStep:
    """What is left of a user that is to be gone. False where nothing is."""
    if is_protected(user):
        return UserStep(user, ends=True)
    mechanisms = tuple(sorted(seen.credentials.get(user, {})))
    quotas: dict[QuotaEntity, QuotaChange] = {e: dict.fromkeys(v) for e, v in seen.quotas_of(user).items()}
    delete = tuple(sorted(seen.acls_of(user)))
    return UserStep(user, (), delete, quotas, "remove" if mechanisms else "", mechanisms, ends=True)


def quota_changes(
    wanted: Mapping[QuotaEntity, Mapping[str, float]], has: Mapping[QuotaEntity, Mapping[str, float]]
) -> dict[QuotaEntity, QuotaChange]:
    """What makes them so: of each entity that is wanted or there all values, and no others."""
    named = sorted({*wanted, *has}, key=str)
    found = ((entity, _change(wanted.get(entity, {}), has.get(entity, {}))) for entity in named)
    return {entity: change for entity, change in found if change}


def lacks_password(wanted: UserRights, seen: RightsSeen) -> bool:
    """Whether its credential is gone from Kafka, and no password waits to be given."""
    has = seen.credentials.get(wanted.name, {})
    return not wanted.pending and any(m not in has for m in wanted.mechanisms or ())


def one_batch(steps: Iterable[UserStep]) -> RightsStep:
    """As many of these, in their order, as go into one step; one user always does."""
    batch: dict[str, UserStep] = {}
    created = deleted = 0
    for step in steps:
        if not step:
            continue
        created, deleted = created + len(step.create), deleted + len(step.delete)
        if batch and (len(batch) >= MOST_USERS or created > MOST_CREATED or deleted > MOST_DELETED):
            break
        batch[step.name] = step
    return RightsStep(batch)


def undeclared_users(seen: RightsSeen, declared: Collection[str]) -> tuple[str, ...]:
    """Who has rights, quotas or a credential without a document: shown, and left."""
    return tuple(sorted(user for user in seen.users - frozenset(declared) if not is_protected(user)))


def _change(wanted: Mapping[str, float], there: Mapping[str, float]) -> QuotaChange:
    change: dict[str, float | None] = {key: value for key, value in wanted.items() if there.get(key) != value}
    return change | {key: None for key in there if key not in wanted}
