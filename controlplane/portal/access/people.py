"""People of this installation: signing in and out, whose session a cookie opens, the first password."""

import logging
import re
from dataclasses import dataclass, field
from datetime import datetime

from controlplane.portal.access.bindings import EVERYTHING, Binding
from controlplane.portal.access.passwords import Guesses, Passwords, made_password, refusal_of
from controlplane.portal.access.rights import Rights, rights_of
from controlplane.portal.access.roles import Role
from controlplane.portal.access.sessions import MemorySessionStore, Session, SessionStore, begin_session, session_of
from controlplane.portal.access.users import MemoryUserStore, User, UserStore

_log = logging.getLogger(__name__)

FIRST_USER = "admin"
_NAME = re.compile(r"[a-z][a-z0-9._-]{0,31}", re.ASCII)


class SignInRefused(Exception):
    """Name and password do not go together, or have to wait. One text for both: nobody learns which users exist."""


class PasswordRefused(ValueError):
    """The new password is not taken; the message says why."""


class UserRefused(ValueError):
    """No such user can be made. The message says why."""


@dataclass(frozen=True, slots=True)
class People:
    """All about who may come in. Raises StoreUnavailable where the database is away."""

    users: UserStore = field(default_factory=MemoryUserStore)
    sessions: SessionStore = field(default_factory=MemorySessionStore)
    passwords: Passwords = field(default_factory=Passwords)
    guesses: Guesses = field(default_factory=Guesses)

    def first_password(self, now: datetime) -> str:
        """Where nobody is known yet, makes the user `admin` and returns the password: it is told this once.

        "" where there are users, or where another server was first.
        """
        if self.users.all():
            return ""
        password = made_password()
        user = User(FIRST_USER, self.passwords.hashed(password), True, now)
        made = self.users.add_first(user, Binding(user.subject, Role.ADMIN, EVERYTHING))
        return password if made else ""

    def add(self, name: str, now: datetime) -> str:
        """A new user; returns the password that was made for them. Raises UserRefused."""
        if not _NAME.fullmatch(name):
            raise UserRefused(f"{name!r} is no name: a letter, then letters, digits, `.`, `_`, `-`, at most 32")
        password = made_password()
        if not self.users.add(User(name, self.passwords.hashed(password), True, now)):
            raise UserRefused(f"there is a user {name} already")
        return password

    def renew(self, name: str) -> str:
        """A new password for somebody who lost theirs; their sessions end. Raises UserRefused."""
        password = made_password()
        if not self.users.set_password(name, self.passwords.hashed(password), must_change=True):
            raise UserRefused(f"there is no user {name}")
        self.sessions.end_all_of(name)
        self.guesses.forget(name)
        return password

    def remove(self, name: str) -> bool:
        """The user, their bindings and sessions."""
        removed = self.users.remove(name)
        self.sessions.end_all_of(name)
        return removed

    def sign_in(self, name: str, password: str, now: datetime) -> tuple[str, Session]:
        """The cookie and the session, new each time. Raises SignInRefused."""
        wait_s = self.guesses.wait_s(name, now)
        if wait_s:
            raise SignInRefused(f"Too many wrong passwords for this name: wait {wait_s:.0f} s and try again.")
        known = self.users.get(name) if _NAME.fullmatch(name) else None
        right = self.passwords.matches(known.password_hash if known else None, password[:4096])
        if known is None or not right:
            self.guesses.failed(name, now)
            _log.warning("a sign-in as %r failed", name[:32])
            raise SignInRefused("Name and password do not go together.")
        self.guesses.forget(name)
        return begin_session(self.sessions, name, now)

    def change_password(self, session: Session, old: str, new: str, now: datetime) -> tuple[str, Session]:
        """Sets it, ends all sessions of the person and begins a new one. Raises PasswordRefused, SignInRefused."""
        known = self.users.get(session.user)
        wait_s = self.guesses.wait_s(session.user, now)
        if wait_s:
            raise SignInRefused(f"Too many wrong passwords: wait {wait_s:.0f} s and try again.")
        if known is None or not self.passwords.matches(known.password_hash, old):
            self.guesses.failed(session.user, now)
            raise SignInRefused("The password in force is another one.")
        if problem := refusal_of(new, session.user):
            raise PasswordRefused(f"The new password is not taken: {problem}.")
        if new == old:
            raise PasswordRefused("The new password is the old one.")
        self.users.set_password(session.user, self.passwords.hashed(new), must_change=False)
        self.sessions.end_all_of(session.user)
        return begin_session(self.sessions, session.user, now)

    def recognise(self, cookie: str, now: datetime) -> Rights | None:
        """What the bearer of a cookie may do, None when it opens nothing. Bindings count from the next request on."""
        session = session_of(self.sessions, cookie, now)
        known = self.users.get(session.user) if session is not None else None
        if session is None or known is None:
            return None
        return rights_of(known.subject, self.users.bindings(), session)
