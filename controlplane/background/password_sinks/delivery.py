"""Delivers passwords of users to the sinks that their documents name, once Kafka has them.

    Kafka has it -> written to the sink -> user.password_delivered -> the sealed copy is dropped

A server that dies after the second step writes it again, which changes nothing; one that dies before the last drops it
when it looks at that cluster for the first time. What fails is recorded once for as long as it fails the same way, and
tried again: after 2, 4, 8, ... 300 s.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from pydantic import SecretStr

from controlplane.background.password_sinks.sink import NotWritten, PasswordSink, UserPassword
from controlplane.background.rounds import Round
from controlplane.cluster.commands import Command, CommandHead, CommandRefused
from controlplane.cluster.user_commands import NotePasswordDelivered, NotePasswordsUndelivered
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.users import DeclaredUser
from controlplane.fleet.ports import FoldedFleet
from controlplane.runtime.backoff import delay_s
from controlplane.storage.user_passwords import PasswordNotAtHand, PendingPasswords
from events.clock import Clock
from events.ids import ClusterUid, derived_id
from events.user_facts import UserTrouble

_ACTOR = "password-sinks"
_log = logging.getLogger(__name__)

Waiting = tuple[ClusterUid, str, int, str]
"""A password on its way: cluster, user, number, sink."""


class DeliveryCommands(Protocol):
    """What is recorded, and of what: `CommandHandler` is one."""

    def handle(self, command: Command) -> object: ...

    def current(self, name: str) -> ClusterView: ...


@dataclass(slots=True)
class PasswordDelivery:
    """One look at a time. `sinks` by the names that specs use; `may_act` is asked before each password."""

    sinks: Mapping[str, PasswordSink]
    fleet: FoldedFleet
    passwords: PendingPasswords
    commands: DeliveryCommands
    clock: Clock
    may_act: Callable[[], bool]
    _failed: dict[Waiting, tuple[int, datetime]] = field(default_factory=dict)
    """How often in a row, and when it is tried again."""
    _silent: dict[str, NotWritten] = field(default_factory=dict)
    """Sinks that did not answer in this round: nobody waits for them a second time."""
    _tidy: set[ClusterUid] = field(default_factory=set)
    """Clusters of which no sealed copy is left of what is recorded as delivered."""

    def poll(self) -> None:
        """Every user of every cluster whose password waits for a sink. Raises StoreUnavailable, RoundIncomplete."""
        self._silent.clear()
        still: set[Waiting] = set()
        this_round = Round("passwords of users")
        for view in self.fleet.views():
            if view.deleted or not any(user.declared.deliver_to for user in view.users.by_name.values()):
                continue
            with this_round.apart(view.name):
                still |= self._deliver(view)
        self._failed = {one: when for one, when in self._failed.items() if one in still}
        this_round.close()

    def _deliver(self, view: ClusterView) -> set[Waiting]:
        """Returns what waits still."""
        waiting = {_waiting(view, user): user for user in view.users.by_name.values() if user.waits_for_sink}
        troubles: list[UserTrouble] = []
        for one, user in sorted(waiting.items()):
            failures, next_at = self._failed.get(one, (0, self.clock()))
            if next_at > self.clock():
                continue
            if not self.may_act():
                return set(waiting)
            try:
                self._hand_over(view, user)
            except NotWritten as fault:
                self._failed[one] = (failures + 1, self.clock() + timedelta(seconds=delay_s(failures + 1)))
                if (trouble := UserTrouble(user.name, fault.reason, str(fault))) != user.password.undelivered:
                    troubles.append(trouble)
        if troubles:
            self._record(view, NotePasswordsUndelivered(**_head(view, "undelivered"), troubles=tuple(troubles)))
        if view.uid not in self._tidy:
            self._drop(view)
        return set(waiting)

    def _hand_over(self, view: ClusterView, user: DeclaredUser) -> None:
        """Raises NotWritten."""
        name, number = user.declared.deliver_to, user.password.applied
        sink = self.sinks.get(name)
        if sink is None:
            why = f"this server's settings have no sink `{name}`: add it to [kafka.password_sinks], and start it anew"
            raise NotWritten("NoSuchSink", why)
        if (silent := self._silent.get(name)) is not None:
            raise silent
        password = self._read(view, user)
        try:
            sink.put(UserPassword(view.name, user.name, number, password))
        except NotWritten as fault:
            if fault.of_sink:
                self._silent[name] = fault
            raise
        self._tidy.discard(view.uid)
        head = _head(view, f"delivered-{user.name}-{number}")
        self._record(view, NotePasswordDelivered(**head, user=user.name, number=number, sink=name))

    def _read(self, view: ClusterView, user: DeclaredUser) -> SecretStr:
        rotate = f"kedge users rotate {view.name} {user.name}"
        lost = f"the password of {user.name} is not in the database any more; for another one: {rotate}"
        try:
            password = self.passwords.read(view.uid, user.password.applied)
        except PasswordNotAtHand as sealed:
            raise NotWritten("PasswordLost", str(sealed)) from None
        if password is None:
            raise NotWritten("PasswordLost", lost)
        return password

    def _record(self, view: ClusterView, command: Command) -> None:
        """A user that changed meanwhile is looked at again in the next round."""
        try:
            self.commands.handle(command)
        except CommandRefused as refused:
            _log.info("%s: %s", view.name, refused)

    def _drop(self, view: ClusterView) -> None:
        users = self.commands.current(view.name).users
        self.passwords.keep_only(view.uid, users.passwords_on_their_way, up_to=users.passwords)
        self._tidy.add(view.uid)


def _waiting(view: ClusterView, user: DeclaredUser) -> Waiting:
    return view.uid, user.name, user.password.applied, user.declared.deliver_to


def _head(view: ClusterView, what: str) -> CommandHead:
    return CommandHead(name=view.name, actor=_ACTOR, command_id=derived_id(_ACTOR, view.uid, str(view.version), what))
