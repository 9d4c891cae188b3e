"""A topic is found by a part of its name, whoever has to look through a million of them."""

import re
import time

from hypothesis import given, strategies as st

from controlplane.background.topic_names.store import ClusterTopics, TopicHit, TopicsFound, topics_found

ORDERS = ClusterTopics.of(["payments", "late-payments"])
LEDGER = ClusterTopics.of(["payments", "secret-payroll"])
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
    assert topics_found([("orders", ClusterTopics.of(["papapapa", "xpapapa"]))], "papa", most=9).count == 2


def test_the_first_are_shown_and_all_are_counted_up_to_a_limit() -> None:
    many = [("orders", ClusterTopics.of(f"t{n:04d}" for n in range(1500)))]
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
    found = topics_found([(c, ClusterTopics.of(names)) for c, names in clusters.items()], text, most=5)
    wanted = text.lower()
    slow = [(n, c) for c, names in clusters.items() for n in names if wanted and wanted in n.lower()]
    slow.sort(key=lambda hit: (not hit[0].lower().startswith(wanted), hit[0].lower(), hit[1], hit[0]))
    assert [(hit.topic, hit.cluster) for hit in found.hits] == slow[:5]
    assert found.count == len(slow)


def test_a_regular_expression_is_what_stands_between_slashes() -> None:
    found = topics_found(HELD, " /^pay[a-z]+s$/ ", most=50)
    assert found.hits == (TopicHit("payments", "ledger"), TopicHit("payments", "orders"))
    assert (topics_found(HELD, "/PAYM.NTS/", most=50).count, topics_found(HELD, "/paymnts/", most=50).count) == (3, 0)
    assert topics_found(HELD, "pay[a-z]+s", most=50).count == 0, "without slashes it is a name"


def test_an_expression_that_could_take_long_is_refused_in_words() -> None:
    for text, why in (
        ("/pay(a|b)*/", "groups are not offered"),
        ("/pay|led/", "alternatives are not offered"),
        ("/pay{9}/", "counts are not offered"),
        ("/a+b+c+payments/", "more than 2 repetitions"),
        ("/a?b?c?d?e?payments/", "or 4 `?`"),
        ("/pa.*/", "no 3 characters beside each other"),
        ("/payx?[abc]*/", ""),
        ("/paz?/", "no 3 characters"),
        ("/pay[z-a]/", "not a regular expression"),
        ("/pay**/", "is not understood"),
        ("/pay$*/", "repeats nothing"),
        ("//", "no 3 characters"),
    ):
        refused = topics_found(HELD, text, most=50).refused
        assert why in refused, text
        assert bool(refused) == bool(why), text


def test_time_that_is_up_ends_the_look_and_says_so() -> None:
    many = [("orders", ClusterTopics.of(f"topic-{n:04d}" for n in range(2000)))]
    queries = iter(range(2000))
    found = topics_found(many, "/topic-[0-9]*9$/", most=50, is_late=lambda: next(queries) == 600)
    assert (found.late, found.cut, len(found.hits), found.count) == (True, True, 50, 60)


def test_a_name_made_to_be_slow_costs_a_second_at_most() -> None:
    slow = [("orders", ClusterTopics.of(["a" * 245 + "xyz"]))]
    begun_s = time.process_time()
    assert topics_found(slow, "/a*a*xyz[b]$/", most=9).count == 0
    assert topics_found(slow, "/a?a?a?a?[a]*[a]*xyz[b]/", most=9) == TopicsFound((), 0)
    assert time.process_time() - begun_s < 1.0


@given(names=NAMES, body=st.text("abAB.^$[]*+?\\\\-_", max_size=9))
def test_an_expression_finds_what_it_fits_and_its_certain_part_loses_nothing(names: set[str], body: str) -> None:
    found = topics_found([("orders", ClusterTopics.of(names))], f"/{body}/", most=99)
    if not found.refused:
        wanted = re.compile(body, re.IGNORECASE | re.ASCII)
        assert {hit.topic for hit in found.hits} == {name for name in names if wanted.search(name.lower())}
