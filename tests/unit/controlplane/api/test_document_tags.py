"""What an agent says it has is repeated in a header: only where it may stand in one."""

import asyncio
from typing import Any, cast

import pytest

from controlplane.api.document_offers import answer_question
from controlplane.api.documents import Offer
from controlplane.storage.agent_credentials import Vm
from events.ids import ClusterUid, NodeName

VM = Vm(ClusterUid("c1"), NodeName("broker-0"), 1)


class Nothing:
    """Offers with nothing to tell, a feed without news, and a turn."""

    def of(self, vm: Vm, etag: str) -> Offer:
        return Offer(body="", etag="", version=1)

    def report_in_s(self, vm: Vm, report_s: float) -> float | None:
        return None

    async def wait(self, *_: object) -> bool:
        return False

    async def take_again(self) -> None:
        """At once."""

    def give_back(self) -> None:
        """Nothing."""


def _told(etag: str) -> str:
    nothing = cast(Any, Nothing())
    answer = asyncio.run(answer_question(nothing, nothing, nothing, VM, etag=etag, wait_s=0.0))
    assert answer.status_code == 304
    return answer.headers["etag"]


@pytest.mark.parametrize("etag", ["a\r\nX-Other: b", "a\x00", "\u2603", 'a"b', "a b", "a" * 201])
def test_what_no_header_could_repeat_names_no_document_of_ours(etag: str) -> None:
    assert _told(etag) == '""'


def test_a_tag_of_ours_is_repeated() -> None:
    assert _told("0123abcdef") == '"0123abcdef"'
    assert _told("") == '""'
