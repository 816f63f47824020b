"""The outcome of each test of a module: "ok", "skip", "fail" or "error" by test id; the first that is not "ok" counts."""

import unittest


def name_of(test):
    """Its id, even if the test itself has an attribute of this name."""
    return type(test).id(test)


class Outcomes(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.outcomes = {}

    def record(self, test, outcome):
        if self.outcomes.get(name_of(test), "ok") == "ok":
            self.outcomes[name_of(test)] = outcome

    def addSuccess(self, test):
        self.record(test, "ok")

    def addSkip(self, test, reason):
        self.record(test, "skip")

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.record(test, "fail")

    def addError(self, test, error):
        super().addError(test, error)
        self.record(test, "error")

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.record(test, "fail")

    def addExpectedFailure(self, test, error):
        self.record(test, "ok")

    def addUnexpectedSuccess(self, test):
        self.record(test, "fail")
