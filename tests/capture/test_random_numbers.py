"""Numbers of Python's generators (random.Random) in captured code: drawn once a call, in order, by the generator itself."""

import random

import pytest

import minidynamo
from minidynamo import ones

own = random.Random(5)


class Counting(random.Random):
    def random(self):
        drawn.append(1)
        return super().random()


drawn = []
counting = Counting(3)


def of_the_module(x):
    return x + random.random() * random.uniform(1, 3), x * random.randint(1, 6)


def of_an_instance(x):
    return x + own.random() + own.randint(2, 200), own.gauss(0.0, 1.0) + x


def every_distribution(x):
    numbers = [
        own.uniform(1, 1.5),
        own.triangular(0, 1, 0.25),
        own.normalvariate(1, 2),
        own.lognormvariate(0, 1),
        own.expovariate(2.0),
        own.gammavariate(1.5, 2),
        own.betavariate(1, 2),
        own.paretovariate(3),
        own.weibullvariate(1, 2),
        own.vonmisesvariate(0, 4),
        own.randrange(10),
        own.randrange(2, 30, 7),
        own.getrandbits(40),
        random.getrandbits(3),
    ]
    return sum([x * number for number in numbers])


def drawn_by_a_loop(x):
    for _ in range(3):
        x = x * random.uniform(0.5, 2)
    return x


def as_a_size(x):
    return x.new_zeros(random.randint(2, 6)) + x[0]


def seeded_inside(x):
    random.seed(7)
    return x + random.random()


def of_a_subclass(x):
    return x + counting.uniform(1, 2), len(drawn)


def a_decision(x):
    return x + 1 if random.random() < 0.5 else x - 1


def returned(x):
    return x + 1, random.random(), own.randint(1, 3)


def empty_range(x):
    y = x + random.random()
    try:
        return y + random.randint(5, 1)
    except ValueError as error:
        return y, str(error)


def empty_range_for_the_caller(x):
    return x + random.random() + random.randint(5, 1)


def no_numbers(x):
    return x + random.uniform("a", 2)


def of_a_tensor(x):
    return x + random.uniform(x[0], 2)


def by_name(x):
    return x + random.uniform(a=1, b=2)


def chosen(x):
    return x + random.choice([1, 2, 3]), random.sample(range(9), 2)


FUNCTIONS = [
    f for f in list(globals().values()) if getattr(f, "__module__", "") == __name__ and not isinstance(f, type)
]
FUNCTIONS = [f for f in FUNCTIONS if callable(f)]
WHOLE = [of_the_module, of_an_instance, every_distribution, drawn_by_a_loop, returned]


def _observed(function, x):
    try:
        result = repr(function(x))
    except Exception as error:
        result = type(error), str(error)
    return result, random.getstate(), own.getstate(), len(drawn)


def _seed():
    random.seed(11)
    own.seed(12)
    counting.seed(13)
    drawn.clear()


@pytest.mark.parametrize("flag", [False, True], ids=["by default", "capture_scalar_outputs"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_as_plain_code(function, flag):
    minidynamo._dynamo.reset()
    with minidynamo._dynamo.config.patch(capture_scalar_outputs=flag):
        compiled = minidynamo.compile(function, fullgraph=flag and function in WHOLE)
        _seed()
        wanted = [_observed(function, ones(2)) for _ in range(4)]
        _seed()
        assert [_observed(compiled, ones(2)) for _ in range(4)] == wanted


@pytest.mark.parametrize("function", WHOLE, ids=lambda function: function.__name__)
def test_one_graph(function):
    minidynamo._dynamo.reset()
    counter = minidynamo._dynamo.testing.CompileCounter()
    compiled = minidynamo.compile(function, backend=counter, fullgraph=True)
    for _ in range(6):
        compiled(ones(2))
    assert counter.frame_count == 1


def test_another_generator():
    def function(x, generator):
        return x + generator.random()

    compiled = minidynamo.compile(function, fullgraph=True)
    for seed in (1, 2, 1, 3):
        assert compiled(ones(1), random.Random(seed)).item() == function(ones(1), random.Random(seed)).item()


def test_the_generator_is_not_kept():
    import weakref

    compiled = minidynamo.compile(lambda x, generator: x + generator.random(), fullgraph=True)
    generator = random.Random(1)
    compiled(ones(1), generator)
    died = weakref.ref(generator)
    del generator
    assert died() is None
