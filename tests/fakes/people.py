"""Who may come in, in memory: users, sessions, tokens, and people of a provider."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from controlplane.api.access.accounts import People
from controlplane.api.access.bindings import Binding
from controlplane.api.access.oidc_users import ATTEMPT_LIFE, OidcPerson
from controlplane.api.access.sessions import BrowserSession
from controlplane.api.access.tokens import Token
from controlplane.api.access.users import User


def people_in_memory(**given: Any) -> People:
    """People of one process; what is given stands in for what they would have."""
    stores = {
        "users": MemoryUserStore(),
        "sessions": MemorySessionStore(),
        "tokens": MemoryTokenStore(),
        "oidc": MemoryOidcPeople(),
    }
    return People(**{**stores, **given})


class MemoryUserStore:
    """A `UserStore` of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users: dict[str, User] = {}
        self._bindings: set[Binding] = set()

    def all(self) -> Sequence[User]:
        with self._lock:
            return [self._users[name] for name in sorted(self._users)]

    def get(self, name: str) -> User | None:
        with self._lock:
            return self._users.get(name)

    def add(self, user: User) -> bool:
        with self._lock:
            return self._users.setdefault(user.name, user) is user

    def add_first(self, user: User, role: Binding) -> bool:
        with self._lock:
            if self._users:
                return False
            self._users[user.name] = user
            self._bindings.add(role)
            return True

    def set_password(self, name: str, password_hash: str, *, must_change: bool) -> bool:
        with self._lock:
            if name not in self._users:
                return False
            self._users[name] = replace(self._users[name], password_hash=password_hash, must_change=must_change)
            return True

    def disable(self, name: str, at: datetime | None) -> bool:
        with self._lock:
            if name not in self._users:
                return False
            self._users[name] = replace(self._users[name], disabled_at=at)
            return True

    def remove(self, name: str) -> bool:
        with self._lock:
            user = self._users.pop(name, None)
            self._bindings = {b for b in self._bindings if user is None or b.subject != user.subject}
            return user is not None

    def bindings(self) -> Sequence[Binding]:
        with self._lock:
            return sorted(self._bindings)

    def bind(self, binding: Binding) -> bool:
        with self._lock:
            is_new = binding not in self._bindings
            self._bindings.add(binding)
            return is_new

    def unbind(self, binding: Binding) -> bool:
        with self._lock:
            was_there = binding in self._bindings
            self._bindings.discard(binding)
            return was_there


class MemorySessionStore:
    """A `SessionStore` of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: dict[str, BrowserSession] = {}

    def put(self, session: BrowserSession) -> None:
        with self._lock:
            self._sessions[session.key] = session

    def get(self, key: str) -> BrowserSession | None:
        with self._lock:
            return self._sessions.get(key)

    def note(self, key: str, seen_at: datetime) -> None:
        with self._lock:
            if key in self._sessions:
                self._sessions[key] = replace(self._sessions[key], seen_at=seen_at)

    def end(self, key: str) -> None:
        with self._lock:
            self._sessions.pop(key, None)

    def end_all_of(self, user: str) -> None:
        with self._lock:
            self._sessions = {key: s for key, s in self._sessions.items() if s.user != user}

    def sweep(self, now: datetime) -> None:
        with self._lock:
            self._sessions = {key: s for key, s in self._sessions.items() if not s.is_over(now)}


class MemoryTokenStore:
    """A `TokenStore` of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tokens: dict[str, Token] = {}

    def put(self, token: Token) -> None:
        with self._lock:
            self._tokens[token.id] = token

    def get(self, token_id: str) -> Token | None:
        with self._lock:
            return self._tokens.get(token_id)

    def all(self) -> Sequence[Token]:
        with self._lock:
            return sorted(self._tokens.values(), key=lambda t: (-t.made_at.timestamp(), t.id))

    def note(self, token_id: str, at: datetime, client: str) -> None:
        with self._lock:
            self._tokens[token_id] = replace(self._tokens[token_id], used_at=at, used_from=client)

    def revoke(self, token_id: str, at: datetime) -> bool:
        with self._lock:
            found = self._tokens.get(token_id)
            if found is None or found.revoked_at is not None:
                return False
            self._tokens[token_id] = replace(found, revoked_at=at)
            return True

    def revoke_all_of(self, maker: str, at: datetime) -> None:
        for token in [t for t in self.all() if t.maker == maker]:
            self.revoke(token.id, at)


class MemoryOidcPeople:
    """An `OidcPeopleStore` of one process. Bindings are in another store of it, and are left there."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._people: dict[str, OidcPerson] = {}
        self._taken: dict[str, datetime] = {}

    def all(self) -> Sequence[OidcPerson]:
        with self._lock:
            return [self._people[name] for name in sorted(self._people)]

    def get(self, name: str) -> OidcPerson | None:
        with self._lock:
            return self._people.get(name)

    def signed_in(self, person: OidcPerson) -> OidcPerson | None:
        with self._lock:
            known = self._people.setdefault(person.name, person)
            if known.sub != person.sub:
                return None
            self._people[person.name] = replace(known, groups=person.groups, signed_in_at=person.signed_in_at)
            return self._people[person.name]

    def disable(self, name: str, at: datetime | None) -> bool:
        with self._lock:
            if name not in self._people:
                return False
            self._people[name] = replace(self._people[name], disabled_at=at)
            return True

    def remove(self, name: str) -> bool:
        with self._lock:
            return self._people.pop(name, None) is not None

    def take(self, state_sha256: str, now: datetime) -> bool:
        with self._lock:
            self._taken = {state: at for state, at in self._taken.items() if at > now - 2 * ATTEMPT_LIFE}
            if state_sha256 in self._taken:
                return False
            self._taken[state_sha256] = now
            return True
