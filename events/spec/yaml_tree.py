"""YAML text to plain values with positions, by a reader that offers no way to surprise anybody.

Why not `yaml.safe_load`: it keeps the last of two equal keys, guesses types by look, expands aliases and merge keys
(a 1 KiB file can become gigabytes) and forgets where things stood. Here every scalar stays text (`PlainText` when it
was not quoted), and whatever is refused is reported with its place while reading goes on.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import yaml
from yaml.events import AliasEvent, NodeEvent
from yaml.nodes import MappingNode, Node, ScalarNode

from events.spec import problems as p, recognition
from events.spec.positions import FileMark, Positions
from events.spec.problems import Path, Problem, ProblemKind, has_errors, shorten
from events.spec.scalars import PlainText

MAX_BYTES = 256 * 1024
MAX_DEPTH = 16

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


@dataclass(frozen=True, slots=True)
class RawDocument:
    """One document before any meaning: dicts, lists, text and None, with a position for each path.

    `flawed` says that something in it was refused, so its value is not what the file says.
    """

    value: Any
    positions: Positions
    flawed: bool


@dataclass(slots=True)
class RawFile:
    """All documents of a file up to the first syntax error, and what was refused on the way."""

    documents: list[RawDocument] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def read_yaml(text: str, *, file: str) -> RawFile:
    """Reads every document of a text. Never raises: what cannot be read becomes a problem."""
    raw = RawFile()
    size = len(text.encode("utf-8", errors="surrogatepass"))
    if size > MAX_BYTES:
        message = f"the file has {size} bytes; at most {MAX_BYTES} ({MAX_BYTES // 1024} KiB) are read"
        raw.problems.append(_problem(p.TOO_LARGE, file, FileMark(1, 1), message, "Split it: one file per cluster."))
        return raw
    other = recognition.recognised_text(text)
    if other is not None:
        raw.problems.append(_recognised(p.NOT_A_SPEC, other, file))
        return raw
    composer: _Composer | None = None
    try:
        composer = _Composer(text, file, raw.problems)
        while composer.check_node():
            before = len(raw.problems)
            node = composer.get_node()
            if node is not None and not _is_null(node):
                value, positions = _Reader(file, raw.problems).document(node)
                raw.documents.append(RawDocument(value, positions, has_errors(raw.problems[before:])))
    except _TooDeep:
        pass  # reported where it was met; what follows in the file has no known structure
    except yaml.reader.ReaderError as error:
        raw.problems.append(_unprintable(text, error.position, file))
    except yaml.MarkedYAMLError as error:
        raw.problems.append(_syntax(error, text, file))
    except (ValueError, OverflowError):
        # PyYAML passes on what chr() and int() say of escapes such as "\UFFFFFFFF"
        mark = _mark(composer.get_mark()) if composer is not None else FileMark(1, 1)
        message = "this is not YAML: an escape or a number here names no character"
        raw.problems.append(_problem(p.NOT_YAML, file, mark, message, "Write the character itself."))
    return raw


class _TooDeep(Exception):
    """Ends the reading of a file."""


class _Composer(yaml.SafeLoader):
    """Builds nodes, refusing aliases, anchors and tags as they come, before anything can expand."""

    def __init__(self, text: str, file: str, problems: list[Problem]) -> None:
        self._file = file
        self._problems = problems
        self._depth = 0
        super().__init__(text)

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, AliasEvent):
            self.get_event()  # type: ignore[no-untyped-call]
            self._refuse(p.ANCHOR, event, f"`*{shorten(str(event.anchor))}` is an alias", "Write the value out.")
            return ScalarNode(tag="", value="", start_mark=event.start_mark)  # type: ignore[arg-type]
        self._strip(event)
        if self._depth >= MAX_DEPTH:
            fix = "See the reference for the shape of a spec."
            self._refuse(p.TOO_DEEP, event, f"more than {MAX_DEPTH} levels are nested here", fix)
            raise _TooDeep
        self._depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1

    def resolve(self, kind: type[Node], value: str | None, implicit: Any) -> str:
        """No guessing of types: fields know theirs."""
        return ""

    def _strip(self, event: NodeEvent) -> None:
        """Reports an anchor or a tag and takes it off, so that the rest of the file is still judged."""
        if event.anchor is not None:
            message = f"`&{shorten(event.anchor)}` is an anchor"
            self._refuse(p.ANCHOR, event, message, "Remove it and write values out where they are used.")
            event.anchor = None
        tag = getattr(event, "tag", None)
        if tag is not None:
            message = f"`{shorten(tag)}` is a tag"
            self._refuse(p.TAG, event, message, "Remove the tag; quote the value if it is text.")
            event.tag = None  # type: ignore[attr-defined]

    def _refuse(self, kind: ProblemKind, event: NodeEvent, message: str, fix: str) -> None:
        self._problems.append(_problem(kind, self._file, _mark(event.start_mark), message, fix))


class _Reader:
    """Turns the nodes of one document into values and remembers where each stood."""

    def __init__(self, file: str, problems: list[Problem]) -> None:
        self._file = file
        self._problems = problems
        self._keys: dict[Path, FileMark] = {}
        self._values: dict[Path, FileMark] = {}

    def document(self, node: Node) -> tuple[Any, Positions]:
        value = self._value(node, ())
        return value, Positions(self._file, self._keys, self._values)

    def _value(self, node: Node, path: Path) -> Any:
        self._values[path] = _mark(node.start_mark)
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, ScalarNode):
            return None if _is_null(node) else self._text(node)
        return [self._value(item, (*path, index)) for index, item in enumerate(node.value)]

    def _mapping(self, node: MappingNode, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node)
            if key is None:
                continue
            here = (*path, key)
            if key in found:
                first = self._keys[here]
                message = f"`{shorten(key)}` is given twice; the first is on line {first.line}"
                self._refuse(p.DUPLICATE_KEY, key_node, message, "Keep one of the two.")
                continue
            self._keys[here] = _mark(key_node.start_mark)
            found[key] = self._value(value_node, here)
        return found

    def _key(self, node: Node) -> str | None:
        if not isinstance(node, ScalarNode):
            message = "a list or a mapping stands where a key must be"
            self._refuse(p.KEY_NOT_TEXT, node, message, "Write a plain name before the colon.")
            return None
        if node.value == "<<" and node.style is None:
            fix = "Write the keys out; repetition is fine in a spec."
            self._refuse(p.MERGE_KEY, node, "`<<` is a merge key", fix)
            return None
        return str(self._text(node))

    def _text(self, node: ScalarNode) -> str:
        """The characters of a scalar. A line break in a value could smuggle in a second Kafka property."""
        text: str = recognition.folded_certificates(node.value)
        if not text.isprintable():
            message, fix = recognition.why_not_printable(text)
            self._refuse(p.NOT_TEXT, node, message, fix)
            text = "".join(c if c.isprintable() else " " for c in text)
        quotes = recognition.typographic_quotes(text) if node.style is None else None
        if quotes is not None:
            message = f"typographic quotes ({quotes}) stand around this text, and are a part of it"
            self._refuse(p.TYPED_QUOTES, node, message, """Write " in their place, or none.""")
        return PlainText(text) if node.style is None else text

    def _refuse(self, kind: ProblemKind, node: Node, message: str, fix: str) -> None:
        self._problems.append(_problem(kind, self._file, _mark(node.start_mark), message, fix))


def _is_null(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.style is None and node.value in _NULLS


def _mark(mark: Any) -> FileMark:
    return FileMark(mark.line + 1, mark.column + 1)


def _problem(kind: ProblemKind, file: str, mark: FileMark, message: str, fix: str) -> Problem:
    return Problem(file, mark.line, mark.column, kind.code, message, fix, "", kind.severity)


def _unprintable(text: str, position: int, file: str) -> Problem:
    before = text[:position]
    mark = FileMark(before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1)
    message = f"character U+{ord(text[position]):04X} is not allowed in a spec"
    return _problem(p.NOT_TEXT, file, mark, message, "Save the file as plain UTF-8 text and remove it.")


def _recognised(kind: ProblemKind, found: recognition.Recognised, file: str) -> Problem:
    return _problem(kind, file, FileMark(found.line, found.column), found.what, found.fix)


def _syntax(error: yaml.MarkedYAMLError, text: str, file: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    cause = recognition.why_not_yaml(text, mark.line + 1) if mark is not None else None
    if cause is not None:
        return _recognised(p.NOT_YAML, replace(cause, what=f"this is not YAML: {cause.what}"), file)
    said = "; ".join(part for part in (_context(error), error.problem) if part)
    return _problem(
        p.NOT_YAML,
        file,
        _mark(mark) if mark is not None else FileMark(1, 1),
        f"this is not YAML: {shorten(said, 160)}",
        "Check the indentation, the colons and the quotes here and on the line above; use blanks, not tabs.",
    )


def _context(error: yaml.MarkedYAMLError) -> str | None:
    """What was being read, and where it began if that is another line: a quote is missed at the end of the file."""
    if error.context_mark is None or error.problem_mark is None:
        return error.context
    begun = error.context_mark.line
    return error.context if begun == error.problem_mark.line else f"{error.context} from line {begun + 1} on"
