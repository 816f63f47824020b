"""A line search for the strong Wolfe conditions: Nocedal and Wright, "Numerical optimization" (2006), algorithms 3.5
and 3.6, with the cubic interpolation of equation 3.59 and the safeguards of Schmidt's minFunc (2005)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from .._C import Tensor

_SUFFICIENT_DECREASE = 1e-4
_CURVATURE = 0.9
_LEAST_CHANGE = 1e-9
_MOST_TRIALS = 25


class Point(NamedTuple):
    """Where a step of a length leads: the loss, its slope along the direction, and its gradient (n,)."""

    length: float
    loss: float
    slope: float
    gradient: Tensor


def search(point_at: Callable[[float], Point], start: Point, length: float, largest: float) -> tuple[Point, int]:
    """A point that fulfils the conditions, or the best that was found; and how many points were tried.

    length is the first to try, largest the largest element of the direction.
    """
    bracket, is_found, trials = _bracket(point_at, start, length)
    calls = trials + 1
    if is_found:
        return bracket[0], calls
    best, more = _zoom(point_at, start, bracket, trials, largest)
    return best, calls + more


def _bracket(point_at: Callable[[float], Point], start: Point, length: float) -> tuple[list[Point], bool, int]:
    """Two points between which the conditions hold somewhere, or one at which they do."""
    previous, point = start, point_at(length)
    for trial in range(_MOST_TRIALS):
        if _is_too_high(point, start) or (trial > 1 and point.loss >= previous.loss):
            return [previous, point], False, trial
        if _is_flat(point, start):
            return [point], True, trial
        if point.slope >= 0:
            return [previous, point], False, trial
        shortest = point.length + 0.01 * (point.length - previous.length)
        farther = _lowest(previous, point, shortest, point.length * 10)
        previous, point = point, point_at(farther)
    return [start, point], False, _MOST_TRIALS


def _zoom(
    point_at: Callable[[float], Point], start: Point, bracket: list[Point], trials: int, largest: float
) -> tuple[Point, int]:
    low = 0 if bracket[0].loss <= bracket[1].loss else 1
    is_stuck = False
    first = trials
    while trials < _MOST_TRIALS:
        if abs(bracket[1].length - bracket[0].length) * largest < _LEAST_CHANGE:
            break
        length, is_stuck = _between(bracket, is_stuck)
        point = point_at(length)
        trials += 1
        if _is_too_high(point, start) or point.loss >= bracket[low].loss:
            bracket[1 - low] = point
            low = 0 if bracket[0].loss <= bracket[1].loss else 1
            continue
        is_done = _is_flat(point, start)
        if not is_done and point.slope * (bracket[1 - low].length - bracket[low].length) >= 0:
            bracket[1 - low] = bracket[low]
        bracket[low] = point
        if is_done:
            break
    return bracket[low], trials - first


def _is_too_high(point: Point, start: Point) -> bool:
    return point.loss > start.loss + _SUFFICIENT_DECREASE * point.length * start.slope


def _is_flat(point: Point, start: Point) -> bool:
    return abs(point.slope) <= -_CURVATURE * start.slope


def _between(bracket: list[Point], is_stuck: bool) -> tuple[float, bool]:
    """The lowest point of the cubic; if it is near an end for the second time, a tenth of the bracket away from it."""
    shortest, longest = sorted(point.length for point in bracket)
    length = _lowest(bracket[0], bracket[1], shortest, longest)
    margin = 0.1 * (longest - shortest)
    if min(longest - length, length - shortest) >= margin:
        return length, False
    if not (is_stuck or length >= longest or length <= shortest):
        return length, True
    is_near_longest = abs(length - longest) < abs(length - shortest)
    return (longest - margin if is_near_longest else shortest + margin), False


def _lowest(a: Point, b: Point, shortest: float, longest: float) -> float:
    """Where the cubic through two points, with their slopes, is lowest, within bounds; their middle if it has no
    minimum."""
    if a.length > b.length:
        a, b = b, a
    chord = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.length - b.length)
    square = chord**2 - a.slope * b.slope
    if square < 0 or math.isnan(square):
        return (shortest + longest) / 2.0
    root = math.sqrt(square)
    length = b.length - (b.length - a.length) * ((b.slope + root - chord) / (b.slope - a.slope + 2 * root))
    return min(max(length, shortest), longest)
