"""Prints the tables of topic configuration anew: `LogConfig` of each release writes its own reference as HTML, and
this turns it into `events/spec/topic_tables/<line>.csv`.

`python -m controlplane.kafka.topic_table` writes every table (Maven fetches the jars that are missing); with `--check`
it writes nothing and exits 1 if one is not what Kafka prints.
"""

import csv
import io
import sys
from collections.abc import Sequence
from pathlib import Path

import events.spec
from controlplane.kafka.settings_table import SettingsPage, as_default, is_deprecated, printed_by, write_tables
from events.spec.setting_table import Setting, UpdateMode
from events.spec.topic_table import COLUMNS

FOLDER = Path(events.spec.__path__[0]) / "topic_tables"
COMMAND = "python -m controlplane.kafka.topic_table"
PRINTER = "org.apache.kafka.storage.internals.log.LogConfig"


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point. Returns 0, or 1 when `--check` finds a table that is not what Kafka prints."""
    return write_tables(
        arguments,
        command=COMMAND,
        about=__doc__ or "",
        folder=FOLDER,
        table=lambda version, libs: table_text(version, parsed(printed_by(libs, PRINTER))),
    )


def parsed(html: str) -> tuple[Setting, ...]:
    """The keys of Kafka's HTML (`LogConfig.toHtml`: with the server's property, without update modes), by name.

    Raises `ValueError` when a key lacks one of the lines: then Kafka's page has another form than it had.
    """
    page = SettingsPage()
    page.feed(html)
    page.close()
    return tuple(sorted((_key(name, doc, rows) for name, doc, rows in page.entries()), key=lambda s: s.name))


def table_text(version: str, keys: Sequence[Setting]) -> str:
    """The table as it is committed: where it comes from, then one line a key."""
    out = io.StringIO()
    out.write(f"# Kafka {version}, as {PRINTER} prints it. Written by `{COMMAND}`; do not edit.\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for key in keys:
        default = "null" if key.default is None else key.default
        writer.writerow([key.name, key.type, default, key.valid, key.importance, "yes" if key.deprecated else ""])
    return out.getvalue()


def _key(name: str, doc: str, rows: dict[str, str]) -> Setting:
    missing = {"Type", "Default", "Valid Values", "Importance"} - rows.keys()
    if missing:
        raise ValueError(f"{name}: Kafka's page has no {', '.join(sorted(missing))}")
    return Setting(
        name=name,
        type=rows["Type"],
        default=as_default(rows["Default"], rows["Type"]),
        valid=rows["Valid Values"],
        importance=rows["Importance"],
        update_mode=UpdateMode.CLUSTER_WIDE,
        deprecated=is_deprecated(doc),
    )


if __name__ == "__main__":
    sys.exit(main())
