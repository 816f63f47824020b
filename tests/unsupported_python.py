"""Run by .ci/run on a package that was built without the frame evaluator."""

import logging

import minidynamo

records = []
handler = logging.Handler()
handler.emit = records.append
logging.getLogger("minidynamo").addHandler(handler)


def add_one(x):
    return x + 1


assert not minidynamo._C.frame_evaluation
assert minidynamo.compile(add_one) is add_one
assert minidynamo.compile(backend="eager")(add_one) is add_one
assert [record.levelname for record in records] == ["WARNING"]
assert "compile() returns what it is given" in records[0].getMessage()
assert "no, Python" in minidynamo.show_config()
assert add_one(minidynamo.ones(2)).tolist() == [2.0, 2.0]
print("a package without the frame evaluator works")
