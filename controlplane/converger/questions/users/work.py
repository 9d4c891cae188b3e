"""What is to be done about users: as they are declared, beside what Kafka has. Pure.

A user that nobody declared is never touched; one that is declared has what its document says and nothing else. What is
there already and equal is taken over, a password too: Kedge does not know it then, and does not replace it.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.users import DeclaredUser
from controlplane.converger.questions.users.wanted import rights_of
from controlplane.converger.situation.passwords import PasswordToSet
from events.user_facts import UserTrouble
from planner.rights.acls import is_protected
from planner.rights.difference import end_step, one_batch, user_step
from planner.rights.passwords import iterations_of, may_have
from planner.rights.seen import SCRAM_SHA_512, RightsSeen
from planner.rights.step import RightsStep, UserStep

REFUSED = "Refused"
"""Kafka would say the same again: tried anew once the user is declared anew, or a person says so."""


@dataclass(frozen=True, slots=True)
class UserWork:
    """What a look at `asked` users comes to. `passwords`: of the step, by user; `applied`: numbers of those that Kafka
    has now; `kept`: users with a password from before Kedge knew of them; `taken`: those of whom Kafka has one by the
    number of the one they are to be given, as after a restored backup: they need one of another number."""

    asked: frozenset[str]
    step: RightsStep
    passwords: Mapping[str, PasswordToSet]
    troubles: Mapping[str, UserTrouble]
    settled: frozenset[str]
    gone: frozenset[str]
    applied: Mapping[str, int]
    kept: frozenset[str]
    taken: frozenset[str]


def user_work(view: ClusterView, rights: RightsSeen, names: Collection[str]) -> UserWork:
    """A look at these users; its step is the next batch, or all that is left of the change in hand."""
    return _UserLook(view, rights, names).work()


def all_users_work(view: ClusterView, rights: RightsSeen) -> UserWork:
    """The same of all declared users, worked out once for a look: 10,000 users take a tenth of a second."""
    return rights.once_for((view.users, view.document), lambda: _UserLook(view, rights, view.users.by_name).work())


class _UserLook:
    """One look. Collects as it goes through the users: who is to go first, then by name."""

    def __init__(self, view: ClusterView, rights: RightsSeen, names: Collection[str]) -> None:
        self._cluster, self._users, self._rights = view.name, view.users, rights
        self._tiers = view.document.spec.quotas.tiers if view.document is not None else {}
        users = view.users
        known = [users.by_name[name] for name in names if name in users.by_name]
        self._asked = sorted(known, key=lambda user: (not user.tombstone, user.name))
        self._steps: list[UserStep] = []
        self._passwords: dict[str, PasswordToSet] = {}
        self._troubles: dict[str, UserTrouble] = {}
        self._settled: set[str] = set()
        self._gone: set[str] = set()
        self._applied: dict[str, int] = {}
        self._kept: set[str] = set()
        self._taken: set[str] = set()

    def work(self) -> UserWork:
        for user in self._asked:
            if is_protected(user.name):
                self._trouble(user, "Protected", "the name is Kedge's own, a node's or everybody's; nothing is done")
            elif user.tombstone:
                self._bury(user)
            else:
                self._judge(user)
        step = self._step()
        return UserWork(
            frozenset(user.name for user in self._asked),
            step,
            {name: password for name, password in self._passwords.items() if name in step.names},
            self._troubles,
            frozenset(self._settled),
            frozenset(self._gone),
            self._applied,
            frozenset(self._kept),
            frozenset(self._taken),
        )

    def _step(self) -> RightsStep:
        """What is in hand has had its bounds already."""
        if self._users.change is not None:
            return RightsStep({step.name: step for step in self._steps})
        return one_batch(self._steps)

    def _bury(self, user: DeclaredUser) -> None:
        step = end_step(user.name, self._rights)
        if step:
            self._add(user, step)
        elif self._rights.acls is None and user.declared.acls:
            # The metadata log has them all the same: they would count again with the next authorizer.
            message = "its rights cannot be taken away: the brokers have no authorizer, and tell none of them"
            then = f"kedge users delete {self._cluster} {user.name} --confirm {user.name} --retain"
            self._trouble(user, "NoAuthorizer", f"{message}. Next: wait until they have one, or {then}")
        else:
            self._gone.add(user.name)

    def _judge(self, user: DeclaredUser) -> None:
        number = self._password_to_set(user)
        step = user_step(rights_of(user, self._tiers, pending=number is not None), self._rights)
        if number is not None:
            self._passwords[user.name] = PasswordToSet(number, iterations_of(number, user.password.applied))
        if step:
            self._add(user, step)
            return
        if self._rights.acls is None and user.declared.acls:
            message = "its rights cannot be set: the brokers have no authorizer, so that everybody may do everything"
            self._trouble(user, "NoAuthorizer", f"{message}. Next: spec.authorization of the cluster")
        elif user.is_scram and self._password_trouble(user):
            return
        elif not self._waits_for_another_password(user):
            self._settled.add(user.name)

    def _add(self, user: DeclaredUser, step: UserStep) -> None:
        """Into what may be done, unless Kafka has said no and nothing is new since."""
        known = self._users.troubles.get(user.name)
        if known is not None and known.reason == REFUSED and not self._is_wanted_now(user.name):
            self._troubles[user.name] = known
            self._passwords.pop(user.name, None)
        else:
            self._steps.append(step)

    def _is_wanted_now(self, name: str) -> bool:
        change = self._users.change
        return name in self._users.pending or (change is not None and name in change.names)

    def _password_to_set(self, user: DeclaredUser) -> int | None:
        """The number of the password that Kafka is to be given now; None where it has it, or no other is wanted."""
        if not user.is_scram:
            return None
        has = self._rights.credentials.get(user.name, {}).get(SCRAM_SHA_512)
        asked = self._users.change.passwords.get(user.name) if self._users.change is not None else None
        if asked is not None:
            if has != iterations_of(asked, user.password.applied):
                return asked
            self._applied[user.name] = asked
            return None
        if not user.needs_password:
            return None
        if has is not None and not user.password.applied:
            self._kept.add(user.name)
            return None
        if has == iterations_of(user.password.wanted, user.password.applied):
            self._taken.add(user.name)
            return None
        return user.password.wanted

    def _waits_for_another_password(self, user: DeclaredUser) -> bool:
        """Whether a person wants a newer one than the one in hand."""
        has = self._applied.get(user.name, user.password.applied)
        return user.is_scram and user.password.wanted > has and user.name not in self._kept

    def _password_trouble(self, user: DeclaredUser) -> bool:
        """Kafka has none any more, or one that somebody else has set: a person decides which counts."""
        has = self._rights.credentials.get(user.name, {}).get(SCRAM_SHA_512)
        known = user.password
        if not known.applied or user.needs_password or user.name in self._applied or user.name in self._kept:
            return False
        another = f"Next: kedge users rotate {self._cluster} {user.name}"
        if has is None:
            self._trouble(user, "PasswordGone", f"Kafka has no password of it any more. {another}")
        elif not known.is_foreign and not may_have(known.applied, has):
            self._trouble(user, "PasswordChanged", f"somebody else has set a password of it in Kafka. {another}")
        else:
            return False
        return True

    def _trouble(self, user: DeclaredUser, reason: str, message: str) -> None:
        self._troubles[user.name] = UserTrouble(user.name, reason, message)


def refusals(refused: Mapping[str, str]) -> Iterable[UserTrouble]:
    """What Kafka said no to, as troubles."""
    return (UserTrouble(name, REFUSED, words) for name, words in sorted(refused.items()))
