"""Prints the tables of topic configuration anew: `LogConfig` of each release writes its own reference as HTML, and
this turns it into `events/spec/topic_tables/<line>.csv`.

`python -m controlplane.kafka.topic_table` writes every table (Maven fetches the jars that are missing); with `--check`
it writes nothing and exits 1 if one is not what Kafka prints.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import events.spec
from controlplane.kafka.settings_table import parsed, printed_by, table_text, write_tables
from events.spec.setting_table import UpdateMode
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
        table=lambda version, libs: _table(version, printed_by(libs, PRINTER)),
    )


def _table(version: str, html: str) -> str:
    """`LogConfig.toHtml` tells the server's property of each key, and no update modes: all apply at once."""
    keys = parsed(html, update_mode=UpdateMode.CLUSTER_WIDE)
    return table_text(version, keys, printer=PRINTER, command=COMMAND, columns=COLUMNS)


if __name__ == "__main__":
    sys.exit(main())
