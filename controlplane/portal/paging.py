"""Pages of lists: by name, or the newest first. `after` is the last of the page before, so nothing that comes or goes
meanwhile is told twice or passed over.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, TypeVar

from fastapi import Query

from controlplane.portal.problems import ApiError

PartOf = Annotated[str, Query(max_length=250, description="a part of the name; empty: any")]
After = Annotated[str, Query(max_length=250, description="only names after this one: the last of the page before")]
AfterId = Annotated[str, Query(max_length=250, description="only what follows this id: the last of the page before")]
Most = Annotated[int | None, Query(ge=1, le=1000, description="how many at most; without it all")]

_T = TypeVar("_T")


def by_name(items: Iterable[_T], name: Callable[[_T], str], *, after: str, most: int | None) -> Sequence[_T]:
    """A page of a list that is told by name; `after` need not be there any more."""
    return sorted((item for item in items if name(item) > after), key=name)[:most]


def following(items: Sequence[_T], its_id: Callable[[_T], str], after: str) -> Sequence[_T]:
    """What follows the item with that id, all where `after` is empty. Raises ApiError 422 where there is none such."""
    if not after:
        return items
    for place, item in enumerate(items):
        if its_id(item) == after:
            return items[place + 1 :]
    raise ApiError(422, "after-unknown", f"nothing here has the id {after!r}", next_step="Begin with the first page.")
