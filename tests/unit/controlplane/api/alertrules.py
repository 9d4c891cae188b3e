"""A small Prometheus for tests: scrapes series every 30 s, evaluates a rule as often, and knows `for`. It understands
what the shipped rules use and raises on anything else, so that no rule is taken for quiet because it was not read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import promql_parser as parsed

STEP_S = 30
LOOKBACK_S = 300
"""How old the last sample of a series may be: Prometheus's default."""

Labels = frozenset[tuple[str, str]]
Vector = dict[Labels, float]

_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
}
_COUNT: Mapping[str, Callable[[float, float], float]] = {
    "-": lambda a, b: a - b,
    "+": lambda a, b: a + b,
    "/": lambda a, b: a / b if b else float("nan"),
}


@dataclass(frozen=True)
class Series:
    """A metric with its labels; `at` is its value at a second, None where it is not told."""

    name: str
    labels: Mapping[str, str]
    at: Callable[[float], float | None]


def fired(rule: Mapping[str, Any], told: Sequence[Series], *, until_s: float) -> list[tuple[float, dict[str, str]]]:
    """When the rule fires, and for which labels, the first time each."""
    expression, holds_s = parsed.parse(rule["expr"]), _seconds(rule.get("for", "0s"))
    since: dict[Labels, float] = {}
    found: dict[Labels, float] = {}
    for step in range(int(until_s / STEP_S) + 1):
        now = float(step * STEP_S)
        pending = {_without_name(labels) for labels in _vector(expression, told, now)}
        since = {labels: since.get(labels, now) for labels in pending}
        for labels, start in since.items():
            if now - start >= holds_s:
                found.setdefault(labels, now)
    return [(at, dict(labels)) for labels, at in found.items()]


def _vector(node: Any, told: Sequence[Series], now: float) -> Vector:
    value = _value(node, told, now)
    if isinstance(value, float):
        raise ValueError(f"{node} is a number, and no alert")
    return value


def _value(node: Any, told: Sequence[Series], now: float) -> Vector | float:
    match type(node).__name__:
        case "NumberLiteral":
            return float(node.val)
        case "ParenExpr":
            return _value(node.expr, told, now)
        case "VectorSelector":
            return {labels: samples[-1][1] for labels, samples in _samples(node, told, now, LOOKBACK_S)}
        case "Call":
            return _called(node, told, now)
        case "AggregateExpr":
            return _aggregated(node, _vector(node.expr, told, now))
        case "BinaryExpr":
            return _combined(node, _value(node.lhs, told, now), _value(node.rhs, told, now))
    raise ValueError(f"no way to evaluate {type(node).__name__}: {node}")


def _samples(
    node: Any, told: Sequence[Series], now: float, back_s: float
) -> Iterator[tuple[Labels, list[tuple[float, float]]]]:
    """Of each series that matches what was scraped of it in the last so many seconds."""
    for series in told:
        if series.name == node.name and all(_matches(m, series.labels) for m in node.matchers.matchers):
            first = max(0, int((now - back_s) // STEP_S) + 1)
            scrapes = [(t * STEP_S, series.at(t * STEP_S)) for t in range(first, int(now // STEP_S) + 1)]
            samples = [(float(t), v) for t, v in scrapes if v is not None]
            # What is missing in a scrape is stale at once: it is told no more.
            if samples and (scrapes[-1][1] is not None or back_s != LOOKBACK_S):
                yield frozenset({("__name__", series.name), *series.labels.items()}), samples


def _matches(matcher: Any, labels: Mapping[str, str]) -> bool:
    value = labels.get(matcher.name, "")
    match str(matcher.op):
        case "MatchOp.Equal":
            return bool(value == matcher.value)
        case "MatchOp.NotEqual":
            return bool(value != matcher.value)
    raise ValueError(f"no way to match {matcher.op}")


def _called(node: Any, told: Sequence[Series], now: float) -> Vector | float:
    match node.func.name:
        case "time":
            return now
        case "absent":
            return {} if _vector(node.args[0], told, now) else {frozenset(): 1.0}
        case "increase":
            window = node.args[0]
            found = _samples(window.vector_selector, told, now, window.range.total_seconds())
            return {_without_name(labels): _increase(samples) for labels, samples in found if len(samples) > 1}
    raise ValueError(f"no way to call {node.func.name}")


def _increase(samples: Sequence[tuple[float, float]]) -> float:
    """A counter that falls has begun anew."""
    values = [value for _, value in samples]
    return sum(b - a if b >= a else b for a, b in pairwise(values))


def _aggregated(node: Any, vector: Vector) -> Vector:
    by = set(node.modifier.labels) if node.modifier is not None else set()
    groups: dict[Labels, list[float]] = {}
    for labels, value in vector.items():
        groups.setdefault(frozenset((k, v) for k, v in labels if k in by), []).append(value)
    together = {"max": max, "sum": sum}[str(node.op)]
    return {labels: float(together(values)) for labels, values in groups.items()}


def _combined(node: Any, left: Vector | float, right: Vector | float) -> Vector:
    op = str(node.op)
    if op in ("or", "unless"):
        assert not isinstance(left, float)
        assert not isinstance(right, float)
        on = node.modifier.matching.labels if node.modifier and node.modifier.matching else None
        of_right = {_key(labels, on) for labels in right}
        if op == "unless":
            return {labels: v for labels, v in left.items() if _key(labels, on) not in of_right}
        of_left = {_key(labels, on) for labels in left}
        return {**left, **{labels: v for labels, v in right.items() if _key(labels, on) not in of_left}}
    pairs = _pairs(left, right)
    if op in _COUNT:
        return {_without_name(labels): _COUNT[op](a, b) for labels, a, b in pairs}
    return {labels: a for labels, a, b in pairs if _COMPARE[op](a, b)}


def _pairs(left: Vector | float, right: Vector | float) -> Iterator[tuple[Labels, float, float]]:
    if isinstance(left, float):
        assert not isinstance(right, float), "two numbers are no vector"
        yield from ((labels, left, b) for labels, b in right.items())
    elif isinstance(right, float):
        yield from ((labels, a, right) for labels, a in left.items())
    else:
        others = {_key(labels, None): b for labels, b in right.items()}
        yield from ((labels, a, others[k]) for labels, a in left.items() if (k := _key(labels, None)) in others)


def _key(labels: Labels, on: Sequence[str] | None) -> Labels:
    return _without_name(labels) if on is None else frozenset((k, v) for k, v in labels if k in on)


def _without_name(labels: Labels) -> Labels:
    return frozenset((k, v) for k, v in labels if k != "__name__")


def _seconds(text: str) -> float:
    return float(text[:-1]) * {"s": 1, "m": 60, "h": 3600}[text[-1]]
