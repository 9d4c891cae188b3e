"""A message to a Slack channel, by an incoming webhook: all notices of a cluster in one message."""

import json
from collections.abc import Sequence

from controlplane.background.notifications.http_post import HttpPost
from controlplane.background.notifications.notice import Notice

MOST_CHARACTERS = 3000
"""Of a text object: docs.slack.dev/reference/block-kit/composition-objects/text-object."""
MOST_SECTIONS = 40
"""A message has at most 50 blocks; the rest are counted in a last one."""

_MARKS = {"critical": ":red_circle:", "warning": ":large_orange_circle:", "info": ":large_blue_circle:"}
_OVER = ":large_green_circle:"


class Slack:
    """See Notifier."""

    def __init__(self, post: HttpPost) -> None:
        self._post = post

    def tell(self, notices: Sequence[Notice]) -> None:
        self._post.send(json.dumps(message(notices)).encode())

    def close(self) -> None:
        self._post.close()


def message(notices: Sequence[Notice]) -> dict[str, object]:
    """The body: `text` is what notifications of phones show, a section each in the channel."""
    shown = notices[:MOST_SECTIONS]
    sections = [_section(f"{_mark(notice)} {escaped(notice.sentence)}") for notice in shown]
    if len(notices) > len(shown):
        sections.append(_section(f"and {len(notices) - len(shown)} more"))
    first = escaped(notices[0].sentence)
    more = f" (and {len(notices) - 1} more)" if len(notices) > 1 else ""
    return {"text": _cut(first + more), "blocks": sections}


def escaped(text: str) -> str:
    """Slack reads `&`, `<` and `>` as control characters: `<!channel>` in a message of Kafka's would call everybody."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _section(text: str) -> dict[str, object]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": _cut(text), "verbatim": True}}


def _mark(notice: Notice) -> str:
    return _OVER if notice.is_over else _MARKS.get(notice.severity, _MARKS["warning"])


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"
