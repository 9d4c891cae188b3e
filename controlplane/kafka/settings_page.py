"""Writes `docs/settings.md`: every Kafka setting of the supported versions, its defaults, and what a change costs.

`python -m controlplane.kafka.settings_page` writes it; with `--check` it writes nothing and exits 1 if it is not
current.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from events.spec.pool_properties import of_all_because
from events.spec.releases import IN_ZOOKEEPER_MODE, SUPPORTED, as_numbers
from events.spec.setting_table import settings_of
from planner.rollout.setting_class import CLASS_MEANING, ClassedSetting, SettingClass, setting_class

PAGE = Path(__file__).resolve().parents[2] / "docs" / "settings.md"
COMMAND = "python -m controlplane.kafka.settings_page"

_LONG = 40
"""Longest default that is shown whole: a class name would make the table unreadable."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point. Returns 0, or 1 when `--check` finds the page not current."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the page is not current")
    parser.add_argument("--page", type=Path, default=PAGE, help="the file")
    options = parser.parse_args(arguments)
    if options.page.exists() and options.page.read_text(encoding="utf-8") == page():
        return 0
    if options.check:
        sys.stderr.write(f"{options.page} is not current; run `{COMMAND}`\n")
        return 1
    options.page.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"wrote {options.page}\n")
    return 0


def page() -> str:
    """The page in Markdown."""
    versions, of_zookeeper = sorted(SUPPORTED, key=as_numbers), sorted(IN_ZOOKEEPER_MODE, key=as_numbers)
    classed, in_zookeeper_mode = _classed(versions), _classed(of_zookeeper)
    present = {one.setting_class for one in (*classed, *in_zookeeper_mode)}
    lines = [
        "# Kafka settings",
        "",
        f"<!-- Written by `{COMMAND}`; do not edit. -->",
        "",
        f"Every broker and controller setting of Kafka {', '.join(versions[:-1])} and {versions[-1]}, and below",
        f"[of {' and '.join(of_zookeeper)}](#in-mode-zookeeper), which run in mode `zookeeper`.",
        "The tables behind this page are printed by Kafka itself and held against live brokers. The class says the",
        "gentlest way a change can take; `kedge plan` shows for each changed setting what will happen.",
        "`pools[].config` takes them for the nodes of one pool, but for those noted as one for all pools, and for",
        "controllers but for those that Kafka takes live.",
        "",
        "| class | meaning |",
        "|---|---|",
        *(f"| {kind} | {meaning} |" for kind, meaning in CLASS_MEANING.items() if kind in present),
        "",
        *_table(classed, versions),
        "",
        "## In mode zookeeper",
        "",
        *_table(in_zookeeper_mode, of_zookeeper),
    ]
    return "\n".join(lines) + "\n"


def _classed(versions: Sequence[str]) -> list[ClassedSetting]:
    names = sorted({name for version in versions for name in settings_of(version)})
    return [setting_class(name, version=_newest_with(name, versions)) for name in names]


def _table(classed: Sequence[ClassedSetting], versions: Sequence[str]) -> Iterator[str]:
    yield f"| setting | {' | '.join(f'default in {version}' for version in versions)} | class | note |"
    yield f"|---|{'---|' * len(versions)}---|---|"
    yield from (_row(one, versions) for one in classed)


def _newest_with(name: str, versions: Sequence[str]) -> str:
    return [version for version in versions if name in settings_of(version)][-1]


def _row(classed: ClassedSetting, versions: Sequence[str]) -> str:
    defaults = [_default(classed.name, version) for version in versions]
    cells = [f"`{classed.name}`", *defaults, str(classed.setting_class), "; ".join(_notes(classed, versions))]
    return f"| {' | '.join(cells)} |"


def _default(name: str, version: str) -> str:
    setting = settings_of(version).get(name)
    if setting is None:
        return "unknown to it"
    if setting.default is None:
        return "none"
    if setting.default == "":
        return "empty"
    shown = setting.default if len(setting.default) <= _LONG else "..." + setting.default[3 - _LONG :]
    return f"`{shown}`"


def _notes(classed: ClassedSetting, versions: Sequence[str]) -> Iterator[str]:
    if settings_of(_newest_with(classed.name, versions))[classed.name].deprecated:
        yield "deprecated"
    if classed.setting_class in (SettingClass.OWNED, SettingClass.REFUSED):
        yield classed.reason.removeprefix("set by Kedge: ")
    elif classed.is_live and classed.live_name != classed.name:
        yield f"live as `{classed.live_name}`"
    elif of_all_because(classed.name) is not None:
        yield "one for all pools"
    if classed.condition:
        yield classed.condition


if __name__ == "__main__":
    sys.exit(main())
