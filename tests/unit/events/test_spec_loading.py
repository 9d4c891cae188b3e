"""What a file itself may not hold: each refusal with its position, and how values are read."""

import pytest

from events.spec.document import MAX_PROBLEMS, load_documents
from events.spec.yaml_tree import MAX_BYTES
from tests.unit.events.spec_texts import FILE, ORDERS, document, edited, load, told


def test_an_accepted_spec_has_no_problems() -> None:
    result = load()
    assert result.ok
    assert result.problems == ()
    assert [one.metadata.name for one in result.documents] == ["orders"]


def test_a_file_over_256_kib_is_refused_unread() -> None:
    text = ORDERS + "#" * (MAX_BYTES - len(ORDERS) + 1)
    result = load_documents(text, file=FILE)
    assert told(result) == [
        (
            "1:1",
            "KEDGE-SPEC-001",
            "the file has 262145 bytes; at most 262144 (256 KiB) are read",
            "Split it: one file per cluster.",
        )
    ]
    assert result.documents == ()


def test_a_file_of_exactly_256_kib_is_read() -> None:
    assert load_documents(ORDERS + "#" * (MAX_BYTES - len(ORDERS)), file=FILE).ok


def test_size_is_counted_in_bytes_not_characters() -> None:
    text = "#" + "ä" * (MAX_BYTES // 2)
    assert [one.code for one in load_documents(text, file=FILE).problems] == ["KEDGE-SPEC-001"]


def test_bytes_that_are_not_utf8_are_refused_at_their_place() -> None:
    result = load_documents(b"apiVersion: kedge/v1alpha1\nkind: \xff\n", file=FILE)
    assert told(result) == [("2:7", "KEDGE-SPEC-002", "byte 0xFF is not UTF-8 text", "Save the file as UTF-8.")]


def test_a_control_character_is_refused_at_its_place() -> None:
    result = load({4: "  name: or\x00ders"})
    fix = "Save the file as plain UTF-8 text and remove it."
    assert told(result) == [("4:11", "KEDGE-SPEC-002", "character U+0000 is not allowed in a spec", fix)]


@pytest.mark.parametrize("value", ['"72\\nnode.id=3"', '"72\\u202e"', '"\\uD800"', "|\n        72\n        node.id=3"])
def test_a_line_break_or_an_invisible_character_in_a_value_is_refused(value: str) -> None:
    """A property that spans two lines would be two properties in `server.properties`."""
    result = load({9: f"      log.retention.hours: {value}"})
    fix = "Write it on one line, without escapes."
    message = "the text holds a line break or another invisible character"
    assert told(result)[0] == ("9:28", "KEDGE-SPEC-002", message, fix)
    assert result.documents == ()


def test_broken_yaml_is_refused_at_its_place() -> None:
    result = load({4: "  name: orders: more"})
    assert told(result) == [
        (
            "4:15",
            "KEDGE-SPEC-003",
            "this is not YAML: mapping values are not allowed here",
            "Check the indentation, the colons and the quotes here and on the line above; use blanks, not tabs.",
        )
    ]


def test_a_quote_that_is_never_closed_is_told_with_the_line_it_began() -> None:
    (problem,) = load({4: '  name: "orders'}).problems
    assert (problem.line, problem.code) == (25, "KEDGE-SPEC-003")
    assert problem.message == (
        "this is not YAML: while scanning a quoted scalar from line 4 on; found unexpected end of stream"
    )


def test_an_escape_that_names_no_character_is_refused() -> None:
    result = load({4: '  name: "\\UFFFFFFFF"'})
    message = "this is not YAML: an escape or a number here names no character"
    assert [(one.line, one.code, one.message) for one in result.problems] == [(4, "KEDGE-SPEC-003", message)]


def test_nesting_beyond_the_cap_is_refused() -> None:
    result = load({4: "  name: " + "[" * 40 + "]" * 40})
    fix = "See the reference for the shape of a spec."
    assert told(result) == [("4:23", "KEDGE-SPEC-004", "more than 16 levels are nested here", fix)]


def test_an_anchor_and_its_alias_are_refused_both() -> None:
    result = load({16: "      place: &p {cloud: local, region: local-1, zones: [a, b, c]}", 22: "      place: *p"})
    assert [one[:3] for one in told(result)[:2]] == [
        ("16:14", "KEDGE-SPEC-005", "`&p` is an anchor"),
        ("22:14", "KEDGE-SPEC-005", "`*p` is an alias"),
    ]
    assert [one[3] for one in told(result)[:2]] == [
        "Remove it and write values out where they are used.",
        "Write the value out.",
    ]
    assert result.documents == ()


def test_the_same_anchor_twice_does_not_end_the_reading() -> None:
    result = load({12: "      services: &s [controller]", 18: "      services: &s [broker]", 24: "    surge: 0"})
    found = [(one.line, one.code) for one in result.problems]
    assert found == [(12, "KEDGE-SPEC-005"), (18, "KEDGE-SPEC-005"), (24, "KEDGE-SPEC-055")]


def test_an_alias_bomb_is_refused_without_expanding() -> None:
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    result = load_documents("\n".join(['a0: &a0 ["lol"]', *levels]), file=FILE)
    assert {one.code for one in result.problems} == {"KEDGE-SPEC-005", "KEDGE-SPEC-013", "KEDGE-SPEC-015"}
    assert len(result.problems) == MAX_PROBLEMS


def test_a_merge_key_is_refused() -> None:
    result = load({24: "    <<: {pause: true}\n    strategy: migrate"})
    fix = "Write the keys out; repetition is fine in a spec."
    assert told(result) == [("24:5", "KEDGE-SPEC-006", "`<<` is a merge key", fix)]
    assert result.documents == ()


@pytest.mark.parametrize(
    ("tagged", "shown"),
    [
        ("!!python/object/apply:os.system [ls]", "tag:yaml.org,2002:python/object/apply:os.system"),
        ("!!str orders", "tag:yaml.org,2002:str"),
        ("!mine orders", "!mine"),
        ("! orders", "!"),
    ],
)
def test_a_tag_is_refused(tagged: str, shown: str) -> None:
    result = load({4: f"  name: {tagged}"})
    fix = "Remove the tag; quote the value if it is text."
    assert told(result)[0] == ("4:9", "KEDGE-SPEC-007", f"`{shown}` is a tag", fix)
    assert result.documents == ()


def test_a_key_given_twice_is_refused_and_names_the_first() -> None:
    result = load({19: "      size: 3\n      size: 30"})
    message = "`size` is given twice; the first is on line 19"
    assert told(result) == [("20:7", "KEDGE-SPEC-008", message, "Keep one of the two.")]
    assert result.documents == ()


def test_a_key_that_is_a_list_is_refused() -> None:
    result = load({24: "    ? [a, b]\n    : 1"})
    message = "a list or a mapping stands where a key must be"
    assert told(result) == [("24:7", "KEDGE-SPEC-009", message, "Write a plain name before the colon.")]


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing yet\n", "---\n---\n", "~\n"])
def test_an_empty_file_declares_and_deletes_nothing(text: str) -> None:
    result = load_documents(text, file=FILE)
    fix = "Add a document with kind: KafkaCluster. To delete a cluster, use `kedge delete`."
    assert told(result) == [("1:1", "KEDGE-SPEC-010", "the file declares nothing", fix)]


@pytest.mark.parametrize("text", ["- a\n- b\n", "orders\n"])
def test_a_document_that_is_no_mapping_is_refused(text: str) -> None:
    message = "the document is a list or a single value"
    fix = "Start it with apiVersion and kind: KafkaCluster."
    assert told(load_documents(text, file=FILE)) == [("1:1", "KEDGE-SPEC-011", message, fix)]


def test_two_documents_of_one_name_are_refused() -> None:
    result = load_documents(f"{ORDERS}---\n{ORDERS}", file=FILE)
    message = "the cluster `orders` is declared twice in this file"
    fix = "Keep one of the documents, or give the other cluster its own name."
    assert told(result) == [("29:9", "KEDGE-SPEC-014", message, fix)]


def test_many_problems_are_cut_with_a_count() -> None:
    extra = "\n".join(f"    key{number}: 1" for number in range(150))
    result = load({24: extra})
    assert len(result.problems) == MAX_PROBLEMS
    last = result.problems[-1]
    assert (last.code, last.message, last.fix) == (
        "KEDGE-SPEC-015",
        "51 more problems are not shown",
        "Fix these first.",
    )
    assert not result.ok


def test_cutting_the_list_never_hides_the_only_error() -> None:
    uneven = edited({13: "      size: 5", 19: "      size: 4"})
    many = [uneven.replace("name: orders", f"name: orders-{number}") for number in range(51)]
    bad = edited({4: "  name: last", 24: "    surge: 0"})
    warned = load_documents("---\n".join(many), file=FILE)
    refused = load_documents("---\n".join([*many, bad]), file=FILE)
    assert warned.ok
    assert len(warned.problems) == MAX_PROBLEMS
    assert [one.code for one in refused.errors] == ["KEDGE-SPEC-055", "KEDGE-SPEC-015"]


def test_several_documents_are_read_each_with_its_own_positions() -> None:
    other = edited({4: "  name: payments"})
    result = load_documents(f"{ORDERS}---\n{other}", file=FILE)
    assert [one.metadata.name for one in result.documents] == ["orders", "payments"]
    assert [where.at(("metadata", "name")).line for where in result.positions] == [4, 29]


def test_a_bad_document_refuses_the_file_but_not_the_reading_of_the_others() -> None:
    result = load_documents(f"{edited({19: '      size: x'})}---\n{edited({4: '  name: payments'})}", file=FILE)
    assert not result.ok
    assert [one.metadata.name for one in result.documents] == ["payments"]


def test_all_problems_are_told_at_once_and_in_the_order_of_the_file() -> None:
    result = load(
        {
            4: "  name: Orders",
            9: "      node.id: 1\n      node.id: 2",
            13: "      size: 2",
            19: "      sise: 3",
            24: "    surge: many",
        }
    )
    assert [(one.line, one.code) for one in result.problems] == [
        (4, "KEDGE-SPEC-025"),
        (9, "KEDGE-SPEC-042"),
        (10, "KEDGE-SPEC-008"),
        (14, "KEDGE-SPEC-031"),
        (18, "KEDGE-SPEC-021"),
        (20, "KEDGE-SPEC-020"),
        (25, "KEDGE-SPEC-022"),
    ]


def test_a_problem_reads_as_file_line_column_code_cause_and_fix() -> None:
    (problem,) = load({13: "      size: 4"}).problems
    assert str(problem) == (
        "orders.yaml:13:13: error KEDGE-SPEC-031: pool `controllers` has 4 controllers; a quorum has 1, 3 or 5 "
        "(4 survive the loss of 1, no more than 3 do)\n"
        "  fix: Use 3, or 5 for large clusters."
    )
    assert problem.path == "spec.pools[0].size"


def test_long_foreign_text_is_cut_in_messages() -> None:
    (problem,) = load({4: "  name: " + "X" * 5000}).problems
    assert len(problem.message) < 250


@pytest.mark.parametrize("word", ["no", "on", "y", "4.10", "0123", "1e3", "0x10", "2026-11-21", "12:30:45", "1_000"])
def test_the_text_of_a_value_is_kept_as_it_stands(word: str) -> None:
    """YAML 1.1 makes false, true, 4.1, 83, 1000.0, 16, a date, 45045 and 1000 of these."""
    found = document({4: f"  name: orders\n  owner: {word}\n  labels: {{country: {word}}}"})
    assert found.metadata.owner == word
    assert found.metadata.labels == {"country": word}


def test_properties_are_taken_as_the_characters_of_the_file() -> None:
    edit = "      log.retention.hours: 072\n      auto.create.topics.enable: False\n      compression.type: 'zstd'"
    assert document({9: edit}).spec.kafka.config == {
        "log.retention.hours": "072",
        "auto.create.topics.enable": "False",
        "compression.type": "zstd",
    }


def test_zones_and_accounts_of_digits_are_names() -> None:
    place = (
        document({22: "      place: {cloud: local, region: local-1, account: 0123, zones: [1, 2, 3]}"})
        .spec.pools[1]
        .place
    )
    assert (place.account, place.zones) == ("0123", ("1", "2", "3"))


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("5", 5), ("60s", 60), ("5m", 300), ("1h30m", 5400), ("'90s'", 90), ("0", 0), ("168h", 604800)],
)
def test_durations_are_seconds_or_hours_minutes_and_seconds(written: str, seconds: int) -> None:
    rollout = document({24: f"    soak: {written}\n    linger: {written}\n    joinDeadline: {written}"}).spec.rollout
    assert (rollout.soak_s, rollout.linger_s, rollout.join_deadline_s) == (seconds, seconds, seconds)


def test_what_is_left_out_has_its_default() -> None:
    spec = document({23: "", 24: ""}).spec
    assert (spec.rollout.strategy, spec.rollout.surge, spec.rollout.max_unavailable) == ("migrate", 1, 0)
    assert (spec.rollout.soak_s, spec.rollout.linger_s, spec.rollout.join_deadline_s) == (600, 60, 600)
    assert not spec.rollout.pause
    assert [(one.name, one.port, one.security) for one in spec.listeners] == [("PLAINTEXT", 9092, "plaintext")]
    assert (spec.bootstrap.dns, spec.bootstrap.list, spec.deletion_policy) == (None, True, "retain")
    assert (spec.kafka.metadata_version, spec.pools[1].heap_mib, spec.pools[1].place.account) == (None, None, "default")
