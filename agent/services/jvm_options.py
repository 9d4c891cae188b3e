"""The options of the spec over those of Kedge: what a JVM is started with beside its heap.

HotSpot takes the last of two options of one name, and refuses to start with two collectors ("Multiple garbage
collectors selected"); flags of a collector that is not chosen are ignored, and told as warnings.
"""

import re
from collections.abc import Iterable

_COLLECTOR = re.compile(r"-XX:\+Use(?P<name>Serial|Parallel|G1|Z|Shenandoah|Epsilon)GC")
_TUNES = re.compile(r"-XX:[+-]?(?:G1\w*|MaxGCPauseMillis|InitiatingHeapOccupancyPercent|ExplicitGCInvokesConcurrent)\b")
"""Of Kedge's own options, those that tune G1."""
_NAME = re.compile(r"-XX:[+-]?(?P<flag>\w+)|-D(?P<property>[^=]+)|-Xshare|-X(?:ss|mn)")


def with_options(own: Iterable[str], options: tuple[str, ...]) -> tuple[str, ...]:
    """`own` without what `options` contradict, then `options`: the same name goes, and with another collector the one
    of Kedge and all that tunes it."""
    named = {name_of(o) for o in options}
    chosen, before = _collector(options), _collector(own := tuple(own))
    other = bool(chosen) and chosen != before
    kept = (o for o in own if name_of(o) not in named and not (other and (_COLLECTOR.fullmatch(o) or _TUNES.match(o))))
    return (*kept, *options)


def name_of(option: str) -> str:
    """What an option is about, whatever it says of it: `MaxGCPauseMillis`, `java.io.tmpdir`, `-Xss`; else itself."""
    found = _NAME.match(option)
    return (found["flag"] or found["property"] or found[0]) if found else option


def _collector(options: Iterable[str]) -> str:
    return next((found["name"] for o in options if (found := _COLLECTOR.fullmatch(o))), "")
