"""What pydantic found, told to a person: one problem for each error, at the very key or value of the file."""

from collections.abc import Callable, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from events.quantities import counted
from events.spec import fields, model, problems, problems as p, scalars, suggestions
from events.spec.positions import Positions

_NEEDED = {
    "string_type": "text",
    "kedge_whole": "a whole number",
    "kedge_flag": "`true` or `false`",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}


def translate(
    error: ValidationError, positions: Positions, root: type[fields.Part] = model.KafkaClusterDocument
) -> list[problems.Problem]:
    """Problems for all errors of one document, in the order pydantic found them. `root` is its model."""
    details = error.errors(include_url=False)
    return [_translated(detail, positions, root) for detail in details if not _is_echo(detail)]


def _is_echo(detail: ErrorDetails) -> bool:
    """Pydantic counts refused items as missing ones and then calls the list too short as well."""
    return detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]


def _translated(detail: ErrorDetails, positions: Positions, root: type[fields.Part]) -> problems.Problem:
    path, in_key = _path(detail["loc"])
    kind = detail["type"]
    if kind in _NEEDED:
        return _wrong_type(detail, path, positions)
    if kind == "extra_forbidden":
        return _unknown_key(path, positions, root)
    if kind == "missing":
        return _missing_key(path, positions, root)
    special = _SPECIAL.get(kind)
    if special is not None:
        return special(detail, path, positions, in_key)
    message = f"`{problems.show_path(path)}` is refused: {problems.shorten(detail['msg'], 160)}"
    return positions.problem(p.WRONG_FORM, path, message, "See the reference of this field.", key=in_key)


def _path(loc: Sequence[int | str]) -> tuple[problems.Path, bool]:
    """Path in the file, and whether the error is about the key itself (pydantic ends such a path with `[key]`)."""
    if loc and loc[-1] == "[key]":
        return tuple(loc[:-1]), True
    return tuple(loc), False


def _wrong_type(detail: ErrorDetails, path: problems.Path, positions: Positions) -> problems.Problem:
    needed = _NEEDED[detail["type"]]
    got = detail["input"]
    message = f"`{problems.show_path(path)}` must be {needed}, but is {_in_words(got)}"
    quoted_number = isinstance(got, str) and not isinstance(got, scalars.PlainText) and got.isdigit()
    if quoted_number and needed == "a whole number":
        fix = f"Remove the quotes: {problems.shorten(got)}."
    elif needed == "a list":
        fix = "Write `[a, b]`, or one `- item` a line."
    elif needed == "a mapping":
        fix = "Write `key: value` lines below it, indented."
    else:
        fix = f"Give {needed}."
    return positions.problem(p.WRONG_TYPE, path, message, fix)


def _unknown_key(path: problems.Path, positions: Positions, root: type[fields.Part]) -> problems.Problem:
    part = fields.part_at(root, path[:-1])
    known = [key for _, key, _ in fields.fields_of(part)] if part is not None else []
    place = f"`{problems.show_path(path[:-1])}`" if path[:-1] else "a document"
    word = str(path[-1])
    message = f"{place} has no key `{problems.shorten(word)}`"
    fix = f"{suggestions.did_you_mean(word, known)}Known here: {', '.join(known)}."
    return positions.problem(p.UNKNOWN_KEY, path, message, fix, key=True)


def _missing_key(path: problems.Path, positions: Positions, root: type[fields.Part]) -> problems.Problem:
    place = f"`{problems.show_path(path[:-1])}`" if path[:-1] else "the document"
    part = fields.part_at(root, path[:-1])
    about = [info.description for _, key, info in fields.fields_of(part) if key == path[-1]] if part else []
    message = f"{place} lacks the key `{path[-1]}`"
    return positions.problem(p.MISSING_KEY, path[:-1], message, f"Add it. {about[0] if about else ''}".strip())


def _not_a_choice(detail: ErrorDetails, path: problems.Path, positions: Positions, in_key: bool) -> problems.Problem:
    expected = detail["ctx"]["expected"].replace(" or ", ", ")
    choices = [choice.strip("'") for choice in expected.split(", ")]
    message = f"`{problems.show_path(path)}` is {_in_words(detail['input'])}, which is not one of its choices"
    word = detail["input"] if isinstance(detail["input"], str) else ""
    fix = f"{suggestions.did_you_mean(word, choices)}Choose {' or '.join(f'`{choice}`' for choice in choices)}."
    return positions.problem(p.NOT_A_CHOICE, path, message, fix)


def _out_of_range(detail: ErrorDetails, path: problems.Path, positions: Positions, in_key: bool) -> problems.Problem:
    bound = detail["ctx"].get("ge", detail["ctx"].get("le"))
    words = f"at least {bound}" if "ge" in detail["ctx"] else f"at most {bound}"
    message = f"`{problems.show_path(path)}` is {problems.shorten(str(detail['input']))}, but must be {words}"
    return positions.problem(p.OUT_OF_RANGE, path, message, f"Give a number that is {words}.")


def _wrong_form(detail: ErrorDetails, path: problems.Path, positions: Positions, in_key: bool) -> problems.Problem:
    form = scalars.FORM_IN_WORDS.get(detail["ctx"]["pattern"], "in another form")
    what = "the key" if in_key else f"`{problems.show_path(path)}`"
    value = path[-1] if in_key else detail["input"]
    message = f"{what} is {_in_words(value)}, but must be {form}"
    return positions.problem(p.WRONG_FORM, path, message, f"Write {form}.", key=in_key)


def _wrong_length(detail: ErrorDetails, path: problems.Path, positions: Positions, in_key: bool) -> problems.Problem:
    context = detail["ctx"]
    few = "min_length" in context
    words = f"at least {context['min_length']}" if few else f"at most {context['max_length']}"
    message = f"`{problems.show_path(path)}` has {counted(len(detail['input']), 'item')}, but must have {words}"
    fix = "Add what is missing." if few else "Remove some."
    return positions.problem(p.WRONG_LENGTH, path, message, fix)


def _duration(detail: ErrorDetails, path: problems.Path, positions: Positions, in_key: bool) -> problems.Problem:
    message = f"`{problems.show_path(path)}` is {_in_words(detail['input'])}, but must be a duration of at most 7 days"
    fix = "Write seconds as a number, or hours, minutes and seconds as in `90s`, `5m`, `1h30m`."
    return positions.problem(p.DURATION, path, message, fix)


def _in_words(value: Any) -> str:
    if value is None:
        return "empty"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, str) and not isinstance(value, scalars.PlainText):
        return f'the text "{problems.shorten(value)}"'
    return f"`{problems.shorten(str(value))}`"


_Special = Callable[[ErrorDetails, problems.Path, Positions, bool], problems.Problem]
_SPECIAL: dict[str, _Special] = {
    "literal_error": _not_a_choice,
    "greater_than_equal": _out_of_range,
    "less_than_equal": _out_of_range,
    "string_pattern_mismatch": _wrong_form,
    "too_short": _wrong_length,
    "too_long": _wrong_length,
    "kedge_seconds": _duration,
}
