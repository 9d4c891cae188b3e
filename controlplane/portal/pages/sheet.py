"""Rows as a file of comma-separated values (RFC 4180), figures plain."""

import csv
import io
import re
from collections.abc import Iterable, Sequence

from starlette.responses import Response

from controlplane.portal.pages.frame import PAGE_HEADERS


def csv_answer(file: str, columns: Sequence[str], rows: Iterable[object]) -> Response:
    """A download called `file`, with these attributes of the rows as its columns."""
    headers = {**PAGE_HEADERS, "Content-Disposition": f'attachment; filename="{file}"'}
    return Response(csv_of(columns, rows), media_type="text/csv; charset=utf-8", headers=headers)


def csv_of(columns: Sequence[str], rows: Iterable[object]) -> str:
    """A header and a line a row. A cell that a spreadsheet would take for a formula gets an apostrophe."""
    text = io.StringIO()
    written = csv.writer(text)
    written.writerow(columns)
    for row in rows:
        written.writerow([_cell(getattr(row, column)) for column in columns])
    return text.getvalue()


_FORMULA = re.compile(r"[\t\r\n]|[\s\x00]*[=+@\-\uff1d\uff0b\uff0d\uff20]")
"""Programs skip what is blank before a sign, and some know its full-width form."""


def _cell(value: object) -> object:
    is_formula = isinstance(value, str) and _FORMULA.match(value)
    return f"'{value}" if is_formula else "" if value is None else value
