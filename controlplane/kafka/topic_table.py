"""Prints the tables of topic configuration anew: `LogConfig` of each release writes its own reference as HTML, and
this turns it into `events/spec/topic_tables/<line>.csv`.

`python -m controlplane.kafka.topic_table` writes every table (Maven fetches the jars that are missing); with `--check`
it writes nothing and exits 1 if one is not what Kafka prints.
"""

import argparse
import csv
import io
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import events.spec
from controlplane.kafka.settings_table import SettingsPage, as_default, is_deprecated
from events.spec.setting_table import TABLES, Setting, UpdateMode, release_line
from events.spec.topic_table import COLUMNS
from providers.local.image import ensure_image

FOLDER = Path(events.spec.__path__[0]) / "topic_tables"
COMMAND = "python -m controlplane.kafka.topic_table"
PRINTER = "org.apache.kafka.storage.internals.log.LogConfig"


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point. Returns 0, or 1 when `--check` finds a table that is not what Kafka prints."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("versions", nargs="*", default=sorted(TABLES.values()), help="releases; all without it")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a table is not current")
    parser.add_argument("--cache", type=Path, default=Path(".cache"), help="folder with kafka/<version>/libs")
    options = parser.parse_args(arguments)
    stale = 0
    for version in options.versions:
        path = FOLDER / f"{release_line(version)}.csv"
        text = table_text(version, parsed(printed_by(ensure_image(version, options.cache))))
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        if options.check:
            sys.stderr.write(f"{path} is not what Kafka {version} prints; run `{COMMAND}`\n")
        else:
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"wrote {path}\n")
    return 1 if options.check and stale else 0


def printed_by(libs: Path) -> str:
    """What `LogConfig` of the jars in `libs` prints (about 1 s). Raises `CalledProcessError`."""
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{libs}/*", PRINTER]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout


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
