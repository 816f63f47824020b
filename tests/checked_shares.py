"""How much of a run under config.check_captures was compared with eager Python, and whether that is enough."""

from minidynamo import _C

MOST_UNCOMPARED = 0.10  # of the hits
MOST_UNCHECKED = 0.02  # of the tests
# In a run of only some files the shares mean nothing.
LEAST_HITS, LEAST_TESTS = 5000, 2000


class CheckedShares:
    """The counts of this process and, in the controller of pytest-xdist, of its workers."""

    def __init__(self):
        self.of_workers = []
        self.tests = self.unchecked = 0

    def collected(self, items):
        """Each process of pytest-xdist collects all tests."""
        self.tests = len(items)
        self.unchecked = sum(is_unchecked(item) for item in items)

    def report(self):
        """The report of a worker to the controller."""
        return {"hits": _C.check_captures_counts(), "tests": self.tests, "unchecked": self.unchecked}

    def add_worker(self, report):
        self.of_workers.append(report["hits"])
        self.tests, self.unchecked = report["tests"], report["unchecked"]

    def hits(self):
        """By outcome and, for those not compared, by reason."""
        parts = [_C.check_captures_counts(), *self.of_workers]
        return {name: sum(part[name] for part in parts) for name in parts[0]}

    def lines(self):
        hits = self.hits()
        total = total_of(hits)
        shown = [
            f"{name}: {count} of {total} hits ({100 * count / total:.2f} %)" for name, count in hits.items() if count
        ]
        share = 100 * self.unchecked / max(self.tests, 1)
        return [*shown, f"left out: {self.unchecked} of {self.tests} tests ({share:.2f} %)"]

    def complaints(self):
        return complaints(self.hits(), self.tests, self.unchecked)


def is_unchecked(item):
    return any(mark.kwargs.get("reason", "").startswith("unchecked: ") for mark in item.iter_markers("skip"))


def total_of(hits):
    return hits["compared"] + hits["uncompared"] + hits["mismatches"]


def complaints(hits, tests, unchecked):
    """The problems of a run, as texts."""
    found = []
    total = total_of(hits)
    if total >= LEAST_HITS and hits["uncompared"] > MOST_UNCOMPARED * total:
        found.append(f"{hits['uncompared']} of {total} hits were not compared: more than {MOST_UNCOMPARED:.0%}")
    if tests >= LEAST_TESTS and unchecked > MOST_UNCHECKED * tests:
        found.append(f"{unchecked} of {tests} tests were left out: more than {MOST_UNCHECKED:.0%}")
    return found
