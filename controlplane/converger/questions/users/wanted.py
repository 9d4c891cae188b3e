"""Declared users as values of the planner, and back. Pure."""

from collections.abc import Iterable, Mapping

from controlplane.cluster.views.users import DeclaredUser
from events.spec.housekeeping import TierName
from events.spec.quota_rules import values_of
from events.spec.quotas import QuotaRates
from events.user_facts import AclBinding
from planner.rights.acls import Acl, principal_of
from planner.rights.seen import SCRAM_SHA_512
from planner.rights.wanted import UserRights

BY_OTHERS = "none"
"""The authentication of users that others let in: their credentials are no business of Kedge's."""


Tiers = Mapping[TierName, QuotaRates]
"""Quotas of users by their tier, as the cluster's spec has them."""


def rights_of(user: DeclaredUser, tiers: Tiers, *, pending: bool) -> UserRights:
    """What it is to have. `pending`: Kafka is to be given a password of it."""
    declared = user.declared
    of_tier = next((values_of(rates) for tier, rates in tiers.items() if tier == declared.tier), {})
    mechanisms = frozenset({SCRAM_SHA_512}) if user.is_scram else frozenset[str]()
    return UserRights(
        user.name,
        frozenset(acl_of(user.name, binding) for binding in declared.acls),
        {**of_tier, **declared.quotas},
        None if declared.authentication == BY_OTHERS else mechanisms,
        pending,
        {client or None: values for client, values in declared.client_quotas.items()},
    )


def acl_of(user: str, binding: AclBinding) -> Acl:
    """The ACL of a declared right: it allows."""
    return Acl(
        principal_of(user), binding.type, binding.name, binding.pattern, binding.operation, "allow", binding.host
    )


def bindings_of(acls: Iterable[Acl]) -> tuple[AclBinding, ...]:
    """ACLs of one user as they are recorded; of one that denies, which no document asks for, the operation says so."""
    return tuple(
        AclBinding(a.resource, a.name, a.pattern, f"{a.operation} (denied)" if a.is_deny else a.operation, a.host)
        for a in sorted(acls)
    )
