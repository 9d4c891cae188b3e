"""Who may do what, by the spec: what is refused, where, and what a node is told of it."""

import pytest

from events.spec.client_security import ClientSecurity, client_security
from events.spec.model import KafkaClusterDocument
from events.spec.rules import check
from events.spec.security import Authentication, AuthenticationType, Authorization, Listener, Security
from events.spec.user_names import why_no_user
from tests.builders import a_document, a_tls_document
from tests.unit.events.spec_texts import load

TLS = "    strategy: migrate\n  security: {internal: tls}\n"
ASKED = "{name: SCRAM, port: 9094, security: tls, authentication: {type: scram-sha-512}}"
OPEN = "{name: PLAINTEXT, port: 9092}"


def listener(name: str, port: int, asked: AuthenticationType = "none") -> Listener:
    return Listener(name=name, port=port, security="tls", authentication=Authentication(type=asked))


SCRAM, UNASKED = listener("SCRAM", 9094, "scram-sha-512"), listener("TLS", 9095)


def secured(*listeners: Listener, authorization: Authorization | None = None) -> KafkaClusterDocument:
    spec = {"security": Security(internal="tls"), "listeners": listeners, "authorization": authorization}
    document = a_document()
    return document.model_copy(update={"spec": document.spec.model_copy(update=spec)})


@pytest.mark.parametrize(
    ("text", "code", "said", "fix"),
    [
        (
            f"  listeners: [{ASKED}, {OPEN}]",
            "KEDGE-SPEC-087",
            "nothing says what clients may do who are not asked",
            "Write `authorization: {anonymous: refuse}`",
        ),
        (
            f"  listeners: [{ASKED}, {OPEN}]\n  authorization: {{superUsers: [root]}}",
            "KEDGE-SPEC-087",
            "`authorization` does not say what clients may do there",
            "Write `anonymous: refuse`",
        ),
        (
            f"  listeners: [{OPEN}]\n  authorization: {{anonymous: refuse}}",
            "KEDGE-SPEC-087",
            "every client would be locked out",
            "Add a listener",
        ),
        (
            f"  listeners: [{OPEN}]\n  authorization: {{anonymous: full, superUsers: [root]}}",
            "KEDGE-SPEC-088",
            "nobody could be one of them",
            "Add a listener that asks",
        ),
        (
            f"  listeners: [{ASKED}]\n  authorization: {{superUsers: [root, root]}}",
            "KEDGE-SPEC-036",
            "`root` is listed twice",
            "List it once.",
        ),
        *(
            (
                f"  listeners: [{ASKED}]\n  authorization: {{superUsers: ['{name}']}}",
                "KEDGE-SPEC-088",
                "is no user's name",
                "Write the name of a user",
            )
            for name in ("CN=kedge-node-0123456789abcdef", "a;User:b", "Root", "*", "anonymous", "kedge-server", "а")
        ),
    ],
)
def test_what_is_refused_names_its_line_the_reason_and_a_way_out(text: str, code: str, said: str, fix: str) -> None:
    result = load({24: f"{TLS}{text}"})
    (found,) = [one for one in result.problems if one.is_error]
    assert (found.code, found.line >= 24) == (code, True)
    assert said in found.message
    assert fix in found.fix


def test_plaintext_nodes_know_nobody() -> None:
    result = load({24: "    strategy: migrate\n  authorization: {anonymous: full}"})
    (found,) = result.problems
    assert found.code == "KEDGE-SPEC-087"
    assert "nodes speak plaintext" in found.message


@pytest.mark.parametrize(
    "word", ["super.users", "allow.everyone.if.no.acl.found", "connections.max.reauth.ms", "principal.builder.class"]
)
def test_no_property_says_otherwise(word: str) -> None:
    document = secured(SCRAM)
    kafka = document.spec.kafka.model_copy(update={"config": {word: "User:mallory"}})
    changed = document.model_copy(update={"spec": document.spec.model_copy(update={"kafka": kafka})})
    assert [one.code for one in check(changed) if one.is_error] in (["KEDGE-SPEC-042"], ["KEDGE-SPEC-043"])


@pytest.mark.parametrize(
    ("document", "anonymous"),
    [
        (secured(UNASKED), True),
        (secured(SCRAM), False),
        (secured(SCRAM, UNASKED, authorization=Authorization(anonymous="full")), True),
        (secured(SCRAM, UNASKED, authorization=Authorization(anonymous="refuse")), False),
        (secured(SCRAM, authorization=Authorization(anonymous="full")), False),
    ],
)
def test_who_is_not_asked_may_do_everything_only_where_that_was_so_or_is_written(
    document: KafkaClusterDocument, anonymous: bool
) -> None:
    assert not [one for one in check(document) if one.code.endswith(("087", "088"))]
    for service in ("broker", "controller"):
        security = client_security(document, service)
        assert security is not None
        assert security.anonymous is anonymous


def test_plaintext_nodes_are_told_nothing_of_it() -> None:
    assert client_security(a_document(), "broker") is None


def test_a_change_is_told_in_words() -> None:
    before = client_security(a_tls_document(), "broker")
    after = client_security(secured(SCRAM, authorization=Authorization(super_users=("root",))), "broker")
    assert before is not None
    assert after is not None
    assert after.words(before) == (
        "listener SCRAM added; listener TLS removed; listener PLAINTEXT removed; root a super user; "
        "ANONYMOUS no super user"
    )
    assert after.gives_more_than(before)
    assert not ClientSecurity().gives_more_than(before)
    assert not after.words(after)


def test_names_of_users() -> None:
    assert not any(map(why_no_user, ("a", "alice", "0", "a.b_c-d", "a" * 63)))
    assert all(map(why_no_user, ("", "a" * 64, "-a", "a b", "a\n", "a=b", "ANONYMOUS", "anonymous", "kedge-x")))
