"""What the users of one file say together, and beside the clusters of the same file; and what none of them may say."""

from collections.abc import Iterator, Sequence
from typing import Any

from events.spec import problems as p
from events.spec.model import KafkaClusterDocument
from events.spec.positions import Positions
from events.spec.problems import Path, Problem
from events.spec.user_model import KafkaUserDocument
from events.spec.user_rules import check_user_in

Placed = tuple[KafkaUserDocument, Positions]

_SECRETS = frozenset({"password", "passwd", "secret", "salt", "key", "privatekey", "storedkey", "serverkey", "token"})
_PLACES: tuple[Path, ...] = ((), ("spec",), ("spec", "authentication"))


def users_together(clusters: Sequence[KafkaClusterDocument], users: Sequence[Placed]) -> Iterator[Problem]:
    """Users declared twice, and what their cluster, if it is in the file, makes impossible."""
    by_name = {cluster.metadata.name: cluster for cluster in clusters}
    seen: set[tuple[str, str]] = set()
    for document, where in users:
        cluster, name = document.spec.cluster, document.user
        if (cluster, name) in seen:
            message = f"the user `{name}` of {cluster} is declared twice in this file"
            yield where.problem(p.SAME_USER, ("metadata", "name"), message, "Keep one of the documents.")
        seen.add((cluster, name))
        if cluster in by_name:
            yield from check_user_in(document, by_name[cluster], positions=where)


def without_secrets(value: dict[str, Any], where: Positions) -> tuple[dict[str, Any], list[Problem]]:
    """The document without what looks like a secret by its key, and a problem for each: none repeats a value."""
    found: list[Problem] = []
    cleaned = value
    for place in _PLACES:
        part = _at(cleaned, place)
        secrets = [key for key in part or {} if str(key).replace("_", "").replace("-", "").lower() in _SECRETS]
        for key in secrets:
            message = "a document holds no password and no key: it is kept in the history and shown"
            fix = "Take it out, and change it: it was in a file. Kedge makes the password (`kedge users password`)."
            found.append(where.problem(p.PASSWORD_IN_SPEC, (*place, str(key)), message, fix, key=True))
        if part is not None and secrets:
            cleaned = _with(cleaned, place, {key: one for key, one in part.items() if key not in secrets})
    return cleaned, found


def _at(value: Any, place: Path) -> dict[Any, Any] | None:
    for step in place:
        value = value.get(step) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else None


def _with(value: dict[str, Any], place: Path, part: dict[Any, Any]) -> dict[str, Any]:
    if not place:
        return part
    step, *rest = place
    return {**value, str(step): _with(value[str(step)], tuple(rest), part)}
