"""A loop apart from its portal knows no people, and says so where somebody would make some."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from controlplane.api.access.accounts import People, SignInRefused, UserRefused
from controlplane.api.access.bindings import EVERYTHING, Binding, BindingRefused
from controlplane.api.access.null_people import null_people
from controlplane.api.access.rights import whole_rights
from controlplane.api.access.roles import Role
from controlplane.api.access.tokens import INSTALLATION, TokenRefused

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def make_token(people: People) -> object:
    life, rights = timedelta(days=1), whole_rights(INSTALLATION)
    return people.make_token(rights, label="ci", role=Role.VIEWER, scope=EVERYTHING, life=life, now=NOW)


@pytest.mark.parametrize(
    ("make", "refusal"),
    [
        (lambda people: people.add("ada", NOW), UserRefused),
        (lambda people: people.first_password(NOW), UserRefused),
        (lambda people: people.bind(Binding("user:ada", Role.ADMIN, EVERYTHING)), BindingRefused),
        (make_token, TokenRefused),
    ],
)
def test_nobody_is_made_there(make: Callable[[People], object], refusal: type[Exception]) -> None:
    with pytest.raises(refusal, match="ask its portal"):
        make(null_people())


def test_nobody_comes_in_there() -> None:
    people = null_people()
    with pytest.raises(SignInRefused):
        people.sign_in("admin", "a good password", NOW)
    assert people.recognise("a cookie", NOW) is None
    assert people.recognise_token(f"kedge_{'0' * 12}_{'a' * 43}", NOW) is None
    assert not people.remove("ada")
    assert not people.disable("oidc:ada", disabled=True)
