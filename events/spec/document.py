"""A spec file becomes documents, or a list of everything that is wrong with it, all at once, each at its line."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from events.spec import problems as p
from events.spec.conversion import CONVERSIONS, UnknownApiVersion
from events.spec.failover_file import failovers_together
from events.spec.failover_model import FAILOVER_KIND, KafkaFailoverDocument
from events.spec.failover_rules import check_failover
from events.spec.fields import Part, fields_of
from events.spec.model import KIND, ClusterSpec, KafkaClusterDocument, Pool
from events.spec.positions import FileMark, Positions
from events.spec.presets import spelt_out
from events.spec.problems import Problem, Severity, has_errors, shorten
from events.spec.recognition import recognised_bytes
from events.spec.rules import check, check_sections
from events.spec.suggestions import did_you_mean
from events.spec.topic_file import topics_together
from events.spec.topic_model import TOPIC_KIND, KafkaTopicDocument
from events.spec.topic_rules import check_topic
from events.spec.translation import translate
from events.spec.user_file import users_together, without_secrets
from events.spec.user_model import USER_KIND, KafkaUserDocument
from events.spec.user_rules import check_user
from events.spec.yaml_tree import RawDocument, read_yaml

MAX_PROBLEMS = 100

_Document = KafkaClusterDocument | KafkaTopicDocument | KafkaUserDocument | KafkaFailoverDocument
_P = TypeVar("_P", bound=Part)
_KINDS = (KIND, TOPIC_KIND, USER_KIND)
"""What can be declared."""


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What a file holds. `documents` (clusters), `topics`, `users` and `failovers` are those without errors; positions
    run beside them.

    A file with any error is to be refused as a whole (`ok` is False): its author has not finished it.
    """

    documents: tuple[KafkaClusterDocument, ...]
    problems: tuple[Problem, ...]
    positions: tuple[Positions, ...] = ()
    topics: tuple[KafkaTopicDocument, ...] = ()
    topic_positions: tuple[Positions, ...] = ()
    users: tuple[KafkaUserDocument, ...] = ()
    user_positions: tuple[Positions, ...] = ()
    failovers: tuple[KafkaFailoverDocument, ...] = ()
    failover_positions: tuple[Positions, ...] = ()

    @property
    def ok(self) -> bool:
        return not has_errors(self.problems)

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.is_error)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if not problem.is_error)


def load_documents(text: str | bytes, *, file: str, takes_pairs: bool = False) -> LoadResult:
    """Reads, converts and judges every document of a file. Never raises for what a file holds.

    `file` is only shown. Problems come in the order of the file, at most `MAX_PROBLEMS` of them. `takes_pairs`: whether
    whoever asks declares, or checks, a `KafkaFailover`; elsewhere one is refused.
    """
    decoded = _decode(text, file)
    if isinstance(decoded, Problem):
        return LoadResult((), (decoded,))
    raw = read_yaml(decoded, file=file)
    problems = list(raw.problems)
    if not raw.documents and not problems:
        problems.append(_empty(file))
    accepted: list[tuple[KafkaClusterDocument, Positions]] = []
    topics: list[tuple[KafkaTopicDocument, Positions]] = []
    users: list[tuple[KafkaUserDocument, Positions]] = []
    failovers: list[tuple[KafkaFailoverDocument, Positions]] = []
    for document in raw.documents:
        parsed, found = _parse(document)
        problems += found
        if parsed is None or document.flawed or has_errors(found):
            continue
        if isinstance(parsed, KafkaTopicDocument):
            topics.append((parsed, document.positions))
        elif isinstance(parsed, KafkaUserDocument):
            users.append((parsed, document.positions))
        elif isinstance(parsed, KafkaFailoverDocument):
            failovers.append((parsed, document.positions))
        else:
            accepted.append((parsed, document.positions))
    problems += _same_names(accepted)
    clusters = [document for document, _ in accepted]
    problems += topics_together(clusters, topics)
    problems += users_together(clusters, users)
    problems += failovers_together(clusters, topics, failovers)
    if not takes_pairs:
        problems += [_undeclared(where) for _, where in failovers]
    return LoadResult(
        tuple(document for document, _ in accepted),
        _in_order(problems, file),
        tuple(positions for _, positions in accepted),
        tuple(topic for topic, _ in topics),
        tuple(positions for _, positions in topics),
        tuple(user for user, _ in users),
        tuple(positions for _, positions in users),
        tuple(failover for failover, _ in failovers),
        tuple(positions for _, positions in failovers),
    )


def _decode(text: str | bytes, file: str) -> str | Problem:
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        other = recognised_bytes(text)
        if other is not None:
            return Problem(file, other.line, other.column, p.NOT_TEXT.code, other.what, other.fix)
        before = text[: error.start]
        line, column = before.count(b"\n") + 1, error.start - (before.rfind(b"\n") + 1) + 1
        message = f"byte 0x{text[error.start]:02X} is not UTF-8 text"
        fix = "Save the file as UTF-8."
        return Problem(file, line, column, p.NOT_TEXT.code, message, fix)


def _parse(raw: RawDocument) -> tuple[_Document | None, list[Problem]]:
    """The document, if it has the shape of one, and what is wrong with it."""
    where = raw.positions
    if not isinstance(raw.value, dict):
        message = "the document is a list or a single value"
        return None, [where.problem(p.NOT_A_MAPPING, (), message, f"Start it with apiVersion and kind: {KIND}.")]
    kind = raw.value.get("kind")
    if kind == TOPIC_KIND:
        return _parse_as(KafkaTopicDocument, check_topic, raw.value, where)
    if kind == FAILOVER_KIND:
        return _parse_as(KafkaFailoverDocument, check_failover, raw.value, where)
    if kind == USER_KIND:
        value, secrets = without_secrets(raw.value, where)
        user, found = _parse_as(KafkaUserDocument, check_user, value, where)
        return user, [*secrets, *found]
    if kind != KIND:
        return None, [_unknown_kind(kind, where)]
    try:
        data = spelt_out(CONVERSIONS.to_storage(raw.value))
        document = KafkaClusterDocument.model_validate(data, by_alias=True, by_name=False)
    except UnknownApiVersion as error:
        return None, [_unknown_version(raw.value.get("apiVersion"), error.known, where)]
    except ValidationError as error:
        return None, translate(error, where) + _judge_sound_parts(data, where)
    return document, check(document, positions=where)


def _parse_as(
    model: type[_P], judge: Callable[..., list[Problem]], value: dict[str, Any], where: Positions
) -> tuple[_P | None, list[Problem]]:
    """A document about something in a cluster."""
    try:
        document = model.model_validate(CONVERSIONS.to_storage(value), by_alias=True, by_name=False)
    except UnknownApiVersion as error:
        return None, [_unknown_version(value.get("apiVersion"), error.known, where)]
    except ValidationError as error:
        return None, translate(error, where, model)
    return document, judge(document, positions=where)


def _judge_sound_parts(data: dict[str, Any], where: Positions) -> list[Problem]:
    """Rules on what has the right shape by itself, so that all problems of a file are found at once."""
    spec = data.get("spec")
    if not isinstance(spec, dict):
        return []
    sections: dict[str, Any] = {}
    for name, key, info in fields_of(ClusterSpec):
        value = _sound(info.annotation, spec[key]) if key in spec else _default(info)
        if value is not None and value != ():
            sections[name] = value
    listed = spec.get("pools")
    pools = {index: _sound(Pool, item) for index, item in enumerate(listed)} if isinstance(listed, list) else {}
    sound_pools = {index: pool for index, pool in pools.items() if pool is not None}
    return check_sections(sections, pools=sound_pools, positions=where)


def _sound(annotation: Any, value: Any) -> Any:
    """The value in its type, or None; what is wrong with it was told by the validation of the whole document."""
    try:
        return TypeAdapter[Any](annotation).validate_python(value, by_alias=True, by_name=False)
    except ValidationError:
        return None


def _default(info: FieldInfo) -> Any:
    return None if info.is_required() else info.get_default(call_default_factory=True)


def _unknown_kind(kind: object, where: Positions) -> Problem:
    word = kind if isinstance(kind, str) else ""
    said = f"`kind` is `{shorten(word)}`" if word else "the document has no `kind`"
    fix = f"{did_you_mean(word, _KINDS)}Write {' or '.join(f'`kind: {one}`' for one in _KINDS)}."
    return where.problem(p.DOCUMENT_KIND, ("kind",), f"{said}; known: {', '.join(_KINDS)}", fix)


def _undeclared(where: Positions) -> Problem:
    message = f"a `{FAILOVER_KIND}` is declared by `kedge apply` alone"
    return where.problem(p.FAILOVER_UNDECLARED, ("kind",), message, "Put it into a file of its own, and apply that.")


def _unknown_version(version: object, known: tuple[str, ...], where: Positions) -> Problem:
    word = version if isinstance(version, str) else ""
    said = f"`apiVersion` is `{shorten(word)}`" if word else "the document has no `apiVersion`"
    fix = f"Write `apiVersion: {known[0]}`, or update Kedge if the file is newer than it."
    return where.problem(p.API_VERSION, ("apiVersion",), f"{said}; known: {', '.join(known)}", fix)


def _same_names(accepted: list[tuple[KafkaClusterDocument, Positions]]) -> list[Problem]:
    counts: Counter[str] = Counter()
    found = []
    for document, where in accepted:
        name = document.metadata.name
        counts[name] += 1
        if counts[name] > 1:
            message = f"the cluster `{name}` is declared twice in this file"
            fix = "Keep one of the documents, or give the other cluster its own name."
            found.append(where.problem(p.SAME_NAME, ("metadata", "name"), message, fix))
    return found


def _empty(file: str) -> Problem:
    fix = f"Add a document with kind: {KIND}. To delete a cluster, use `kedge delete`."
    mark = FileMark(1, 1)
    return Problem(file, mark.line, mark.column, p.EMPTY.code, "the file declares nothing", fix)


def _in_order(problems: list[Problem], file: str) -> tuple[Problem, ...]:
    ordered = sorted(problems, key=lambda problem: (problem.line, problem.column))
    if len(ordered) <= MAX_PROBLEMS:
        return tuple(ordered)
    shown = _keeping_an_error(ordered)
    message = f"{len(ordered) - len(shown)} more problems are not shown"
    severity: Severity = "error" if has_errors(problems) else "warning"
    place = shown[-1].line, shown[-1].column
    return (*shown, Problem(file, *place, p.TOO_MANY.code, message, "Fix these first.", "", severity))


def _keeping_an_error(ordered: list[Problem]) -> list[Problem]:
    """The first problems, errors before warnings, so that cutting the list never makes a bad file look good."""
    kept = sorted(ordered, key=lambda problem: not problem.is_error)[: MAX_PROBLEMS - 1]
    return sorted(kept, key=lambda problem: (problem.line, problem.column))
