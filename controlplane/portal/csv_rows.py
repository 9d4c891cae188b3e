"""Rows as a file of comma-separated values (RFC 4180), figures plain."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar
from urllib.parse import urlencode

from fastapi import Query, Request
from pydantic import BeforeValidator
from starlette.responses import Response

from controlplane.portal.frame import PAGE_HEADERS

_Row = TypeVar("_Row")

MOST_EXPORTED = 10_000
"""Rows of a sheet whose table grows for ever."""
Before = Annotated[int, BeforeValidator(lambda told: told or 0), Query(ge=0)]
"""A position to go back from; forms that name none send it empty."""
MostExported = Annotated[int, Query(ge=1, le=MOST_EXPORTED)]


@dataclass(frozen=True, slots=True)
class Cut:
    """A sheet that does not have all: why, in ASCII, and where the next one begins, if there is one."""

    why: str
    next: str = ""


def cut_at(request: Request, position: int) -> Cut:
    """A sheet of what is told by position, newest first, that ends with what is at this one, or was looked through."""
    asked = [(name, value) for name, value in request.query_params.multi_items() if name != "before"]
    next_one = f"{request.scope['path']}?{urlencode([*asked, ('before', position)])}"
    return Cut(f"cut at position {position}: older rows may match and are in the next sheet", next_one)


def csv_answer(
    file: str,
    columns: Sequence[str],
    rows: Iterable[_Row],
    cut: Cut | None = None,
    *,
    value: Callable[[_Row, str], object] = getattr,
) -> Response:
    """A download called `file`, with these attributes of the rows (or their `value`) as its columns. One that was cut
    says so in its headers, as RFC 4180 has no place for it: `X-Kedge-Truncated`, and `Link` as lists of the API have
    it."""
    headers = {**PAGE_HEADERS, "Content-Disposition": f'attachment; filename="{file}"'}
    if cut is not None:
        headers["X-Kedge-Truncated"] = cut.why
    if cut is not None and cut.next:
        headers["Link"] = f'<{cut.next}>; rel="next"'
    return Response(csv_of(columns, rows, value), media_type="text/csv; charset=utf-8", headers=headers)


def csv_of(columns: Sequence[str], rows: Iterable[_Row], value: Callable[[_Row, str], object] = getattr) -> str:
    """A header and a line a row. A cell that a spreadsheet would take for a formula gets an apostrophe."""
    text = io.StringIO()
    written = csv.writer(text)
    written.writerow(columns)
    for row in rows:
        written.writerow([_cell(value(row, column)) for column in columns])
    return text.getvalue()


_FORMULA = re.compile(r"[\t\r\n]|[\s\x00]*[=+@\-\uff1d\uff0b\uff0d\uff20]")
"""Programs skip what is blank before a sign, and some know its full-width form."""


def _cell(value: object) -> object:
    is_formula = isinstance(value, str) and _FORMULA.match(value)
    return f"'{value}" if is_formula else "" if value is None else value
