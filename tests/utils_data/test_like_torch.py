"""Datasets, samplers, collation and DataLoader in this process: values, types, warnings and errors are torch's."""

import collections
import itertools
import types

import pytest
from outcomes import check_same

import minidynamo

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")

Point = collections.namedtuple("Point", "x y")


def squares(lib):
    class Squares(lib.utils.data.Dataset):
        def __len__(self):
            return 10

        def __getitem__(self, i):
            if not -10 <= i < 10:
                raise IndexError(i)
            return lib.tensor([i, i * i]), i, float(i), str(i)

    return Squares()


def batched(lib):
    class Batched(type(squares(lib))):
        def __getitems__(self, indices):
            return [(self[i], "batch") for i in indices]

    return Batched()


def stream(lib, count=7, length=None):
    class Stream(lib.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(count))

    if length is not None:
        Stream.__len__ = lambda self: length
    Stream.__repr__ = lambda self: "Stream()"
    return Stream()


def tensors(lib, n=10):
    return lib.utils.data.TensorDataset(lib.arange(3 * n).reshape(n, 3), lib.arange(n).float())


def table(**programs):
    return pytest.mark.parametrize("program", programs.values(), ids=programs.keys())


@table(
    add=lambda t: list(squares(t) + squares(t)),
    concat=lambda t: [(squares(t) + tensors(t))[i] for i in (0, 9, 10, 19, -1, -20)],
    concat_low=lambda t: (squares(t) + squares(t))[-21],
    concat_high=lambda t: (squares(t) + squares(t))[20],
    concat_none=lambda t: t.utils.data.ConcatDataset([]),
    concat_stream=lambda t: t.utils.data.ConcatDataset([stream(t)]),
    concat_sizes=lambda t: (squares(t) + tensors(t)).cumulative_sizes,
    concat_old_name=lambda t: (squares(t) + tensors(t)).cummulative_sizes,
    chain=lambda t: list(stream(t) + stream(t, 2)),
    chain_length=lambda t: len(stream(t, 7, 7) + stream(t, 2, 2)),
    chain_no_length=lambda t: len(stream(t) + stream(t)),
    chain_map=lambda t: list(stream(t) + squares(t)),
    abstract=lambda t: t.utils.data.Dataset()[0],
    no_length=lambda t: len(t.utils.data.Dataset()),
    rows=lambda t: (tensors(t)[3], tensors(t)[-1], tensors(t)[2:4], len(tensors(t))),
    rows_differ=lambda t: t.utils.data.TensorDataset(t.ones(3), t.ones(4)),
    rows_none=lambda t: t.utils.data.TensorDataset().tensors,
    stack=lambda t: list(t.utils.data.StackDataset(tensors(t), squares(t))),
    stack_names=lambda t: t.utils.data.StackDataset(a=tensors(t), b=squares(t))[2],
    stack_batch=lambda t: t.utils.data.StackDataset(a=batched(t), b=squares(t)).__getitems__([1, 2]),
    stack_batch_tuple=lambda t: t.utils.data.StackDataset(batched(t), squares(t)).__getitems__([1, 2]),
    stack_both=lambda t: t.utils.data.StackDataset(squares(t), b=squares(t)),
    stack_none=lambda t: t.utils.data.StackDataset(),
    stack_sizes=lambda t: t.utils.data.StackDataset(squares(t), tensors(t, 3)),
    subset=lambda t: list(t.utils.data.Subset(squares(t), [3, 1, -1])),
    subset_batch=lambda t: t.utils.data.Subset(batched(t), [3, 1]).__getitems__([1, 0]),
    subset_list=lambda t: t.utils.data.Subset(tensors(t), [3, 1, 7])[[0, 2]],
    subset_override=lambda t: type("S", (t.utils.data.Subset,), {"__getitem__": lambda s, i: i})(squares(t), [1]),
    split_lengths=lambda t: [len(each) for each in t.utils.data.random_split(squares(t), [3, 7])],
    split_fractions=lambda t: [len(each) for each in t.utils.data.random_split(squares(t), [0.33, 0.33, 0.34])],
    split_empty=lambda t: [len(each) for each in t.utils.data.random_split([1], [0.5, 0.5])],
    split_sum=lambda t: t.utils.data.random_split(squares(t), [3, 3]),
    split_fraction=lambda t: t.utils.data.random_split(squares(t), [1.5, -0.5]),
    split_all=lambda t: sorted(i for each in t.utils.data.random_split(range(9), [4, 5]) for i in each.indices),
    no_worker=lambda t: t.utils.data.get_worker_info(),
)
def test_datasets(program):
    check_same(program, torch)


@table(
    sequential=lambda t: (list(t.utils.data.SequentialSampler("abc")), len(t.utils.data.SequentialSampler("abc"))),
    random=lambda t: sorted(t.utils.data.RandomSampler(range(10))),
    random_more=lambda t: sorted(t.utils.data.RandomSampler(range(5), num_samples=10)),
    random_count=lambda t: len(list(t.utils.data.RandomSampler(range(5), True, 70))),
    random_endless=lambda t: len(
        [next(it) for it in [iter(t.utils.data.RandomSampler(range(5), True, 10**15))] for _ in range(3)]
    ),
    random_endless_rounds=lambda t: len(
        [next(it) for it in [iter(t.utils.data.RandomSampler(range(5), False, 10**15))] for _ in range(7)]
    ),
    random_kind=lambda t: t.utils.data.RandomSampler(range(5), 1),
    random_none=lambda t: t.utils.data.RandomSampler(range(5), num_samples=0),
    random_empty=lambda t: t.utils.data.RandomSampler([]),
    random_float=lambda t: t.utils.data.RandomSampler(range(5), num_samples=1.5),
    subset=lambda t: sorted(t.utils.data.SubsetRandomSampler([3, 5, 9])),
    weighted=lambda t: list(t.utils.data.WeightedRandomSampler([0, 1, 0], 4)),
    weighted_all=lambda t: sorted(t.utils.data.WeightedRandomSampler([0.2, 1, 3], 3, replacement=False)),
    weighted_too_many=lambda t: t.utils.data.WeightedRandomSampler([0.2, 1], 0),
    weighted_bool=lambda t: t.utils.data.WeightedRandomSampler([0.2, 1], True),
    weighted_kind=lambda t: t.utils.data.WeightedRandomSampler([0.2, 1], 2, replacement=1),
    weighted_rank=lambda t: t.utils.data.WeightedRandomSampler([[0.2, 1]], 2),
    batch=lambda t: list(t.utils.data.BatchSampler(range(10), 3, False)),
    batch_dropped=lambda t: list(t.utils.data.BatchSampler(range(10), 3, True)),
    batch_lengths=lambda t: [len(t.utils.data.BatchSampler(range(n), 3, d)) for n in (0, 9, 10) for d in (True, False)],
    batch_size=lambda t: t.utils.data.BatchSampler(range(10), 0, False),
    batch_bool=lambda t: t.utils.data.BatchSampler(range(10), True, False),
    batch_drop=lambda t: t.utils.data.BatchSampler(range(10), 3, 0),
    batch_no_length=lambda t: len(t.utils.data.BatchSampler(iter([1]), 3, False)),
    abstract=lambda t: iter(t.utils.data.Sampler()),
    distributed=lambda t: [
        list(t.utils.data.DistributedSampler(range(n), 3, r, shuffle=False, drop_last=d))
        for n, r, d in itertools.product((1, 2, 9, 10, 11), range(3), (False, True))
        if n >= 3 or not d
    ],
    distributed_all=lambda t: sorted(
        i for r in range(4) for i in t.utils.data.distributed.DistributedSampler(range(12), 4, r)
    ),
    distributed_rank=lambda t: t.utils.data.DistributedSampler(range(10), 2, 2),
    distributed_negative=lambda t: t.utils.data.DistributedSampler(range(10), 2, -1),
    distributed_length=lambda t: len(t.utils.data.DistributedSampler(range(10), 3, 1)),
)
def test_samplers(program):
    check_same(program, torch)


class Frozen(collections.abc.Mapping):
    def __init__(self, items):
        self.items_ = dict(items)

    def __getitem__(self, key):
        return self.items_[key]

    def __iter__(self):
        return iter(self.items_)

    def __len__(self):
        return len(self.items_)

    def __repr__(self):
        return f"Frozen({ {key: getattr(value, 'tolist', lambda v=value: v)() for key, value in self.items_.items()} })"


SAMPLES = {
    "ints": lambda t: [1, 2],
    "bools": lambda t: [True, False],
    "floats": lambda t: [1.5, 2.0],
    "strings": lambda t: ["a", "b"],
    "bytes": lambda t: [b"a", b"b"],
    "tensors": lambda t: [t.ones(2, 3), t.zeros(2, 3)],
    "numbers": lambda t: [t.tensor(1), t.tensor(2)],
    "shapes": lambda t: [t.ones(2), t.ones(3)],
    "dtypes": lambda t: [t.ones(2), t.ones(2).int()],
    "tuples": lambda t: [(1, "a"), (2, "b")],
    "lists": lambda t: [[1, 2.0], [3, 4.0]],
    "unequal": lambda t: [[1, 2], [3]],
    "dicts": lambda t: [{"a": 1, "b": [2, 3]}, {"a": 4, "b": [5, 6]}],
    "ordered": lambda t: [collections.OrderedDict(a=1), collections.OrderedDict(a=2)],
    "defaults": lambda t: [collections.defaultdict(int, a=1), collections.defaultdict(int, a=2)],
    "frozen": lambda t: [Frozen({"a": 1}), Frozen({"a": 2})],
    "proxies": lambda t: [types.MappingProxyType({"a": 1}), types.MappingProxyType({"a": 2})],
    "named": lambda t: [Point(1, 2.0), Point(3, 4.0)],
    "ranges": lambda t: [range(2), range(2)],
    "deques": lambda t: [collections.deque([1, 2]), collections.deque([3, 4])],
    "none": lambda t: [None, None],
    "objects": lambda t: [object, object],
    "sets": lambda t: [{1}, {2}],
    "missing_key": lambda t: [{"a": 1}, {"b": 1}],
    "nothing": lambda t: [],
    "complex": lambda t: [Ellipsis],
    "arrays": lambda t: [np.arange(3), np.arange(3) + 1],
    "arrays_float": lambda t: [np.ones((2, 2), np.float32)] * 2,
    "arrays_of_strings": lambda t: [np.array(["a"]), np.array(["b"])],
    "arrays_of_objects": lambda t: [np.array([None]), np.array([None])],
    "scalars": lambda t: [np.float32(1), np.float32(2)],
    "scalars_int": lambda t: [np.int16(1), np.int16(2)],
    "scalars_bool": lambda t: [np.bool_(True), np.bool_(False)],
    "scalars_double": lambda t: [np.float64(1), np.float64(2)],
    "mixed": lambda t: [{"a": (np.ones(2), [1, "x"], Point(t.ones(1), 2))}] * 3,
}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("function", ["default_collate", "default_convert"])
def test_collation(name, function):
    check_same(lambda t: getattr(t.utils.data, function)(SAMPLES[name](t)), torch)


def test_a_map_of_collate_functions():
    class Odd:
        pass

    class Odder(Odd):
        pass

    def program(t):
        collate = t.utils.data._utils.collate
        rows = {Odd: lambda batch, *, collate_fn_map=None: len(batch), **collate.default_collate_fn_map}
        return collate.collate([(Odder(), 1), (Odder(), 2)], collate_fn_map=rows)

    check_same(program, torch)


def load(t, dataset, *args, **kwargs):
    loader = t.utils.data.DataLoader(dataset, *args, **kwargs)
    return len(loader), list(loader), list(loader)


@table(
    plain=lambda t: load(t, squares(t)),
    batches=lambda t: load(t, squares(t), 4),
    dropped=lambda t: load(t, squares(t), 4, drop_last=True),
    no_batches=lambda t: load(t, squares(t), None),
    no_batches_sampler=lambda t: load(t, tensors(t), None, sampler=t.utils.data.BatchSampler(range(10), 4, False)),
    sampler=lambda t: load(t, squares(t), 4, sampler=[3, 1, 2, 5, 5]),
    batch_sampler=lambda t: load(t, squares(t), batch_sampler=[[3, 1], [2, 5, 5]]),
    collate=lambda t: load(t, squares(t), 4, collate_fn=len),
    getitems=lambda t: load(t, batched(t), 4),
    a_list=lambda t: load(t, [1, 2, 3], 2),
    a_dict=lambda t: load(t, {"a": 1, "b": 2}, 2, sampler=["b", "a"]),
    rows=lambda t: load(t, tensors(t), 4),
    rows_subset=lambda t: load(t, t.utils.data.Subset(tensors(t), [5, 3, -1, 0]), 3),
    rows_nested=lambda t: load(t, t.utils.data.Subset(t.utils.data.Subset(tensors(t), [5, 3, 8]), [2, 0]), 3),
    rows_negative=lambda t: load(t, tensors(t), 3, sampler=[-1, 0, -10]),
    rows_bools=lambda t: load(t, t.utils.data.TensorDataset(t.arange(4)), 2, sampler=[True, False]),
    rows_tensors=lambda t: load(t, t.utils.data.TensorDataset(t.arange(4)), 2, sampler=[2, t.tensor(1)]),
    rows_single=lambda t: load(t, t.utils.data.TensorDataset(t.arange(4)), 2),
    stacked=lambda t: load(t, t.utils.data.StackDataset(a=tensors(t), b=squares(t)), 3),
    streamed=lambda t: load(t, stream(t, 7, 7), 3),
    streamed_dropped=lambda t: load(t, stream(t, 7, 7), 3, drop_last=True),
    streamed_single=lambda t: load(t, stream(t, 7, 7), None),
    streamed_too_long=lambda t: load(t, stream(t, 7, 1), 2),
    streamed_no_length=lambda t: len(t.utils.data.DataLoader(stream(t))),
    shuffled=lambda t: sorted(
        i for batch in t.utils.data.DataLoader(range(50), 7, shuffle=True) for i in batch.tolist()
    ),
    streamed_shuffle=lambda t: t.utils.data.DataLoader(stream(t), shuffle=True),
    streamed_no_shuffle=lambda t: load(t, stream(t, 7, 7), 3, shuffle=False),
    streamed_sampler=lambda t: t.utils.data.DataLoader(stream(t), sampler=[1]),
    streamed_batch_sampler=lambda t: t.utils.data.DataLoader(stream(t), batch_sampler=[[1]]),
    pinned=lambda t: list(t.utils.data.DataLoader([1, 2], pin_memory=True)),
    workers_negative=lambda t: t.utils.data.DataLoader([1], num_workers=-1),
    workers_many=lambda t: t.utils.data.DataLoader([1], num_workers=1000) and None,
    timeout=lambda t: t.utils.data.DataLoader([1], timeout=-1),
    timeout_alone=lambda t: iter(t.utils.data.DataLoader([1], timeout=1)),
    prefetch_alone=lambda t: t.utils.data.DataLoader([1], prefetch_factor=2),
    prefetch_negative=lambda t: t.utils.data.DataLoader([1], num_workers=1, prefetch_factor=-2),
    prefetch_zero=lambda t: iter(t.utils.data.DataLoader([1], num_workers=1, prefetch_factor=0)),
    prefetch_default=lambda t: [t.utils.data.DataLoader([1], num_workers=n).prefetch_factor for n in (0, 1)],
    persistent_alone=lambda t: t.utils.data.DataLoader([1], persistent_workers=True),
    both_orders=lambda t: t.utils.data.DataLoader([1], sampler=[0], shuffle=True),
    both_batches=lambda t: t.utils.data.DataLoader([1], batch_size=3, batch_sampler=[[0]]),
    batch_size=lambda t: t.utils.data.DataLoader([1], batch_size=0),
    drop_alone=lambda t: t.utils.data.DataLoader([1], batch_size=None, drop_last=True),
    empty_shuffled=lambda t: t.utils.data.DataLoader([], shuffle=True),
    empty=lambda t: load(t, []),
    context_alone=lambda t: t.utils.data.DataLoader([1], multiprocessing_context="fork"),
    context_unknown=lambda t: t.utils.data.DataLoader([1], num_workers=1, multiprocessing_context="thread"),
    context_kind=lambda t: t.utils.data.DataLoader([1], num_workers=1, multiprocessing_context=3),
    set_later=lambda t: setattr(t.utils.data.DataLoader([1]), "batch_size", 3),
    set_dataset=lambda t: setattr(t.utils.data.DataLoader([1]), "dataset", 3),
    set_other=lambda t: setattr(t.utils.data.DataLoader([1]), "collate_fn", 3),
    error=lambda t: list(t.utils.data.DataLoader([1], sampler=[5])),
    length_of_iterator=lambda t: len(iter(t.utils.data.DataLoader(range(5), 2))),
    attributes=lambda t: [
        getattr(t.utils.data.DataLoader(range(5), 2), name)
        for name in "batch_size num_workers prefetch_factor pin_memory drop_last timeout persistent_workers in_order".split()
    ],
)
def test_loader(program):
    check_same(program, torch)


def test_rows_that_do_not_exist():
    for t in (minidynamo, torch):
        loader = t.utils.data.DataLoader(t.utils.data.Subset(tensors(t), [50]), 3)
        with pytest.raises(IndexError, match="index 50 is out of bounds for dimension 0 with size 10"):
            list(loader)


@pytest.mark.skipif(
    "minidynamo.randperm(9, generator=minidynamo.Generator().manual_seed(1)).tolist() != "
    "torch.randperm(9, generator=torch.Generator().manual_seed(1)).tolist()",
    reason="the generator's numbers are not torch's yet",
)
@table(
    loader=lambda t: list(t.utils.data.DataLoader(range(20), 3, shuffle=True, generator=t.Generator().manual_seed(3))),
    default=lambda t: (t.manual_seed(3), list(t.utils.data.DataLoader(range(20), 3, shuffle=True)))[1],
    split=lambda t: [list(s) for s in t.utils.data.random_split(range(20), [5, 15], t.Generator().manual_seed(3))],
    replaced=lambda t: list(t.utils.data.RandomSampler(range(9), True, 70, t.Generator().manual_seed(3))),
    rounds=lambda t: list(t.utils.data.RandomSampler(range(9), False, 20, t.Generator().manual_seed(3))),
    distributed=lambda t: list(t.utils.data.DistributedSampler(range(20), 2, 1, seed=4)),
)
def test_orders_of_a_seed(program):
    check_same(program, torch)
