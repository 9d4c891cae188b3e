"""How fast the portal is on a large fleet: a real server on loopback with the real loop on a real store.

    python -m benchmarks portal [--row NAME] [--scale N] [--out FILE]

`--scale` multiplies how long each row is looked at. What a row is held to is `floor` beside its figures. Rows:

* `pages`: first HTML of the fleet, a cluster, its brokers, topics and one topic. 100 clusters of 1,000 topics of 10
  partitions, 20 users who think for 1 s, the loop ticking each second and one cluster in the middle of a roll.
* `crowd`: the same beside 500 agents that wait for their documents and 100 open pages, told of an event each second.
* `search`: a part of a topic's name over 1,000,000 topics of 100 clusters, rare and common ones, while 1 % changes.
* `visible`: from an event to the sight of it on an open page, in Chromium.
* `weight`: scripts and styles of a page as they are compressed.
* `git`: from a commit to its plan on the page, polled every 5 s; and 1,000 new specs in one commit, on SQLite.
"""

from collections.abc import Sequence
from typing import Any

from benchmarks.portal.browser import visible, weight
from benchmarks.portal.commits import git
from benchmarks.portal.pages import crowd, pages, search
from benchmarks.selection import Row, measured

ROWS: dict[str, Row] = {
    "weight": weight,
    "pages": pages,
    "crowd": crowd,
    "search": search,
    "visible": visible,
    "git": git,
}


def main(arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Runs the rows asked for."""
    return measured("portal", ROWS, arguments)
