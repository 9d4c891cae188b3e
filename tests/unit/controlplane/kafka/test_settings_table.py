"""Kafka's own page of its settings becomes a table, and the page in docs is that of the tables."""

from pathlib import Path

import pytest

from controlplane.kafka.settings_page import PAGE, main, page
from controlplane.kafka.settings_table import FOLDER, parsed, table_text
from events.spec.setting_table import TABLES, UpdateMode, read_table


def entry(name: str, *, doc: str = "", kind: str = "int", default: str = "", valid: str = "", mode: str) -> str:
    """One setting as `ConfigDef.toHtml` prints it."""
    rows = {"Type": kind, "Default": default, "Valid Values": valid, "Importance": "low", "Update Mode": mode}
    cells = "".join(f"<tr><th>{title}:</th><td>{value}</td></tr>\n" for title, value in rows.items())
    link = f'<a id="{name}"></a><a id="b_{name}" href="#b_{name}">{name}</a>'
    return f"<li>\n<h4>{link}</h4>\n<p>{doc}</p>\n<table><tbody>\n{cells}</tbody></table>\n</li>\n"


def html(*entries: str) -> str:
    return '<ul class="config-list">\n' + "".join(entries) + "</ul>\n"


def test_a_setting_is_read_from_its_cells() -> None:
    text = entry("b.ms", default="604800000 (7 days)", valid="[1,...,9] or -1", mode="cluster-wide")
    (found,) = parsed(html(text))
    assert (found.name, found.type, found.default, found.valid) == ("b.ms", "int", "604800000", "[1,...,9] or -1")
    assert found.update_mode is UpdateMode.CLUSTER_WIDE
    assert not found.deprecated


def test_settings_are_sorted_by_name() -> None:
    found = parsed(html(entry("b", mode="read-only"), entry("a", mode="per-broker")))
    assert [setting.name for setting in found] == ["a", "b"]


@pytest.mark.parametrize(
    ("kind", "shown", "default"),
    [("string", "null", None), ("int", "", None), ("list", "", ""), ("string", '""', ""), ("class", "a.B", "a.B")],
)
def test_none_and_empty_are_two_defaults(kind: str, shown: str, default: str | None) -> None:
    (found,) = parsed(html(entry("a", kind=kind, default=shown, mode="read-only")))
    assert found.default == default


@pytest.mark.parametrize(
    ("doc", "deprecated"),
    [
        ("DEPRECATED: use another.", True),
        ("[DEPRECATED] The maximum difference.", True),
        ("Deprecated. Whether to include it.", True),
        ("This configuration has been deprecated and will be removed.", True),
        ("Size of the pool. This config is deprecated since 4.2.", True),
        ("The <code>clientId</code> option can still be used, but it is deprecated.", False),
    ],
)
def test_deprecated_is_what_kafka_says_of_the_setting_itself(doc: str, deprecated: bool) -> None:
    (found,) = parsed(html(entry("a", doc=doc, mode="read-only")))
    assert found.deprecated is deprecated


def test_a_page_of_another_form_is_refused() -> None:
    text = html(entry("a", mode="read-only").replace("Update Mode", "Mode"))
    with pytest.raises(ValueError, match="a: Kafka's page has no Update Mode"):
        parsed(text)


def test_a_table_is_read_as_it_was_written() -> None:
    found = parsed(html(entry("a", kind="list", default="x,y", valid="[x, y]", mode="read-only")))
    text = table_text("9.9.9", found)
    assert text.startswith("# Kafka 9.9.9, as kafka.server.KafkaConfig prints it.")
    assert read_table(text) == found


@pytest.mark.parametrize(("line", "version"), TABLES.items())
def test_a_committed_table_is_of_the_release_it_stands_for(line: str, version: str) -> None:
    text = (FOLDER / f"{line}.csv").read_text()
    assert text.startswith(f"# Kafka {version}, ")
    assert table_text(version, read_table(text)) == text


def test_the_page_in_docs_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().err
    assert PAGE.read_text() == page()


def test_a_stale_page_is_named_and_written_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "settings.md"
    assert main(["--check", "--page", str(path)]) == 1
    assert "run `python -m controlplane.kafka.settings_page`" in capsys.readouterr().err
    assert main(["--page", str(path)]) == 0
    assert path.read_text() == page()


@pytest.mark.parametrize(
    "row",
    [
        "| `log.retention.hours` | `168` | `168` | `168` | dynamic | live as `log.retention.ms`; "
        "not below log.local.retention.ms |",
        "| `min.insync.replicas` | `1` | `1` | `1` | guarded | one for all pools; only while no roll runs |",
        "| `config.providers` | unknown to it | empty | empty | refused | "
        "it loads code or opens a door that Kedge does not guard yet |",
        "| `node.id` | none | none | none | owned | each node has its own id for ever |",
        "| `log.cleaner.enable` | `true` | `true` | `true` | restart | deprecated |",
    ],
)
def test_the_page_says_of_a_setting(row: str) -> None:
    assert row in page().splitlines()
