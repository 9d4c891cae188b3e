"""What a role may do. Deny by default: a verb that no role names is nobody's."""

from collections.abc import Mapping
from enum import StrEnum


class Verb(StrEnum):
    """What is done to a cluster, or to the installation. Every call of a person is one of these."""

    READ = "read"
    STEER = "steer"
    """Pause, resume, abort, failovers, and what is asked for single nodes: nothing of the spec changes."""
    DECLARE = "declare"
    DELETE = "delete"
    HAND_OVER = "hand over"
    """Who the spec of a cluster comes from; to accept a rewritten history."""
    APPROVE = "approve"
    ADMINISTER = "administer"
    """People and their bindings, backups."""
    AUDIT = "audit"
    """To read who did what, and who was refused."""


class Role(StrEnum):
    """A named set of verbs. `admin` has all of them."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    OWNER = "owner"
    APPROVER = "approver"
    AUDITOR = "auditor"
    ADMIN = "admin"


ALLOWS: Mapping[Role, frozenset[Verb]] = {
    Role.VIEWER: frozenset({Verb.READ}),
    Role.OPERATOR: frozenset({Verb.READ, Verb.STEER}),
    Role.OWNER: frozenset({Verb.READ, Verb.STEER, Verb.DECLARE, Verb.DELETE, Verb.HAND_OVER}),
    Role.APPROVER: frozenset({Verb.READ, Verb.APPROVE}),
    Role.AUDITOR: frozenset({Verb.READ, Verb.AUDIT}),
    Role.ADMIN: frozenset(Verb),
}
