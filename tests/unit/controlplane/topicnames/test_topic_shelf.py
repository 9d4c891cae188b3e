"""A topic is found by a part of its name, whoever has to look through a million of them."""

from hypothesis import given
from hypothesis import strategies as st

from controlplane.topicnames.shelf import Shelf, TopicHit, topics_found

ORDERS = Shelf.of(["payments", "late-payments"])
LEDGER = Shelf.of(["payments", "secret-payroll"])
HELD = [("orders", ORDERS), ("ledger", LEDGER)]
NAMES = st.sets(st.text("abAB.-_", min_size=1, max_size=6), max_size=12)


def test_names_that_begin_with_the_text_come_before_those_that_hold_it() -> None:
    assert topics_found(HELD, " PAY ", most=50).hits == (
        TopicHit("payments", "ledger"),
        TopicHit("payments", "orders"),
        TopicHit("late-payments", "orders"),
        TopicHit("secret-payroll", "ledger"),
    )


def test_a_name_that_holds_the_text_twice_is_found_once() -> None:
    assert topics_found([("orders", Shelf.of(["papapapa", "xpapapa"]))], "papa", most=9).count == 2


def test_the_first_are_shown_and_all_are_counted_up_to_a_limit() -> None:
    many = [("orders", Shelf.of(f"t{n:04d}" for n in range(1500)))]
    found = topics_found(many, "t", most=50)
    assert (len(found.hits), found.hits[-1].topic, found.count, found.cut) == (50, "t0049", 1000, True)
    exact = topics_found(many, "t0", most=50)
    assert (exact.count, exact.cut) == (1000, False)


def test_nothing_is_found_for_an_empty_text_and_none_across_two_names() -> None:
    for text in ("", "  ", "*", "ments\npay", "s\nl"):
        assert topics_found(HELD, text, most=50).count == 0


def test_a_star_stands_for_anything_between_two_parts() -> None:
    assert [h.topic for h in topics_found(HELD, "sec*roll", most=9).hits] == ["secret-payroll"]
    assert topics_found(HELD, "roll*sec", most=9).count == 0


@given(st.dictionaries(st.text("xyz", min_size=1, max_size=2), NAMES, max_size=4), st.text("abAB.-_", max_size=3))
def test_it_finds_what_looking_at_every_name_finds(clusters: dict[str, set[str]], text: str) -> None:
    found = topics_found([(c, Shelf.of(names)) for c, names in clusters.items()], text, most=5)
    wanted = text.lower()
    slow = [(n, c) for c, names in clusters.items() for n in names if wanted and wanted in n.lower()]
    slow.sort(key=lambda hit: (not hit[0].lower().startswith(wanted), hit[0].lower(), hit[1], hit[0]))
    assert [(hit.topic, hit.cluster) for hit in found.hits] == slow[:5]
    assert found.count == len(slow)
