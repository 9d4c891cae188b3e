"""Pages of lists: by name, or the newest first. `after` is the last of the page before, so nothing that comes or goes
meanwhile is told twice or passed over. Where more follow, the header `Link` (RFC 8288) has the address of the next
page.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, TypeVar
from urllib.parse import quote, urlencode

from fastapi import Depends, Query, Request, Response

from controlplane.api.problems import ApiError

PartOf = Annotated[str, Query(max_length=250, description="a part of the name; empty: any")]
After = Annotated[str, Query(max_length=250, description="only names after this one: the last of the page before")]
AfterId = Annotated[str, Query(max_length=250, description="only what follows this id: the last of the page before")]
AfterNumber = Annotated[
    int, Query(ge=-1, le=2**31, description="only numbers above this one: the last of the page before")
]
BelowNumber = Annotated[
    int, Query(ge=0, le=2**31, description="only numbers below this one: the last of the page before; 0: the newest")
]
MOST_ON_A_PAGE = 1000
Most = Annotated[int, Query(ge=1, le=MOST_ON_A_PAGE, description="how many at most; `Link` has the page that follows")]

_T = TypeVar("_T")


class PageCut:
    """Cuts a page off a list, and says in the answer where the next one begins."""

    def __init__(self, request: Request, response: Response) -> None:
        self._request = request
        self._response = response

    def page(self, items: Sequence[_T], its_id: Callable[[_T], object], most: int) -> list[_T]:
        """The first of them, `most` at most; `items` has one more, or all, where more follow."""
        shown = list(items[:most])
        if len(items) > len(shown):
            self.follows("after", str(its_id(shown[-1])))
        return shown

    def follows(self, parameter: str, last: str) -> None:
        """Another page follows: the one that is asked for with `last` as `parameter`."""
        asked = [(name, value) for name, value in self._request.query_params.multi_items() if name != parameter]
        address = f"{quote(self._request.scope['path'])}?{urlencode([*asked, (parameter, last)])}"
        self._response.headers["Link"] = f'<{address}>; rel="next"'


async def turn(request: Request, response: Response) -> PageCut:
    """For the routes of lists."""
    return PageCut(request, response)


Turning = Annotated[PageCut, Depends(turn)]


def by_name(items: Iterable[_T], name: Callable[[_T], str], *, after: str) -> list[_T]:
    """What follows in a list that is told by name; `after` need not be there any more."""
    return sorted((item for item in items if name(item) > after), key=name)


def following(items: Sequence[_T], its_id: Callable[[_T], str], after: str) -> Sequence[_T]:
    """What follows the item with that id, all where `after` is empty. Raises ApiError 422 where there is none such."""
    if not after:
        return items
    for place, item in enumerate(items):
        if its_id(item) == after:
            return items[place + 1 :]
    raise ApiError(422, "after-unknown", f"nothing here has the id {after!r}", next_step="Begin with the first page.")
