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
from collections.abc import Callable, Iterator, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path

import events.spec
from controlplane.kafka.throttle import FOLLOWER_RATE, LEADER_RATE
from events.spec.setting_table import COLUMNS, TABLES, Setting, UpdateMode, release_line
from providers.local.image import ensure_image

FOLDER = Path(events.spec.__path__[0]) / "setting_tables"
COMMAND = "python -m controlplane.kafka.settings_table"
PRINTER = "kafka.server.KafkaConfig"

_UPDATE_MODE = "Update Mode"

_DEPRECATED = re.compile(r"^\W*deprecated\b|\b(?:configuration has been|config is) deprecated\b", re.IGNORECASE)
"""How Kafka's texts say that the setting itself is deprecated. "The clientId JAAS option can still be used, but it is
deprecated" speaks of something else."""

_QUOTAS = frozenset({LEADER_RATE, FOLLOWER_RATE, "replica.alter.log.dirs.io.max.bytes.per.second"})

_IN_WORDS = re.compile(r"(-?[0-9]+) \([^()]+\)")
"""`604800000 (7 days)`: the words after a number of milliseconds or bytes are for people."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point. Returns 0, or 1 when `--check` finds a table that is not what Kafka prints."""
    return write_tables(
        arguments,
        command=COMMAND,
        about=__doc__ or "",
        folder=FOLDER,
        table=lambda version, libs: table_text(version, without_quotas(parsed(printed_by(libs)))),
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


def printed_by(libs: Path, printer: str = PRINTER) -> str:
    """What that class of the jars in `libs` prints (about 1 s). Raises `CalledProcessError`."""
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{libs}/*", printer]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout


def parsed(html: str, *, update_mode: UpdateMode | None = None) -> tuple[Setting, ...]:
    """The settings of Kafka's HTML (`ConfigDef.toHtml`), sorted by name. `update_mode` is that of all of them where
    the page tells none.

    Raises `ValueError` when a setting lacks one of the lines: then Kafka's page has another form than it had.
    """
    page = _SettingsPage()
    page.feed(html)
    page.close()
    modes = {} if update_mode is None else {_UPDATE_MODE: update_mode.value}
    return tuple(
        sorted((_setting(name, doc, modes | rows) for name, doc, rows in page.entries()), key=lambda s: s.name)
    )


def without_quotas(settings: Sequence[Setting]) -> tuple[Setting, ...]:
    """Without the three quotas of a broker's replication: 4.3 prints them with its settings, the releases before do
    not, and a broker tells of one only where it is set (seen on 4.3.0). They are the executor's throttles."""
    return tuple(one for one in settings if one.name not in _QUOTAS)


def table_text(
    version: str,
    settings: Sequence[Setting],
    *,
    printer: str = PRINTER,
    command: str = COMMAND,
    columns: Sequence[str] = COLUMNS,
) -> str:
    """The table as it is committed: where it comes from, then one line a setting."""
    out = io.StringIO()
    out.write(f"# Kafka {version}, as {printer} prints it. Written by `{command}`; do not edit.\n")
    writer = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(_row(one) for one in settings)
    return out.getvalue()


def _row(one: Setting) -> dict[str, str]:
    cells = {"default": "null" if one.default is None else one.default, "deprecated": "yes" if one.deprecated else ""}
    kept = {"name": one.name, "type": one.type, "valid": one.valid, "importance": one.importance}
    return {**kept, **cells, "update_mode": one.update_mode.value}


def _setting(name: str, doc: str, rows: Mapping[str, str]) -> Setting:
    missing = {"Type", "Default", "Valid Values", "Importance", _UPDATE_MODE} - rows.keys()
    if missing:
        raise ValueError(f"{name}: Kafka's page has no {', '.join(sorted(missing))}")
    return Setting(
        name=name,
        type=rows["Type"],
        default=_as_default(rows["Default"], rows["Type"]),
        valid=rows["Valid Values"],
        importance=rows["Importance"],
        update_mode=UpdateMode(rows[_UPDATE_MODE]),
        deprecated=_DEPRECATED.search(doc) is not None,
    )


def _as_default(shown: str, kind: str) -> str | None:
    """`ConfigDef.getConfigValue`: `null`, `""` for an empty text, and nothing for an empty list or for none at all."""
    if shown == "null" or (shown == "" and kind != "list"):
        return None
    in_words = _IN_WORDS.fullmatch(shown)
    return in_words[1] if in_words else shown.strip('"')


class _SettingsPage(HTMLParser):
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
