"""What the sections of engine.py have in common: rows, how their contenders are timed, figures with their targets.

A section is a file of this folder with a SECTION. Alone it takes the options of engine.py: python FILE --help.
"""

import math
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
OURS = "minidynamo"
FLOOR_OF_BEFORE = 0.95  # no row may be slower than this part of the speed of the build before


class NoSuchCall(Exception):
    """A contender does not have the row's call."""


@dataclass
class Row:
    """contenders: name -> a function that returns the call to be timed."""

    name: str
    contenders: dict
    clock: object = time.thread_time
    seconds: float = 0.002  # of calls of one contender in a round

    def begin(self, calls):
        """Measurements that are made once: {contender: {what: number}}."""
        return {}

    def sample(self, calls):
        """One round, the contenders in turn: {contender: {what: number}}."""
        return {name: {"seconds": least_time(call, self.clock, self.seconds)} for name, call in calls.items()}


def least_time(call, clock, seconds):
    """The least time of one call, of at least two. Of a call for which the clock stands still nothing is known."""
    begin = clock()
    call()
    now = clock()
    end, best = now + seconds, math.inf
    while best == math.inf or now < end:
        begin = now
        call()
        now = clock()
        best = min(best, now - begin) if now > begin else best
    return best


@dataclass(frozen=True)
class Figure:
    """limit: what the value is to be, at least or at most; None where nothing is asked."""

    what: str
    value: float
    limit: float | None = None
    at_most: bool = False

    @property
    def is_met(self):
        return self.limit is None or (self.value <= self.limit if self.at_most else self.value >= self.limit)

    @property
    def target(self):
        return "" if self.limit is None else f"at {'most' if self.at_most else 'least'} {self.limit:g}"

    def better(self, other):
        """The better one of two measurements of one figure."""
        return other if (other.value < self.value) == self.at_most else self


@dataclass
class Times:
    """Of one row in one build: what begin() gave, and what each round gave."""

    once: dict
    rounds: list

    def of(self, contender, what="seconds"):
        return [each[contender][what] for each in self.rounds if contender in each]

    def least(self, contender, what="seconds"):
        return min(self.of(contender, what), default=math.inf)

    def has(self, *contenders):
        return all(contender in each for each in self.rounds for contender in contenders)


@dataclass
class Section:
    """rows: of a number of threads. figures: of a row's name and Times. totals: [(group, Figure)] of {row: {what:
    Figure}}; a section that has them prints of its rows those that miss a target. ours: the contender that an earlier
    build has, too, and what is compared of it."""

    rows: object
    figures: object
    totals: object = None
    ours: tuple = (OURS, "seconds")
    threads: tuple = (1,)
    rounds: int = 5


def mean_of(ratios, limit=None):
    return Figure("geometric mean", statistics.geometric_mean(ratios), limit)


class Bench:
    """The worker's side: "?" lists the rows, "+row" prepares one, "row" measures a round of it."""

    def __init__(self, section, threads, only):
        self.rows = {row.name: row for row in section.rows(threads)}
        self.only = only  # the one contender that is measured, or ""
        self.row, self.calls = None, {}

    def answer(self, question):
        try:
            if question == "?":
                return list(self.rows)
            return self.prepare(question[1:]) if question.startswith("+") else self.row.sample(self.calls)
        except Exception as error:  # of one row: the others are measured
            return {"failed": f"{type(error).__name__}: {error}".splitlines()[0][:300]}

    def prepare(self, name):
        self.row, self.calls, absent = self.rows[name], {}, {}
        for contender, make in self.row.contenders.items():
            if self.only not in ("", contender):
                continue
            try:
                self.calls[contender] = make()
            except ImportError as error:
                absent[contender] = f"{error.name} is not installed"
            except NoSuchCall:
                absent[contender] = "it has no such call"
        return {"absent": absent, "once": self.row.begin(self.calls)}


def run_alone(file):
    """The section of a file, by engine.py."""
    sys.path.insert(0, str(FOLDER.parent))
    import engine

    engine.main(sections=[Path(file).stem])
