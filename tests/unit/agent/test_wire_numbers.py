"""What an agent and the server tell each other: a boolean is taken for no number."""

import pytest
from pydantic import ValidationError

from agent.wire import EnrolRequest, HeartbeatReport, Report, ServiceReport
from agent.wire_base import Wire


@pytest.mark.parametrize(
    ("message", "name"),
    [
        (Report, "epoch"),
        (Report, "seq"),
        (EnrolRequest, "generation"),
        (HeartbeatReport, "beats"),
        (ServiceReport, "exit_code"),
    ],
)
@pytest.mark.parametrize("wrong", [True, False])
def test_a_boolean_is_refused_where_a_whole_number_belongs(message: type[Wire], name: str, wrong: bool) -> None:
    with pytest.raises(ValidationError, match=f"{name} is {str(wrong).lower()}: give a whole number"):
        message.model_validate({name: wrong})


def test_a_boolean_where_one_belongs_and_a_number_as_text_are_taken_as_before() -> None:
    class Told(Wire):
        fine: bool
        count: int

    assert Told.model_validate_json('{"fine": true, "count": "3", "more": 1}') == Told(fine=True, count=3)
