"""Laws of rights that hold for every set of bindings: what is taken away never opens anything."""

from hypothesis import given, strategies as st

from controlplane.api.access.bindings import Binding, Traits
from controlplane.api.access.rights import rights_of
from controlplane.api.access.roles import Role, Verb

WORDS = st.sampled_from(("payments", "search", "x"))
SCOPES = st.one_of(
    st.just("*"),
    st.builds("team:{}".format, WORDS),
    st.builds("cluster:{}".format, WORDS),
    st.builds("label:env={}".format, WORDS),
)
TOKEN = "token:0123456789ab"
SUBJECTS = st.sampled_from(("user:ada", "user:bob", "group:web", TOKEN))
BINDINGS = st.lists(st.builds(Binding, SUBJECTS, st.sampled_from(Role), SCOPES), max_size=5)
TRAITS = st.builds(
    Traits, name=WORDS, team=WORDS, labels=st.one_of(st.just({}), st.builds(lambda word: {"env": word}, WORDS))
)
LIMITS = st.none() | st.builds(Binding, st.just("token:1"), st.sampled_from(Role), SCOPES)


@given(bindings=BINDINGS, more=BINDINGS, limit=LIMITS, traits=TRAITS, verb=st.sampled_from(Verb))
def test_a_binding_that_is_taken_away_opens_nothing(
    bindings: list[Binding], more: list[Binding], limit: Binding | None, traits: Traits, verb: Verb
) -> None:
    fewer = rights_of("user:ada", bindings, groups=["web"], limit=limit, via=TOKEN)
    all_of_them = rights_of("user:ada", [*bindings, *more], groups=["web"], limit=limit, via=TOKEN)
    assert fewer.may(verb, traits) <= all_of_them.may(verb, traits)
    assert fewer.may_everywhere(verb) <= all_of_them.may_everywhere(verb)


@given(bindings=BINDINGS, limit=LIMITS, traits=TRAITS, verb=st.sampled_from(Verb))
def test_a_token_may_never_more_than_its_maker_and_what_is_allowed_on_everything_is_allowed_on_each(
    bindings: list[Binding], limit: Binding | None, traits: Traits, verb: Verb
) -> None:
    maker, token = rights_of("user:ada", bindings), rights_of("user:ada", bindings, limit=limit, via=TOKEN)
    assert token.may(verb, traits) <= maker.may(verb, traits)
    assert token.may_everywhere(verb) <= maker.may_everywhere(verb)
    assert token.may_everywhere(verb) <= token.may(verb, traits)


@given(others=BINDINGS, traits=TRAITS, verb=st.sampled_from(Verb))
def test_without_a_binding_of_ones_own_nothing_is_allowed(others: list[Binding], traits: Traits, verb: Verb) -> None:
    assert not rights_of("user:nobody", others, groups=["none"]).may(verb, traits)
