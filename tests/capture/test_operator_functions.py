"""Every function of the operator module over operands that it takes and that it refuses, as in eager Python."""

import copy
import itertools
import operator

import pytest

import minidynamo
from minidynamo import ones


class Joined:
    def __add__(self, other):
        return "add", other

    def __radd__(self, other):
        return "radd", other

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return [4, 5][index]

    def __repr__(self):
        return "Joined()"


class ReflectedList(list):
    def __radd__(self, other):
        return "radd", other


OPERANDS = [2, True, 2.5, None, [1], (2,), "a%s", b"b", {1}, {3: 4}, Joined(), ReflectedList([4])]
MAKERS = {"attrgetter", "itemgetter", "methodcaller", "call"}
NAMES = sorted(name for name in dir(operator) if not name.startswith("_") and name not in MAKERS)


def attempt(x, function, operands):
    try:
        return repr(function(*operands)), (x + 1).tolist()
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("name", NAMES)
def test_each_operator_function(name):
    function = getattr(operator, name)
    cases = [(one,) for one in OPERANDS]
    cases += itertools.product(OPERANDS, repeat=2)
    cases += [(one, 0, 1) for one in OPERANDS]
    for operands in cases:
        compiled = minidynamo.compile(attempt)
        expected = attempt(ones(1), function, copy.deepcopy(operands))
        assert compiled(ones(1), function, copy.deepcopy(operands)) == expected, operands
