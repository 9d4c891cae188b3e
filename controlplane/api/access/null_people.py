"""A server that knows no people: a loop apart from its portal, which its home's token alone opens."""

from typing import NoReturn

from controlplane.api.access.accounts import People, UserRefused
from controlplane.api.access.bindings import BindingRefused
from controlplane.api.access.tokens import TokenRefused

_ASK_THE_PORTAL = "this server knows no people: ask its portal"


class NullPeopleStore:
    """A `UserStore`, `SessionStore`, `TokenStore` and `OidcPeopleStore` in which nobody is and nobody can be."""

    def all(self) -> tuple[()]:
        return ()

    def bindings(self) -> tuple[()]:
        return ()

    def get(self, name: str) -> None:
        return None

    def add(self, *_: object) -> NoReturn:
        raise UserRefused(_ASK_THE_PORTAL)

    def bind(self, *_: object) -> NoReturn:
        raise BindingRefused(_ASK_THE_PORTAL)

    def put(self, *_: object) -> NoReturn:
        raise TokenRefused(_ASK_THE_PORTAL)

    def _is_none(self, *_: object, **__: object) -> bool:
        return False

    def _nothing(self, *_: object) -> None:
        return None

    add_first = add
    set_password = disable = remove = unbind = revoke = take = _is_none
    note = end = end_all_of = sweep = revoke_all_of = signed_in = _nothing


def null_people() -> People:
    """People of such a server."""
    store = NullPeopleStore()
    return People(users=store, sessions=store, tokens=store, oidc=store)
