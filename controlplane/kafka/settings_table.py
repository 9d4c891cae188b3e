"""Prints the tables of Kafka's settings anew: `kafka.server.KafkaConfig` of each release writes its own reference as
HTML, and this turns it into `events/spec/setting_tables/<line>.csv`.

`python -m controlplane.kafka.settings_table` writes every table (Maven fetches the jars that are missing); with
`--check` it writes nothing and exits 1 if one is not what Kafka prints.
"""

import argparse
import csv
import io
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path

import events.spec
from events.spec.setting_table import COLUMNS, TABLES, Setting, UpdateMode, release_line
from providers.local.image import ensure_image

FOLDER = Path(events.spec.__path__[0]) / "setting_tables"
COMMAND = "python -m controlplane.kafka.settings_table"

_DEPRECATED = re.compile(r"^\W*deprecated\b|\b(?:configuration has been|config is) deprecated\b", re.IGNORECASE)
"""How Kafka's texts say that the setting itself is deprecated. "The clientId JAAS option can still be used, but it is
deprecated" speaks of something else."""

_IN_WORDS = re.compile(r"(-?[0-9]+) \([^()]+\)")
"""`604800000 (7 days)`: the words after a number of milliseconds or bytes are for people."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point. Returns 0, or 1 when `--check` finds a table that is not what Kafka prints."""
    return write_tables(
        arguments,
        command=COMMAND,
        about=__doc__ or "",
        folder=FOLDER,
        table=lambda version, libs: table_text(version, parsed(printed_by(libs))),
    )


def write_tables(
    arguments: Sequence[str] | None, *, command: str, about: str, folder: Path, table: Callable[[str, Path], str]
) -> int:
    """The command line of a module that prints tables. `table(version, folder of jars)` is the text of one."""
    parser = argparse.ArgumentParser(prog=command, description=about)
    parser.add_argument("versions", nargs="*", default=sorted(TABLES.values()), help="releases; all without it")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a table is not current")
    parser.add_argument("--cache", type=Path, default=Path(".cache"), help="folder with kafka/<version>/libs")
    options = parser.parse_args(arguments)
    stale = 0
    for version in options.versions:
        path = folder / f"{release_line(version)}.csv"
        text = table(version, ensure_image(version, options.cache))
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        if options.check:
            sys.stderr.write(f"{path} is not what Kafka {version} prints; run `{command}`\n")
        else:
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"wrote {path}\n")
    return 1 if options.check and stale else 0


def printed_by(libs: Path, printer: str = "kafka.server.KafkaConfig") -> str:
    """What that class of the jars in `libs` prints (about 1 s). Raises `CalledProcessError`."""
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{libs}/*", printer]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout


def parsed(html: str) -> tuple[Setting, ...]:
    """The settings of Kafka's HTML (`ConfigDef.toHtml` with update modes), sorted by name.

    Raises `ValueError` when a setting lacks one of the lines: then Kafka's page has another form than it had.
    """
    page = SettingsPage()
    page.feed(html)
    page.close()
    return tuple(sorted((_setting(name, doc, rows) for name, doc, rows in page.entries()), key=lambda s: s.name))


def table_text(version: str, settings: Sequence[Setting]) -> str:
    """The table as it is committed: where it comes from, then one line a setting."""
    out = io.StringIO()
    out.write(f"# Kafka {version}, as kafka.server.KafkaConfig prints it. Written by `{COMMAND}`; do not edit.\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in settings:
        default = "null" if one.default is None else one.default
        marked = "yes" if one.deprecated else ""
        writer.writerow([one.name, one.type, default, one.valid, one.importance, one.update_mode.value, marked])
    return out.getvalue()


def _setting(name: str, doc: str, rows: dict[str, str]) -> Setting:
    missing = {"Type", "Default", "Valid Values", "Importance", "Update Mode"} - rows.keys()
    if missing:
        raise ValueError(f"{name}: Kafka's page has no {', '.join(sorted(missing))}")
    return Setting(
        name=name,
        type=rows["Type"],
        default=as_default(rows["Default"], rows["Type"]),
        valid=rows["Valid Values"],
        importance=rows["Importance"],
        update_mode=UpdateMode(rows["Update Mode"]),
        deprecated=is_deprecated(doc),
    )


def is_deprecated(doc: str) -> bool:
    """Whether Kafka's text says that the setting itself is deprecated."""
    return _DEPRECATED.search(doc) is not None


def as_default(shown: str, kind: str) -> str | None:
    """`ConfigDef.getConfigValue`: `null`, `""` for an empty text, and nothing for an empty list or for none at all."""
    if shown == "null" or (shown == "" and kind != "list"):
        return None
    in_words = _IN_WORDS.fullmatch(shown)
    return in_words[1] if in_words else shown.strip('"')


class SettingsPage(HTMLParser):
    """Collects the text of the cells: each setting is `<h4>name</h4><p>doc</p>` and rows of `<th>` and `<td>`."""

    def __init__(self) -> None:
        super().__init__()
        self._cells: list[tuple[str, str]] = []

    def entries(self) -> Iterator[tuple[str, str, dict[str, str]]]:
        """(name, documentation, row title -> value) of each setting."""
        starts = [index for index, (tag, _) in enumerate(self._cells) if tag == "h4"]
        for start, end in zip(starts, [*starts[1:], len(self._cells)], strict=True):
            cells = self._cells[start:end]
            doc = " ".join(text for tag, text in cells if tag == "p")
            titles = [text.rstrip(":") for tag, text in cells if tag == "th"]
            values = [text for tag, text in cells if tag == "td"]
            yield cells[0][1], doc, dict(zip(titles, values, strict=True))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("h4", "p", "th", "td"):
            self._cells.append((tag, ""))

    def handle_data(self, data: str) -> None:
        if self._cells:
            tag, text = self._cells[-1]
            self._cells[-1] = tag, (text + data).strip("\n")


if __name__ == "__main__":
    sys.exit(main())
