"""People of this installation: signing in and out, whose session a cookie opens, the first password."""

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from controlplane.api.access.bindings import EVERYTHING, TOKEN, Binding, BindingRefused, scope_of
from controlplane.api.access.oidc_users import OidcPeopleStore, OidcPerson
from controlplane.api.access.passwords import Guesses, Passwords, Remembered, made_password, neighbourhood, refusal_of
from controlplane.api.access.rights import Forbidden, Rights, rights_of, whole_rights
from controlplane.api.access.roles import Role
from controlplane.api.access.sessions import BrowserSession, SessionStore, begin_session, session_of
from controlplane.api.access.tokens import INSTALLATION, Token, TokenStore, make_token, token_of
from controlplane.api.access.users import User, UserStore
from events.clock import Clock, utc_now

_log = logging.getLogger(__name__)

FIRST_USER = "admin"
_OIDC, _USER = "oidc:", "user:"
_NAME = re.compile(r"[a-z][a-z0-9._-]{0,31}", re.ASCII)


class SignInRefused(Exception):
    """Name and password do not go together, or have to wait. One text for both: nobody learns which users exist."""


class PasswordRefused(ValueError):
    """The new password is not taken; the message says why."""


class UserRefused(ValueError):
    """No such user can be made. The message says why."""


class UserNotFound(UserRefused):
    """There is no user of that name. What now: `GET /v1/users` lists them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """All about who may come in. Raises StoreUnavailable where the database is away.

    `oidc_trust`: tokens of people of the provider work so long after their last sign-in, as nobody else tells us that
    they left or changed groups.
    """

    users: UserStore
    sessions: SessionStore
    tokens: TokenStore
    oidc: OidcPeopleStore
    passwords: Passwords = field(default_factory=Passwords)
    guesses: Guesses = field(default_factory=Guesses)
    guesses_from: Guesses = field(default_factory=lambda: Guesses(free_tries=50))
    """The same by address, for who tries one password on many names."""
    right_before: Remembered = field(default_factory=Remembered)
    """From where somebody came in: wrong ones of others elsewhere do not make them wait there."""
    oidc_trust: timedelta = timedelta(days=7)
    clock: Clock = utc_now

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
            raise UserRefused(f"{name!r} is not a name: a letter, then letters, digits, `.`, `_`, `-`, at most 32")
        password = made_password()
        if not self.users.add(User(name, self.passwords.hashed(password), True, now)):
            raise UserRefused(f"there is a user {name} already")
        return password

    def renew(self, name: str) -> str:
        """A new password for somebody who lost theirs; their sessions end. Raises UserNotFound."""
        password = made_password()
        if not self.users.set_password(name, self.passwords.hashed(password), must_change=True):
            raise UserNotFound(f"there is no user {name}")
        self.sessions.end_all_of(name)
        self.guesses.forget(name)
        self.right_before.drop(f"{name} from ")
        return password

    def remove(self, name: str) -> bool:
        """The user with their bindings, sessions and tokens: whoever gets the name later gets none of it.

        People of the provider are named `oidc:NAME`, here and in `disable`. Raises UserRefused for the last
        administrator of everything.
        """
        is_oidc = name.startswith(_OIDC)
        self._require_an_administrator(without=name if is_oidc else f"{_USER}{name}")
        removed = self.oidc.remove(name.removeprefix(_OIDC)) if is_oidc else self.users.remove(name)
        self.sessions.end_all_of(name)
        self.tokens.revoke_all_of(name if is_oidc else f"{_USER}{name}", self.clock())
        return removed

    def disable(self, name: str, *, disabled: bool) -> bool:
        """Keeps somebody and their tokens out, or lets them in again. Their sessions end; their bindings stay.

        Raises UserRefused for the last administrator of everything.
        """
        at = self.clock() if disabled else None
        is_oidc = name.startswith(_OIDC)
        if disabled:
            self._require_an_administrator(without=name if is_oidc else f"{_USER}{name}")
        found = self.oidc.disable(name.removeprefix(_OIDC), at) if is_oidc else self.users.disable(name, at)
        if disabled:
            self.sessions.end_all_of(name)
        return found

    def sign_in(self, name: str, password: str, now: datetime, *, client: str = "") -> tuple[str, BrowserSession]:
        """The cookie and the session, new each time; `client` is the address it comes from. Raises SignInRefused."""
        near = neighbourhood(client)
        here = f"{name} from {near}"
        counted = here if client and self.right_before.has(here) else name
        wait_s = max(self.guesses.wait_s(counted, now), self.guesses_from.wait_s(near, now) if client else 0.0)
        if wait_s:
            raise SignInRefused(f"Too many wrong passwords for this name: wait {wait_s:.0f} s and try again.")
        known = self.users.get(name) if _NAME.fullmatch(name) else None
        right = self.passwords.matches(known.password_hash if known else None, password[:4096])
        if known is None or not right or known.disabled_at is not None:
            self.guesses.failed(counted, now)
            self.guesses_from.failed(near, now)
            _log.warning("a sign-in as %r failed", name[:32])
            raise SignInRefused("Name and password do not go together.")
        self.guesses.forget(counted)
        self.guesses_from.forget(near)
        if client:
            self.right_before.add(here)
        return begin_session(self.sessions, name, now)

    def sign_in_oidc(self, person: OidcPerson, now: datetime, *, life: timedelta) -> tuple[str, BrowserSession]:
        """The same for somebody the provider has vouched for. Raises SignInRefused."""
        known = self.oidc.signed_in(person)
        if known is None:
            raise SignInRefused(
                f"The provider calls you {person.name}, and somebody else had that name here: an administrator removes "
                "them first."
            )
        if known.disabled_at is not None:
            raise SignInRefused("An administrator has disabled you here.")
        return begin_session(self.sessions, known.subject, now, life=life)

    def change_password(self, session: BrowserSession, old: str, new: str, now: datetime) -> tuple[str, BrowserSession]:
        """Sets it, ends all sessions of the person and begins a new one. Raises PasswordRefused, SignInRefused."""
        known = self.users.get(session.user)
        wait_s = self.guesses.wait_s(session.key, now)
        if wait_s:
            raise SignInRefused(f"Too many wrong passwords: wait {wait_s:.0f} s and try again.")
        if known is None or not self.passwords.matches(known.password_hash, old):
            self.guesses.failed(session.key, now)
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
        return self._rights(session.subject, session=session, via="session") if session is not None else None

    def rights_now(self, subject: str, via: str, now: datetime) -> Rights | None:
        """What whoever asked for something once may do at this moment; None where they may not come in any more.

        Where they came by a token, no more than that one leaves; a revoked token leaves nothing. Of people of the
        provider what it told at their last sign-in counts as long as it does for tokens.
        """
        limit = None
        if via.startswith(TOKEN):
            token = self.tokens.get(via.removeprefix(TOKEN))
            if token is None or token.state(now) == "revoked":
                return None
            limit = token.limit
        if subject == INSTALLATION or (limit is not None and limit.subject == INSTALLATION):
            return whole_rights(subject, limit=limit, via=via, granted=self.users.bindings())
        return self._rights(subject, via=via, limit=limit, now=now)

    def bind(self, wanted: Binding) -> bool:
        """Gives the role; False when it is there already. Raises BindingRefused for a token that is not in force."""
        if wanted.subject.startswith(TOKEN):
            token = self.tokens.get(wanted.subject.removeprefix(TOKEN))
            if token is None or token.state(self.clock()) != "active":
                raise BindingRefused(
                    f"{wanted.subject} is not a token in force: `kedge token list --everyone` lists them"
                )
        return self.users.bind(wanted)

    def unbind(self, taken: Binding) -> bool:
        """Takes the role away; False when it is not there. Raises UserRefused where nobody would be left with all."""
        self._require_an_administrator(unbound=taken)
        return self.users.unbind(taken)

    def _require_an_administrator(self, *, without: str = "", unbound: Binding | None = None) -> None:
        """Somebody who may let others in has to be left: the home's token, which may, is on one machine alone."""
        bindings = self.users.bindings()
        is_one_left = self._has_administrator(b for b in bindings if b != unbound) if unbound else False
        is_one_left = is_one_left or (bool(without) and self._has_administrator(bindings, without=without))
        if not is_one_left and self._has_administrator(bindings):
            who = without.removeprefix(_USER) or (unbound.subject.removeprefix(_USER) if unbound else "")
            raise UserRefused(f"{who} is the last administrator of everything: give that role to somebody else first")

    def _has_administrator(self, bindings: Iterable[Binding], *, without: str = "") -> bool:
        """Whether somebody who may come in administers everything. Of a group somebody has to have come by it."""
        whole = {b.subject for b in bindings if b.role is Role.ADMIN and b.scope == EVERYTHING}
        users = (u.subject for u in self.users.all() if u.disabled_at is None)
        if any(subject in whole for subject in users if subject != without):
            return True
        persons = (person for person in self.oidc.all() if person.disabled_at is None and person.subject != without)
        return any(whole & {p.subject, *(f"group:{group}" for group in p.groups)} for p in persons)

    def make_token(
        self, rights: Rights, *, label: str, role: Role, scope: str, life: timedelta, now: datetime
    ) -> tuple[str, Token]:
        """A token of the caller and its text, told this once. Raises TokenRefused, BindingRefused, Forbidden."""
        if rights.limit is not None:
            raise Forbidden("a token makes no token", "Sign in, or use the token of the server's home.")
        limit = Binding(rights.subject, role, scope_of(scope))
        return make_token(self.tokens, label=label, limit=limit, life=life, now=now)

    def recognise_token(self, text: str, now: datetime, *, client: str = "") -> Rights | None:
        """What the bearer of a token may do: as much as its maker may at this moment, within its limit."""
        token = token_of(self.tokens, text, client=client, now=now)
        if token is None:
            return None
        via = f"{TOKEN}{token.id}"
        if token.maker == INSTALLATION:
            return whole_rights(f"token:{token.label}", limit=token.limit, via=via, granted=self.users.bindings())
        return self._rights(token.maker, limit=token.limit, via=via, now=now)

    def _rights(
        self,
        subject: str,
        *,
        via: str,
        session: BrowserSession | None = None,
        limit: Binding | None = None,
        now: datetime | None = None,
    ) -> Rights | None:
        """Of somebody who is known and not disabled. `now` where no session ends by itself: then it matters how long
        ago the provider told of them."""
        groups: tuple[str, ...] = ()
        if subject.startswith(_OIDC):
            person = self.oidc.get(subject.removeprefix(_OIDC))
            if person is None or person.disabled_at is not None:
                return None
            if now is not None and now - person.signed_in_at > self.oidc_trust:
                return None
            groups = person.groups
        else:
            user = self.users.get(subject.removeprefix(_USER))
            if user is None or user.disabled_at is not None:
                return None
        return rights_of(subject, self.users.bindings(), session, groups=groups, limit=limit, via=via)
