"""An exception group holds the items that its list had when it was created, also if the list was written to just
before."""

import pytest

import minidynamo as torch

WRITES = {
    "append": "errors.append(error)",
    "extend": "errors.extend([error, error])",
    "insert": "errors.insert(0, error)",
    "item": "errors.append(None); errors[0] = error; del errors[1:]",
    "slice": "errors[:] = [error]",
    "sort": "errors.append(error); errors.sort(key=str)",
    "written after": "errors.append(error); group = BaseExceptionGroup('m', errors); errors.clear()",
}
PLACES = {
    "argument": "errors = given",
    "attribute": "errors = holder.errors",
    "item": "errors = held['errors']",
    "made inside": "errors = list(given)",
}


def outcome(function, count):
    given = [ValueError(i) for i in range(count)]
    holder = type("Holder", (), {})()
    holder.errors = given
    try:
        group, y = function(torch.ones(2), given, holder, {"errors": given}, KeyError("new"))
    except Exception as error:
        return type(error), str(error), [repr(each) for each in given]
    return [repr(each) for each in group.exceptions], y.tolist(), [repr(each) for each in given]


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("write", WRITES)
def test_a_group_of_a_modified_list(write, place, count):
    namespace = {"BaseExceptionGroup": BaseExceptionGroup}
    making = "" if "group =" in WRITES[write] else "    group = BaseExceptionGroup('m', errors)\n"
    source = (
        "def function(x, given, holder, held, error):\n"
        f"    {PLACES[place]}\n"
        f"    {WRITES[write]}\n"
        f"{making}"
        "    return group, x + 1\n"
    )
    exec(source, namespace)
    expected = outcome(namespace["function"], count)
    compiled = torch.compile(namespace["function"])
    assert outcome(compiled, count) == expected
    assert outcome(compiled, count) == expected
