"""Times in requests are written out."""

from datetime import UTC, datetime

import pytest
from pydantic import TypeAdapter, ValidationError

from controlplane.api.moments import Moment

MOMENT: TypeAdapter[datetime] = TypeAdapter(Moment)


def test_a_time_is_taken_as_it_is_written() -> None:
    assert MOMENT.validate_python("2026-01-31T12:00:00Z") == datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize("given", [0, 0.0, 1_767_225_600, "0", "1767225600", "2026-01-31", "tomorrow", True])
def test_a_number_or_half_a_time_is_refused(given: object) -> None:
    with pytest.raises(ValidationError, match="a time is written as"):
        MOMENT.validate_python(given)
