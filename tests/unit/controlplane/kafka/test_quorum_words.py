"""How long a member of the quorum has been silent, in words."""

import pytest

from controlplane.kafka.quorum import silence


@pytest.mark.parametrize(
    ("silent_s", "words"), [(0.0, "silent for 0.0 s"), (125.04, "silent for 125.0 s"), (1795459060.2, "never heard of")]
)
def test_a_member_a_new_leader_never_heard_of_is_not_silent_since_1970(silent_s: float, words: str) -> None:
    assert silence(silent_s) == words
