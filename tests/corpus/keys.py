"""Keys of dicts, elements of sets and arguments of cached functions that are tuples of objects, sizes, or tensors."""

import collections
import functools

from differential import snippet, whole

from minidynamo import nn, ones, tensor

Pair = collections.namedtuple("Pair", "first second")


class Plain:
    pass


first_object, second_object = Plain(), Plain()
layer = nn.Linear(2, 2)
weights = (ones(2), ones(2) * 2)
state_of_weights = {weights[0]: 3.0, weights[1]: 4.0}


def _function():
    pass


def one():
    return (tensor([1.0, 2.0]),)


def two():
    return tensor([1.0, 2.0]), tensor([3.0, 4.0])


def the_same_twice():
    x = tensor([1.0, 2.0])
    return x, x


@functools.lru_cache
def cached(*args, **kwargs):
    return (len(args), *sorted(kwargs))


def an_empty_cache():
    cached.cache_clear()
    return tensor([1.0, 2.0]), cached


def a_filled_cache():
    x, _ = an_empty_cache()
    cached(x.shape)
    cached(first_object, (second_object, x.shape), by=_function)
    return x, cached


@whole(one)
def size_as_key(x):
    table = {x.shape: x + 1, (2, 2): x}
    return table[(2,)], table.get(x[None].shape, 5), x.shape in {x.shape, (3,)}, list(table)


@whole(one)
def tuples_of_objects(x):
    table = {(first_object, 1): x, (_function, Plain): x + 1, (layer, (second_object,)): x + 2}
    del table[(_function, Plain)]
    return table[(layer, (second_object,))], (first_object, 2) in table, [key[0] is first_object for key in table]


@whole(one)
def named_tuples_as_keys(x):
    table = {Pair(1, first_object): x}
    table[(1, first_object)] = x * 2
    return table[Pair(1, first_object)], [type(key).__name__ for key in table], len({Pair(1, 2), (1, 2)})


@whole(two)
def tensors_as_keys(x, y):
    made = x + y
    table = {x: 1, y: 2, made: 3}
    table[x] += 10
    return x * table[x], y * table[y], table[made], [key is x for key in table], len({x, y, x, made, made})


@whole(the_same_twice)
def one_tensor_by_two_names(x, y):
    table = {x: 1}
    table[y] = 2
    return len(table), table[x], len({x, y}), {x: 5}[y] + x


@whole(two)
def a_missing_tensor(x, y):
    try:
        return {x: 1}[y]
    except KeyError as error:
        return error.args[0] is y


@whole(one)
def a_dict_of_tensors_from_outside(x):
    return [x * state_of_weights[weight] for weight in weights], x in state_of_weights, len(state_of_weights)


@whole(an_empty_cache)
def cached_calls_are_missed(x, cached):
    return x, cached(x.shape), cached(first_object, (second_object, x.shape), by=_function)


@whole(a_filled_cache)
def cached_calls_are_found(x, cached):
    return x, cached((2,)), cached(first_object, (second_object, (2,)), by=_function)


@snippet(the_same_twice)
def keys_returned(x, y):
    return {x: 1, x + 1: 2, (first_object, 3): 4, y.shape: 5}


@whole(two, the_same_twice)
def a_set_of_one_tensor_in_its_order(x, y):
    return [element is x for element in {x}], len({x, y}), [*{first_object}], [n is y for n in frozenset([y])]


@snippet(two)
def a_set_of_tensors_in_its_order(x, y):
    return sum(element is x for element in {x, y})


FROZEN = frozenset([_function, Plain, "text"])


@whole(one)
def frozen_sets_of_functions(x):
    # Of one element: where two meet at one place of the table, which their addresses decide, the order is not known.
    made = frozenset([_function, _function])
    return x, len(made), _function in made, max in made, made & {_function}, made - {len}, made == {_function}


@whole(one)
def a_frozen_set_from_outside(x):
    return x + (_function in FROZEN), Plain in FROZEN, "text" in FROZEN, FROZEN - {Plain}, len(FROZEN)


@whole(two)
def frozen_sets_of_tensors(x, y):
    made = frozenset((x, y, x))
    return len(made), x in made, frozenset(made) is made, frozenset([x]) <= made


@whole(one)
def frozen_sets_of_constants(x):
    return x, frozenset([1, 2, 1]), frozenset("ab") | {"c"}, {frozenset([1]): x}[frozenset([1])], hash(frozenset((1,)))
