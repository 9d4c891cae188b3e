"""Names of topics so that a part of one is found in a million at once. Pure.

A cluster's names are one text, a line each, in order. Looking for a part of a name is looking for it in a text, which
takes some milliseconds for a million names, however common the part is; an index of trigrams has to fetch and sort
every hit of a common word before it knows the first fifty.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import merge
from itertools import accumulate

from controlplane.background.topic_names.pattern import PatternRefused, pattern_in

WILDCARD = "*"


@dataclass(frozen=True, slots=True)
class ClusterTopics:
    """The topics of one cluster, by name in small letters."""

    names: tuple[str, ...]
    _keys: list[str] = field(repr=False)
    _text: str = field(repr=False)
    _starts: list[int] = field(repr=False)

    @classmethod
    def of(cls, names: Iterable[str]) -> "ClusterTopics":
        """An index of these names, each of them once."""
        ordered = sorted(set(names), key=lambda name: (name.lower(), name))
        keys = [name.lower() for name in ordered]
        return cls(tuple(ordered), keys, "\n".join(keys), list(accumulate((len(k) + 1 for k in keys), initial=0)))

    def beginning_with(self, text: str) -> Iterator[tuple[str, str]]:
        """(key, name) of those that begin with it, in order."""
        for place in range(bisect_left(self._keys, text), len(self._keys)):
            if not self._keys[place].startswith(text):
                return
            yield self._keys[place], self.names[place]

    def holding(self, text: str) -> Iterator[tuple[str, str]]:
        """(key, name) of those that have it further on, in order."""
        at = self._text.find(text)
        while at >= 0:
            place = bisect_right(self._starts, at) - 1
            if not self._keys[place].startswith(text):
                yield self._keys[place], self.names[place]
            at = self._text.find(text, self._starts[place + 1])


@dataclass(frozen=True, slots=True)
class TopicHit:
    """A topic, and the cluster it is in."""

    topic: str
    cluster: str


@dataclass(frozen=True, slots=True)
class TopicsFound:
    """The first `hits`, and how many there are of them all: at least `count` where counting was `cut`.

    `refused` says why a regular expression was not looked for; `late` that time was up before all names were seen.
    """

    hits: tuple[TopicHit, ...]
    count: int
    cut: bool = False
    refused: str = ""
    late: bool = False


def topics_found(
    held: Iterable[tuple[str, ClusterTopics]],
    text: str,
    *,
    most: int,
    counted: int = 1000,
    is_late: Callable[[], bool] = lambda: False,
) -> TopicsFound:
    """Topics with the text in their name, those that begin with it first, then by name and cluster. Case is not looked
    at; `*` stands for anything between two parts, and what stands between two `/` is a regular expression, which is
    given up once `is_late`. `held`: clusters' names with their topics; others are neither found nor counted. No more
    than `counted` are counted. Nothing is found for an empty text.
    """
    try:
        pattern = pattern_in(text)
    except PatternRefused as refused:
        return TopicsFound((), 0, refused=str(refused))
    parts = [part for part in text.strip().lower().split(WILDCARD) if part]
    if pattern is not None:
        hits_of = _in_order(list(held), pattern.literal, _fitting(pattern.fits.search, is_late))
    elif not parts or any("\n" in part for part in parts):
        return TopicsFound((), 0)
    else:
        hits_of = _in_order(list(held), max(parts, key=len), lambda key: len(parts) == 1 or _has_all(key, parts))
    hits: list[TopicHit] = []
    count = 0
    try:
        for _, cluster, name in hits_of:
            if count == counted:
                return TopicsFound(tuple(hits), count, cut=True)
            count += 1
            if len(hits) < most:
                hits.append(TopicHit(name, cluster))
    except _Late:
        return TopicsFound(tuple(hits), count, cut=True, late=True)
    return TopicsFound(tuple(hits), count)


class _Late(Exception):
    """Time is up."""


def _fitting(fits: Callable[[str], object], is_late: Callable[[], bool]) -> Callable[[str], bool]:
    """Whether a name fits; it raises _Late once time is up."""

    def one(key: str) -> bool:
        if is_late():
            raise _Late
        return fits(key) is not None

    return one


def _in_order(
    clusters: list[tuple[str, ClusterTopics]], wanted: str, is_hit: Callable[[str], bool]
) -> Iterator[tuple[str, str, str]]:
    """(key, cluster, name) of every hit; an index is only looked at as far as hits are taken from it."""
    for find in (ClusterTopics.beginning_with, ClusterTopics.holding):
        found = [_of_one(find(topics, wanted), cluster) for cluster, topics in clusters]
        for hit in merge(*found):
            if is_hit(hit[0]):
                yield hit


def _of_one(hits: Iterator[tuple[str, str]], cluster: str) -> Iterator[tuple[str, str, str]]:
    return ((key, cluster, name) for key, name in hits)


def _has_all(key: str, parts: list[str]) -> bool:
    """Whether the parts come one behind the other."""
    at = 0
    for part in parts:
        found = key.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True
