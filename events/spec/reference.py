"""Writes `docs/spec.md` and `docs/spec.schema.json` from the model, so that neither can lag behind it.

`python -m events.spec.reference` writes both; with `--check` it writes nothing and exits 1 if one is not current.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from events.spec.failover_model import KafkaFailoverDocument
from events.spec.fields import CLASS_MEANING, Part, field_class, fields_of, is_listed, part_type
from events.spec.model import API_VERSION, KafkaClusterDocument
from events.spec.problems import KINDS
from events.spec.properties import OWNED, OWNED_PREFIXES
from events.spec.releases import IN_ZOOKEEPER_MODE, SUPPORTED, lines
from events.spec.scalars import seconds
from events.spec.topic_model import KafkaTopicDocument
from events.spec.user_model import KafkaUserDocument

DOCS = Path(__file__).resolve().parents[2] / "docs"
COMMAND = "python -m events.spec.reference"
_DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def main(arguments: list[str] | None = None) -> int:
    """Entry point. Returns 0, or 1 when `--check` finds a page that is not current."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a page is not current")
    parser.add_argument("--docs", type=Path, default=DOCS, help="folder of the pages")
    options = parser.parse_args(arguments)
    stale = [name for name, text in pages().items() if not _is_current(options.docs / name, text)]
    for name in stale:
        if options.check:
            sys.stderr.write(f"{options.docs / name} is not current; run `{COMMAND}`\n")
        else:
            (options.docs / name).write_text(pages()[name], encoding="utf-8")
            sys.stdout.write(f"wrote {options.docs / name}\n")
    return 1 if options.check and stale else 0


def pages() -> dict[str, str]:
    """File name -> text of every generated page."""
    return {
        "spec.md": page(),
        "spec.schema.json": json.dumps(schema(), indent=2) + "\n",
        "user.schema.json": json.dumps(schema(KafkaUserDocument), indent=2) + "\n",
        "failover.schema.json": json.dumps(schema(KafkaFailoverDocument), indent=2) + "\n",
        "topic.schema.json": json.dumps(schema(KafkaTopicDocument), indent=2) + "\n",
    }


def schema(model: type[Part] = KafkaClusterDocument) -> dict[str, Any]:
    """JSON Schema (draft 7, which editors understand) of one document."""
    generated = model.model_json_schema(by_alias=True, mode="validation")
    moved = _moved(generated)
    return {"$schema": _DRAFT_7, **moved, "required": ["apiVersion", "kind", "metadata", "spec"]}


def page() -> str:
    """The reference page in Markdown."""
    lines = [
        "# The spec of a cluster",
        "",
        f"<!-- Written by `{COMMAND}`; do not edit. -->",
        "",
        f"One YAML document of `kind: KafkaCluster` (`apiVersion: {API_VERSION}`) says what a cluster should be.",
        "Unknown and repeated keys are errors, and every value is read as its field says, never by its look:",
        "`4.10` stays `4.10` and `no` stays `no`. For completion in an editor, start the file with",
        "`# yaml-language-server: $schema=../docs/spec.schema.json`.",
        "",
        "## What a change costs",
        "",
        "| class | a change of such a field |",
        "|---|---|",
        *(f"| {kind} | {meaning} |" for kind, meaning in CLASS_MEANING.items()),
        "",
        "## Fields",
        "",
        "| field | type | default | class | meaning |",
        "|---|---|---|---|---|",
        *_field_rows(KafkaClusterDocument, ""),
        "",
        "## Fields of a topic",
        "",
        "One document of `kind: KafkaTopic`; [topics.md](topics.md) says what happens to it.",
        "",
        "| field | type | default | class | meaning |",
        "|---|---|---|---|---|",
        *_field_rows(KafkaTopicDocument, ""),
        "",
        "## Fields of a user",
        "",
        "One document of `kind: KafkaUser`; [kafka-users.md](kafka-users.md#users) says what happens to it.",
        "",
        "| field | type | default | class | meaning |",
        "|---|---|---|---|---|",
        *_field_rows(KafkaUserDocument, ""),
        "",
        "## Fields of a failover",
        "",
        "One document of `kind: KafkaFailover`: two clusters of which one is to take over from the other.",
        "It is declared with `kedge apply`, and nothing acts on it yet: see [failover.md](failover.md).",
        "",
        "| field | type | default | class | meaning |",
        "|---|---|---|---|---|",
        *_field_rows(KafkaFailoverDocument, ""),
        "",
        *_kafka_section(),
        "## Problems",
        "",
        "Each problem of a file is reported with its line and column, all of them at once. Codes never change.",
        "",
        "| code | severity | problem | why it is one |",
        "|---|---|---|---|",
        *(f"| {kind.code} | {kind.severity} | {kind.title} | {kind.why} |" for kind in KINDS.values()),
    ]
    return "\n".join(lines) + "\n"


def _is_current(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


def _field_rows(part: type[Part], path: str) -> Iterator[str]:
    for _, key, info in fields_of(part):
        inner = part_type(info.annotation)
        here = f"{path}.{key}" if path else key
        listed = inner is not None and is_listed(info.annotation)
        shown = f"{here}[]" if listed else here
        if inner is None:
            cells = (f"`{shown}`", _type(info), _default(info), field_class(info).value, info.description or "")
            yield "| " + " | ".join(cells) + " |"
        else:
            if listed:
                kind = f"list of {inner.__name__}"
                yield f"| `{here}` | {kind} | {_default(info)} | {field_class(info).value} | {info.description} |"
            yield from _field_rows(inner, shown)


def _kafka_section() -> list[str]:
    kraft, older = ([f"{line}.x" for line in lines(mode)] for mode in ("kraft", "zookeeper"))
    return [
        "## Kafka properties",
        "",
        f"Supported are all patch releases of these lines: {', '.join(kraft)}. Rolled with real brokers was of each",
        f"{', '.join(SUPPORTED)}; another is warned of (`KEDGE-SPEC-054`). A build of your own is a revision of the",
        "[image catalogue](images-and-security.md), by URL and SHA-256.",
        "",
        "`spec.kafka.config` takes every property those versions know,",
        "except those that load code or hold secrets, and except those Kedge sets itself. Values are held against the",
        "type and the range Kafka names. The class of a property is the gentlest way Kafka has for a change: *dynamic*",
        "ones are taken live (hours and minutes as their synonym in milliseconds, pools of threads at most doubled or",
        "halved at a time), `min.insync.replicas` live but never while a roll runs, every other one by a restart.",
        "[settings.md](settings.md) lists each with its defaults, and `kedge plan` says what will happen.",
        "",
        f"In mode `zookeeper` the versions are {' and '.join(older)} (rolled: {' and '.join(IN_ZOOKEEPER_MODE)}); a",
        "cluster that has migrated from there to `kraft` keeps its version until its next roll",
        "([zookeeper.md](zookeeper.md)).",
        "",
        "| property | why Kedge owns it |",
        "|---|---|",
        *(f"| `{name}` | {why} |" for name, why in OWNED.items()),
        *(f"| `{prefix}*` | {why} |" for prefix, why in OWNED_PREFIXES.items()),
        "",
    ]


def _type(info: FieldInfo) -> str:
    found = _type_words(info.annotation, info.metadata)
    bounds = [getattr(rule, name) for rule in info.metadata for name in ("ge", "le") if hasattr(rule, name)]
    return f"{found}, {bounds[0]} to {bounds[1]}" if len(bounds) == 2 else found


def _type_words(annotation: Any, rules: list[Any]) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type_words(arguments[0], list(arguments[1:]))
    if origin is Literal:
        return " or ".join(f"`{choice}`" for choice in arguments)
    if is_listed(annotation):
        return f"list of {_type_words(arguments[0], [])}"
    if origin is dict:
        return "mapping of text"
    if type(None) in arguments:
        return _type_words(arguments[0], rules)
    if any(getattr(rule, "func", None) is seconds for rule in rules):
        return "duration"
    return {str: "text", int: "number", bool: "true or false"}[annotation]


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    value = info.get_default(call_default_factory=True)
    if value is None or value == "" or value == {} or value == ():
        return "none"
    if isinstance(value, tuple):
        return "; ".join(f"`{item.model_dump_json()}`" if isinstance(item, Part) else f"`{item}`" for item in value)
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _moved(node: Any) -> Any:
    """Draft 2020-12 keeps shared parts in `$defs`, draft 7 in `definitions`; titles only repeat the keys."""
    if isinstance(node, list):
        return [_moved(item) for item in node]
    if not isinstance(node, dict):
        return node.replace("#/$defs/", "#/definitions/") if isinstance(node, str) else node
    return {
        "definitions" if key == "$defs" else key: _moved(value)
        for key, value in node.items()
        if not (key == "title" and isinstance(value, str))
    }


if __name__ == "__main__":
    sys.exit(main())
