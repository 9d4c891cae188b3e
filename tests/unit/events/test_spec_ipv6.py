"""IPv6 in a spec is asked for by pool."""

from events.spec.digest import instance_digest
from events.spec.problems import KINDS
from tests.unit.events.spec_texts import document, load, told

IPV6 = "      machine: medium\n      ipv6: true"


def test_a_pool_may_ask_for_it() -> None:
    assert told(load({20: IPV6})) == []
    assert document({20: IPV6}).spec.pool("brokers").ipv6


def test_what_a_cloud_has_of_it_is_asked_by_who_knows_the_clouds() -> None:
    """`local` has none, and a spec alone does not know that: see
    tests/unit/controlplane/commands/test_ipv6_admission.py."""
    assert load({20: IPV6}).ok
    assert KINDS["KEDGE-SPEC-066"].severity == "error"


def test_a_pool_that_says_nothing_is_what_it_was() -> None:
    """A release with the field rolls no fleet: only who asks for it is another VM."""
    same = instance_digest(document({20: "      machine: medium\n      ipv6: false"}), "brokers")
    assert same == instance_digest(document(), "brokers")
    asking = document({20: IPV6})
    assert instance_digest(asking, "brokers") != same
    assert instance_digest(asking, "controllers") == instance_digest(document(), "controllers")
