"""What a provider's answer has to be so that anybody comes in by it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from joserfc.jwk import ECKey
from pydantic import SecretBytes, ValidationError

from controlplane.api.access.oidc_users import ATTEMPT_LIFE, OidcPerson
from controlplane.api.access.sessions import begin_session, key_of
from controlplane.api.audit.store import AuditFilter
from controlplane.api.oidc.binding import OidcBinding, OidcRefused
from controlplane.api.oidc.provider import KEYS_AT_MOST_EVERY_S, Provider, ProviderAway, SignInFailed
from controlplane.api.oidc.signin import OidcSignIn, SignInAnswer
from tests.fakes.oidc_provider import CLIENT, ISSUER, SECRET, FakeOidcProvider
from tests.fakes.people import MemoryOidcPeople
from tests.unit.controlplane.api.portal_house import House

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
US = "http://127.0.0.1:8428"


class Scene:
    """A provider, and a server that is bound to it."""

    def __init__(self, tmp_path: Path, **binding: Any) -> None:
        secret = tmp_path / "client-secret"
        secret.write_text(SECRET)
        secret.chmod(0o600)
        self.fake = FakeOidcProvider(NOW)
        self.now_s = 0.0
        bound = OidcBinding(issuer=ISSUER, client_id=CLIENT, client_secret_file=secret, **binding)
        provider = Provider(bound, transport=self.fake.transport, monotonic=lambda: self.now_s)
        self.oidc = OidcSignIn(provider, MemoryOidcPeople(), SecretBytes(b"server key"))

    def come_back(self, **changed: str) -> OidcPerson:
        url, cookie = self.oidc.begin(US, NOW)
        answer = self.fake.authorize(url)
        return self.oidc.finish(SignInAnswer(**{**answer, **changed}), cookie, US, NOW)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_somebody_the_provider_vouches_for_comes_in_with_their_groups(scene: Scene) -> None:
    person = scene.come_back()
    assert (person.subject, person.sub) == ("oidc:ada@example.com", "sub-1")
    assert person.groups == ("everybody", "platform")
    assert "/me" not in scene.fake.calls, "the ID token told everything"


def test_what_the_id_token_does_not_tell_is_asked_of_the_userinfo_endpoint(scene: Scene) -> None:
    scene.fake.claims = {"groups": None}
    scene.fake.userinfo = {"sub": "sub-1", "groups": ["late"]}
    assert scene.come_back().groups == ("late",)
    scene.fake.userinfo = {"sub": "somebody else", "groups": ["admins"]}
    with pytest.raises(SignInFailed, match="somebody else"):
        scene.come_back()


def in_s(seconds: int) -> int:
    return int(NOW.timestamp()) + seconds


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"nonce": "another"}, "another sign-in"),
        ({"nonce": None}, "another sign-in"),
        ({"iss": "https://evil.example"}, "another provider's"),
        ({"aud": "another-client"}, "another application"),
        ({"aud": None}, "another application"),
        ({"aud": [CLIENT, "another-client"]}, "given to another application"),
        ({"azp": "another-client"}, "given to another application"),
        ({"exp": in_s(-61)}, "is over"),
        ({"exp": None}, "is over"),
        ({"exp": "soon"}, "is over"),
        ({"iat": in_s(61)}, "from the future"),
        ({"nbf": in_s(61)}, "not valid yet"),
        ({"at_hash": "AAAA"}, "access token is not the one"),
        ({"sub": None}, "whom it is for"),
        ({"email_verified": False}, "not verified"),
        ({"email_verified": "true"}, "not verified"),
        ({"email": "a b@example.com"}, "no usable"),
        ({"email": ""}, "no usable"),
    ],
)
def test_an_id_token_that_is_wrong_in_one_respect_lets_nobody_in(
    scene: Scene, claims: dict[str, Any], why: str
) -> None:
    scene.fake.claims = claims
    with pytest.raises(SignInFailed, match=why):
        scene.come_back()


@pytest.mark.parametrize("claims", [{"exp": in_s(-59)}, {"iat": in_s(59)}, {"aud": [CLIENT]}, {"azp": CLIENT}])
def test_clocks_may_be_apart_by_the_leeway_and_a_list_of_one_is_that_one(scene: Scene, claims: dict[str, Any]) -> None:
    scene.fake.claims = claims
    assert scene.come_back().sub == "sub-1"


def test_who_is_signed_out_there_is_named_here_once(scene: Scene) -> None:
    scene.oidc.people.signed_in(scene.come_back())
    token = scene.fake.logout_token()
    assert scene.oidc.signed_out(token, NOW) == ["oidc:ada@example.com"]
    with pytest.raises(SignInFailed, match="used before"):
        scene.oidc.signed_out(token, NOW)
    assert scene.oidc.signed_out(scene.fake.logout_token(sub="somebody else"), NOW) == []


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"iss": "https://evil.example"}, "another provider's"),
        ({"aud": "another-client"}, "another application"),
        ({"exp": in_s(-61)}, "is over"),
        ({"exp": None}, "is over"),
        ({"iat": in_s(61)}, "from the future"),
        ({"iat": in_s(-661)}, "too old"),
        ({"events": None}, "not a logout token"),
        ({"events": {"http://schemas.openid.net/event/other": {}}}, "not a logout token"),
        ({"events": "http://schemas.openid.net/event/backchannel-logout"}, "not a logout token"),
        ({"nonce": "n"}, "not a logout token"),
        ({"jti": None}, "no id"),
        ({"sub": None, "sid": "s-1"}, "names no person"),
    ],
)
def test_a_logout_token_that_is_wrong_in_one_respect_signs_nobody_out(
    scene: Scene, claims: dict[str, Any], why: str
) -> None:
    with pytest.raises(SignInFailed, match=why):
        scene.oidc.signed_out(scene.fake.logout_token(**claims), NOW)


def test_a_logout_token_by_another_key_or_none_signs_nobody_out(scene: Scene) -> None:
    token = scene.fake.logout_token()
    scene.fake.signing_key = ECKey.generate_key("P-256", {"kid": "one", "use": "sig"})
    for wrong in ("", "x.y.z", f"{token.rpartition('.')[0]}.", scene.fake.logout_token()):
        with pytest.raises(SignInFailed):
            scene.oidc.signed_out(wrong, NOW)


def test_the_sessions_of_whom_the_provider_signs_out_end_and_nobody_elses(scene: Scene) -> None:
    house = House(oidc=scene.oidc, now=NOW)
    people = replace(house.services.access.people, oidc=scene.oidc.people)
    cookie, session = people.sign_in_oidc(scene.come_back(), NOW, life=timedelta(hours=1))
    other, _ = begin_session(people.sessions, "bob", NOW)
    stranger = house.client_with({})
    refused = stranger.post("/oidc/backchannel", data={"logout_token": scene.fake.logout_token(jti=None)})
    assert (refused.status_code, refused.json()["code"]) == (400, "logout-refused")
    assert people.sessions.get(session.key) is not None
    answer = stranger.post("/oidc/backchannel", data={"logout_token": scene.fake.logout_token()})
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert people.sessions.get(session.key) is None
    assert people.sessions.get(key_of(other)) is not None
    assert cookie
    noted = house.audit.page(AuditFilter(), 5)
    assert [(kept.entry.verb, kept.entry.outcome.value) for kept in noted] == [
        ("sign out", "done"),
        ("sign out", "denied"),
    ]
    assert "oidc:ada@example.com" in str(noted[0].entry)


def test_a_token_without_a_signature_is_none(scene: Scene) -> None:
    scene.fake.unsigned = True
    with pytest.raises(SignInFailed, match="signed by none"):
        scene.come_back()


def test_a_token_signed_by_a_secret_we_share_is_not_believed(scene: Scene) -> None:
    scene.fake.signs_with_secret = True
    with pytest.raises(SignInFailed, match="signed by HS256"):
        scene.come_back()


def test_a_signature_by_another_key_of_the_same_name_is_not_right(scene: Scene) -> None:
    scene.fake.signing_key = ECKey.generate_key("P-256", {"kid": "one"})
    with pytest.raises(SignInFailed, match="signature"):
        scene.come_back()


def test_a_key_the_provider_does_not_show_lets_nobody_in_and_is_not_fetched_all_the_time(scene: Scene) -> None:
    scene.come_back()
    scene.fake.signing_key = ECKey.generate_key("P-256", {"kid": "unknown"})
    for _ in range(3):
        with pytest.raises(SignInFailed, match="does not show"):
            scene.come_back()
    assert scene.fake.calls.count("/jwks") == 1
    scene.now_s += KEYS_AT_MOST_EVERY_S
    with pytest.raises(SignInFailed, match="does not show"):
        scene.come_back()
    assert scene.fake.calls.count("/jwks") == 2


def test_a_rotated_key_is_found(scene: Scene) -> None:
    scene.come_back()
    scene.fake.rotate()
    scene.now_s += KEYS_AT_MOST_EVERY_S
    assert scene.come_back().sub == "sub-1"


def test_an_answer_counts_once(scene: Scene) -> None:
    url, cookie = scene.oidc.begin(US, NOW)
    answer = SignInAnswer(**scene.fake.authorize(url))
    scene.oidc.finish(answer, cookie, US, NOW)
    with pytest.raises(SignInFailed, match="used before"):
        scene.oidc.finish(answer, cookie, US, NOW)


def test_a_code_that_was_used_is_refused_by_the_provider(scene: Scene) -> None:
    url, cookie = scene.oidc.begin(US, NOW)
    first = scene.fake.authorize(url)
    scene.oidc.finish(SignInAnswer(**first), cookie, US, NOW)
    with pytest.raises(SignInFailed, match="invalid_grant"):
        scene.come_back(code=first["code"])


def test_a_code_of_another_sign_in_fails_by_its_verifier(scene: Scene) -> None:
    stolen = scene.fake.authorize(scene.oidc.begin(US, NOW)[0])["code"]
    with pytest.raises(SignInFailed, match="invalid_grant"):
        scene.come_back(code=stolen)


@pytest.mark.parametrize("changed", [{"state": "another"}, {"state": ""}])
def test_an_answer_with_another_state_counts_for_nothing(scene: Scene, changed: dict[str, str]) -> None:
    with pytest.raises(SignInFailed, match="did not begin"):
        scene.come_back(**changed)


def test_an_answer_counts_only_in_the_browser_that_began(scene: Scene) -> None:
    url, cookie = scene.oidc.begin(US, NOW)
    answer = SignInAnswer(**scene.fake.authorize(url))
    _, of_another = scene.oidc.begin(US, NOW)
    for wrong in (of_another, "", cookie[:-1] + ("0" if cookie[-1] != "0" else "1"), f"9{cookie}"):
        with pytest.raises(SignInFailed, match="did not begin"):
            scene.oidc.finish(answer, wrong, US, NOW)
    assert scene.oidc.finish(answer, cookie, US, NOW).sub == "sub-1"


def test_a_sign_in_that_took_too_long_is_over(scene: Scene) -> None:
    url, cookie = scene.oidc.begin(US, NOW)
    answer = SignInAnswer(**scene.fake.authorize(url))
    with pytest.raises(SignInFailed, match="too long"):
        scene.oidc.finish(answer, cookie, US, NOW + ATTEMPT_LIFE + timedelta(seconds=1))


def test_an_answer_of_another_provider_is_not_brought_to_ours(scene: Scene) -> None:
    with pytest.raises(SignInFailed, match="another provider"):
        scene.come_back(issuer="https://evil.example")
    assert scene.come_back(issuer=ISSUER).sub == "sub-1"


def test_a_provider_that_names_itself_in_its_answers_has_to(scene: Scene) -> None:
    scene.fake.metadata = {"authorization_response_iss_parameter_supported": True}
    with pytest.raises(SignInFailed, match="another provider"):
        scene.come_back()


def test_who_was_not_let_in_there_is_not_let_in_here(scene: Scene) -> None:
    with pytest.raises(SignInFailed, match="did not let you in"):
        scene.come_back(code="", error="access_denied")


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://evil.example"},
        {"token_endpoint": "http://id.example.com/token"},
        {"jwks_uri": ""},
    ],
)
def test_a_discovery_document_that_cannot_be_right_is_none(scene: Scene, metadata: dict[str, Any]) -> None:
    scene.fake.metadata = metadata
    with pytest.raises(ProviderAway):
        scene.oidc.begin(US, NOW)


def test_a_provider_that_is_away_is_told_as_that(scene: Scene) -> None:
    scene.fake.away = True
    with pytest.raises(ProviderAway, match="does not answer"):
        scene.oidc.begin(US, NOW)


def test_people_of_other_domains_are_refused(tmp_path: Path) -> None:
    assert Scene(tmp_path, allowed_email_domains=("example.com",)).come_back().sub == "sub-1"
    with pytest.raises(SignInFailed, match="domain"):
        Scene(tmp_path, allowed_email_domains=("ample.com",)).come_back()


def test_a_name_that_passed_to_somebody_else_is_not_theirs(scene: Scene) -> None:
    people = scene.oidc.people
    assert people.signed_in(scene.come_back()) is not None
    scene.fake.claims = {"sub": "sub-2"}
    assert people.signed_in(scene.come_back()) is None


def test_one_signs_out_at_the_provider_where_it_offers_that(scene: Scene) -> None:
    assert scene.oidc.way_out(US).startswith(f"{ISSUER}/out?client_id=kedge&post_logout_redirect_uri=http%3A%2F%2F127")
    scene.now_s += 3600
    scene.fake.metadata = {"end_session_endpoint": None}
    assert scene.oidc.way_out(US) == ""


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"issuer": "http://id.example.com"}, "plain HTTP"),
        ({"issuer": "id.example.com"}, "not an address"),
        ({"scopes": ("email",)}, "openid"),
        ({"client_secret_env": "A", "client_secret_file": Path("b")}, "both set"),
        ({"allowed_email_domains": ("@example.com",)}, "not a domain"),
        ({"client_secret": "plain"}, "Extra inputs"),
    ],
)
def test_a_binding_that_makes_no_sense_is_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        OidcBinding(**{"issuer": ISSUER, "client_id": CLIENT, **given})


def test_an_issuer_on_loopback_may_speak_plain_http() -> None:
    assert OidcBinding(issuer="http://127.0.0.1:9", client_id=CLIENT).issuer == "http://127.0.0.1:9"


def a_file(tmp_path: Path, text: str, mode: int) -> Path:
    path = tmp_path / "secret"
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.mark.parametrize(
    ("write", "why"),
    [
        (lambda folder: a_file(folder, "s", 0o644), "readable by others"),
        (lambda folder: a_file(folder, "\n", 0o600), "is empty"),
        (lambda folder: folder / "missing", "cannot be read"),
    ],
)
def test_a_client_secret_that_is_not_there_is_told_without_showing_any(
    tmp_path: Path, write: Callable[[Path], Path], why: str
) -> None:
    bound = OidcBinding(issuer=ISSUER, client_id=CLIENT, client_secret_file=write(tmp_path))
    with pytest.raises(OidcRefused, match=why):
        bound.client_secret()
