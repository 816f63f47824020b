"""Methods and functions that older programs and libraries use, against torch: values, dtypes, errors."""

import numpy as np
import pytest

import minidynamo

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()


def plain(value):
    """What can be compared between the libraries."""
    if isinstance(value, (minidynamo.Tensor, torch.Tensor)):
        dtype = str(value.dtype).rpartition(".")[2]
        return dtype, tuple(value.shape), value.detach().numpy().round(5).tolist()
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


def outcome(function, t, *args):
    try:
        return plain(function(t, *args))
    except Exception as error:
        return type(error)


def three(t):
    return [t.tensor([1.0, 4.0]), t.tensor([[0.25, 9.0]]), t.tensor(2.0)]


CALLS = {
    "new_of_nothing": lambda t: t.ones(2).new().shape,
    "new_of_sizes": lambda t: t.ones(2, dtype=t.int32).new(2, 3).zero_(),
    "new_of_size": lambda t: t.ones(2).new(t.Size([2, 3])).fill_(3),
    "new_of_list": lambda t: t.ones(2).new([1, 2]),
    "new_of_array": lambda t: t.ones(2).new(np.array([1.0, 2.0], dtype=np.float32)),
    "new_of_tensor": lambda t: t.ones(2).new(t.zeros(3)),
    "new_of_other_dtype": lambda t: t.ones(2).new(t.zeros(3, dtype=t.int64)),
    "new_of_a_float": lambda t: t.ones(2).new(1.5),
    "storage_sizes": lambda t: (t.arange(6)[2:4].untyped_storage().nbytes(), len(t.arange(6)[2:4].storage())),
    "storage_elements": lambda t: t.arange(6)[2:4].storage().tolist(),
    "storage_element": lambda t: t.arange(6.0)[2:4].storage()[1],
    "storage_of_bytes": lambda t: t.arange(3, dtype=t.uint8).untyped_storage().tolist(),
    "storage_dtype": lambda t: str(t.ones(2, dtype=t.int16).storage().dtype).rpartition(".")[2],
    "storage_type": lambda t: isinstance(t.ones(2).storage(), t.FloatStorage),
    "storage_other_type": lambda t: isinstance(t.ones(2).storage(), t.LongStorage),
    "storage_from_buffer": lambda t: t.ByteStorage.from_buffer(b"abc").tolist(),
    "is_set_to": lambda t: [
        (x := t.ones(3)).is_set_to(x),
        x.is_set_to(x[1:]),
        x.is_set_to(t.ones(3)),
        x.is_set_to(x[:]),
    ],
    "set_": lambda t: (x := t.ones(3)).set_(t.zeros(2, 2)),
    "apply_": lambda t: t.arange(4.0).reshape(2, 2).apply_(lambda x: x * 2 + 1),
    "apply_integers": lambda t: t.arange(4).apply_(lambda x: x * 2),
    "apply_with_gradient": lambda t: t.ones(2, requires_grad=True).apply_(lambda x: x),
    "map_": lambda t: t.arange(4.0).map_(t.ones(4), lambda a, b: a - b),
    "map_broadcast": lambda t: t.arange(4.0).map_(t.ones(1), lambda a, b: a - b),
    "map2_": lambda t: t.arange(4.0).map2_(t.ones(4), t.ones(4), lambda a, b, c: a - b - c),
    "dim_order": lambda t: t.ones(2, 3, 4).permute(2, 0, 1).dim_order(),
    "is_inference": lambda t: t.ones(2).is_inference(),
    "is_same_size": lambda t: t.ones(2).is_same_size(t.zeros(2)),
    "is_nonzero": lambda t: t.ones(1).is_nonzero(),
    "prelu": lambda t: t.tensor([-2.0, 2.0]).prelu(t.tensor([0.5])),
    "hardshrink": lambda t: t.tensor([-0.2, 2.0]).hardshrink(),
    "pin_memory": lambda t: t.ones(2).pin_memory(),
    "record_stream": lambda t: t.ones(2).record_stream(None) if t is minidynamo else _raise(NotImplementedError),
    "detach_": lambda t: t.detach_(t.ones(2, requires_grad=True) * 2).requires_grad,
    "get_device": lambda t: t.get_device(t.ones(2)),
    "histogram": lambda t: t.histogram(t.tensor([1.0, 2.0, 1.0, 4.0]), 4, range=(0.0, 4.0)),
    "histogram_density": lambda t: t.tensor([1.0, 2.0, 1.0, 4.0]).histogram(3, density=True),
    "histogram_weight": lambda t: t.histogram(
        t.tensor([1.0, 2.0, 1.0, 9.0]), t.tensor([0.0, 1.0, 3.0]), weight=t.tensor([1.0, 0.5, 2.0, 4.0])
    ),
    "histogram_of_equal": lambda t: t.histogram(t.ones(3), 2),
    "histogram_names": lambda t: t.histogram(t.ones(3), 2)._fields if t is minidynamo else ("hist", "bin_edges"),
    "histogram_integers": lambda t: t.histogram(t.ones(3, dtype=t.int64), 2),
    "histogram_no_bins": lambda t: t.histogram(t.ones(3), 0),
    "conv_tbc": lambda t: t.conv_tbc(
        t.arange(12.0).reshape(3, 2, 2), t.arange(12.0).reshape(3, 2, 2) / 10, t.tensor([0.5, 1.0]), 1
    ),
    "conv_tbc_rank": lambda t: t.conv_tbc(t.ones(2, 2), t.ones(3, 2, 2), t.ones(2)),
    "native_dropout": lambda t: t.native_dropout(t.ones(3), 0.5, False),
    "native_dropout_all": lambda t: t.native_dropout(t.ones(3), 1.0, True),
    "embedding_renorm_": lambda t: t.embedding_renorm_(
        t.tensor([[3.0, 4.0], [30.0, 40.0], [0.3, 0.4]]), t.tensor([0, 2, 0]), 1.0, 2.0
    ),
    "poisson_of_0": lambda t: t.poisson(t.zeros(3)),
    "poisson_below_0": lambda t: t.poisson(t.tensor([-1.0])),
    "binomial_sure": lambda t: t.binomial(t.tensor([5.0, 40.0, 0.0]), t.tensor([1.0, 1.0, 0.5])),
    "binomial_never": lambda t: t.binomial(t.tensor([5.0, 40.0]), t.tensor([0.0, 0.0])),
    "cond_true": lambda t: t.cond(t.tensor(True), lambda x: x + 1, lambda x: x - 1, (t.ones(2),)),
    "cond_false": lambda t: t.cond(False, lambda x: x + 1, lambda x: x - 1, [t.ones(2)]),
    "cond_of_text": lambda t: t.cond("a", lambda: 1, lambda: 2),
    "cond_of_several": lambda t: t.cond(t.ones(2) > 0, lambda: 1, lambda: 2),
    "feature_alpha_dropout": lambda t: t.nn.FeatureAlphaDropout().eval()(t.ones(2, 3)),
    "feature_alpha_dropout_f": lambda t: t.nn.functional.feature_alpha_dropout(t.ones(2, 3, 4), 0.0, True),
    "canonical_mask": lambda t: t.nn.functional._canonical_mask(t.tensor([True, False]), "m", None, "", t.float32),
    "canonical_mask_integers": lambda t: t.nn.functional._canonical_mask(
        t.ones(2, dtype=t.int64), "m", None, "", t.float32
    ),
    "device_states": lambda t: t.utils.checkpoint.get_device_states(t.ones(2)),
    "cuda_types": lambda t: isinstance(t.ones(2), t.cuda.FloatTensor),
    "cuda_constructor": lambda t: t.cuda.FloatTensor(2),
    "type_or_none": lambda t: str(type(t.LongTensor | None).__name__) in ("_UnionGenericAlias", "UnionType", "Union"),
}


def _raise(error):
    raise error


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_as_torch(name):
    assert outcome(CALLS[name], minidynamo) == outcome(CALLS[name], torch)


UNARY = "abs ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
LISTS = {
    **{name: (lambda name: lambda t, x: getattr(t, f"_foreach_{name}")(x))(name) for name in UNARY.split()},
    **{
        f"{name}_{kind}": (lambda name, other: lambda t, x: getattr(t, f"_foreach_{name}")(x, other(t)))(name, other)
        for name in "add sub mul div maximum minimum clamp_min clamp_max pow".split()
        for kind, other in {
            "number": lambda t: 2.0,
            "numbers": lambda t: [2.0, 3.0, 0.5],
            "tensors": lambda t: [each + 1 for each in three(t)],
        }.items()
    },
    "add_alpha": lambda t, x: t._foreach_add(x, x, alpha=2),
    "mul_tensor": lambda t, x: t._foreach_mul(x, t.tensor(3.0)),
    "addcdiv": lambda t, x: t._foreach_addcdiv(x, x, x, 0.5),
    "addcdiv_numbers": lambda t, x: t._foreach_addcdiv(x, x, x, [0.5, 1.0, 2.0]),
    "addcmul": lambda t, x: t._foreach_addcmul(x, x, x, 0.5),
    "addcmul_tensor": lambda t, x: t._foreach_addcmul(x, x, x, t.tensor([0.5, 1.0, 2.0])),
    "lerp": lambda t, x: t._foreach_lerp(x, three(t), 0.5),
    "norm": lambda t, x: t._foreach_norm(x),
    "norm_1": lambda t, x: t._foreach_norm(x, 1),
    "max": lambda t, x: t._foreach_max(x),
    "add_": lambda t, x: (t._foreach_add_(x, 1.0), x),
    "sub_": lambda t, x: (t._foreach_sub_(x, three(t), alpha=2), x),
    "mul_": lambda t, x: (t._foreach_mul_(x, [2.0, 3.0, 4.0]), x),
    "sqrt_": lambda t, x: (t._foreach_sqrt_(x), x),
    "addcdiv_": lambda t, x: (t._foreach_addcdiv_(x, three(t), three(t), 2.0), x),
    "addcmul_": lambda t, x: (t._foreach_addcmul_(x, three(t), three(t)), x),
    "lerp_": lambda t, x: (t._foreach_lerp_(x, [each * 2 for each in three(t)], 0.25), x),
    "zero_": lambda t, x: (t._foreach_zero_(x), x),
    "copy_": lambda t, x: (t._foreach_copy_(x, [each * 2 for each in three(t)]), x),
    "empty": lambda t, x: t._foreach_add([], 1.0),
    "shorter": lambda t, x: t._foreach_add(x, x[:2]),
    "fewer_numbers": lambda t, x: t._foreach_add(x, [1.0]),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists(name):
    assert outcome(LISTS[name], minidynamo, three(minidynamo)) == outcome(LISTS[name], torch, three(torch))


@pytest.mark.parametrize("name", ["add_", "addcdiv_", "lerp_", "norm", "mul_numbers"])
def test_lists_are_captured(name):
    compiled = minidynamo.compile(LISTS[name], fullgraph=True)
    assert plain(compiled(minidynamo, three(minidynamo))) == plain(LISTS[name](torch, three(torch)))


def test_views_share_a_storage():
    x = minidynamo.arange(6.0)
    a, b = x[1:].untyped_storage(), x[3:].untyped_storage()
    assert a == b and a.data_ptr() == x.data_ptr() and hash(a) == hash(b)
    assert a != minidynamo.arange(6.0).untyped_storage()
    with pytest.raises(NotImplementedError):
        minidynamo.UntypedStorage(4)
    with pytest.raises(NotImplementedError):
        minidynamo.FloatStorage(4)


def test_a_write_through_another_view_is_seen_after_asking_for_the_storage():
    x = minidynamo.zeros(3)

    @minidynamo.compile
    def double(x):
        return x * 2

    double(x)
    x.untyped_storage()
    x.storage_offset()
    x[0] = 1
    assert double(x).tolist() == [2.0, 0.0, 0.0]


@pytest.mark.parametrize("count", [3, 16, 17, 200, 5000])
@pytest.mark.parametrize("p", [0.02, 0.5, 0.9])
def test_binomial_numbers(count, p):
    minidynamo.manual_seed(count)
    n = 20000
    x = minidynamo.binomial(minidynamo.full((n,), float(count)), minidynamo.full((n,), p)).double()
    deviation = (count * p * (1 - p)) ** 0.5
    assert abs(x.mean().item() - count * p) < 5 * deviation / n**0.5
    assert abs(x.std().item() / deviation - 1) < 0.05
    assert x.min() >= 0 and x.max() <= count and bool((x == x.floor()).all())


NAMED = "complex32 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2 int4 uint1 uint7".split()


@pytest.mark.parametrize("name", NAMED)
def test_dtypes_by_name(name):
    import copy
    import pickle

    ours, theirs = getattr(minidynamo, name), getattr(torch, name)
    assert isinstance(ours, minidynamo.dtype) and repr(ours) == f"minidynamo.{name}"
    for fact in ("itemsize", "is_floating_point", "is_complex", "is_signed"):
        assert getattr(ours, fact) == getattr(theirs, fact), fact
    assert pickle.loads(pickle.dumps(ours)) is ours and copy.deepcopy(ours) is ours
    x = minidynamo.ones(2)
    assert x.dtype != ours and x.dtype not in (ours,)
    for refused in (
        lambda: x.to(ours),
        lambda: minidynamo.zeros(2, dtype=ours),
        lambda: minidynamo.tensor([1], dtype=ours),
        lambda: minidynamo.compile(lambda x: x.to(ours))(x),
    ):
        with pytest.raises(NotImplementedError, match=f"no tensors of the dtype {name}"):
            refused()


def test_dtypes_by_name_are_compared_in_graphs():
    def run(x):
        if x.dtype in (minidynamo.float8_e4m3fn, minidynamo.float8_e5m2) or minidynamo.uint4.is_floating_point:
            return x - 1
        return x + 1

    assert minidynamo.compile(run, fullgraph=True)(minidynamo.ones(2)).tolist() == [2.0, 2.0]


def test_quantized_and_bit_dtypes_are_named():
    for name in "qint8 quint8 qint32 quint4x2 quint2x4 bits8 bits16 bits1x8 bits2x4 bits4x2".split():
        assert getattr(minidynamo, name).itemsize == getattr(torch, name).itemsize
    assert minidynamo.chalf is minidynamo.complex32


def test_futures():
    found = []
    for library in (minidynamo, torch):
        one, other = library.futures.Future(), library.futures.Future()
        following = one.then(lambda each: each.wait() + 1)
        both = library.futures.collect_all([one, other])
        results = [one.done(), both.done()]
        one.set_result(1)
        other.set_result(2)
        results += [following.wait(), [each.wait() for each in both.wait()], library.futures.wait_all([one, other])]
        for again in (lambda: one.set_result(3), lambda: library.futures.Future().set_exception(3)):
            try:
                again()
            except Exception as error:
                results.append(type(error))
        failing = library.futures.Future()
        failing.set_exception(ValueError("x"))
        try:
            failing.wait()
        except ValueError as error:
            results.append(str(error))
        found.append(results)
    assert found[0] == found[1]


SCANS = {
    "sum": lambda t, scan: scan(lambda a, b: a + b, t.arange(7.0), 0, combine_mode="generic"),
    "reverse": lambda t, scan: scan(
        lambda a, b: a * b, t.arange(1.0, 7.0).reshape(2, 3), 1, reverse=True, combine_mode="generic"
    ),
    "tree": lambda t, scan: list(
        scan(
            lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]),
            (t.full((2, 5), 0.5), t.arange(10.0).reshape(2, 5)),
            1,
            combine_mode="generic",
        )
    ),
    "matrices": lambda t, scan: scan(
        lambda a, b: a @ b, t.arange(24.0).reshape(6, 2, 2) / 10, 0, combine_mode="generic"
    ),
    "pointwise": lambda t, scan: scan(lambda a, b: a + b, t.arange(7.0), 0),
    "no function": lambda t, scan: scan(3, t.arange(7.0), 0, combine_mode="generic"),
    "mode": lambda t, scan: scan(lambda a, b: a, t.arange(7.0), 0, combine_mode="x"),
    "empty": lambda t, scan: scan(lambda a, b: a, t.ones(0), 0, combine_mode="generic"),
}


@pytest.mark.parametrize("name", SCANS)
def test_associative_scan(name):
    from torch._higher_order_ops.associative_scan import associative_scan as theirs

    from minidynamo._higher_order_ops.associative_scan import associative_scan as ours

    found = [
        outcome(lambda t, scan: SCANS[name](t, scan), t, scan) for t, scan in ((minidynamo, ours), (torch, theirs))
    ]
    if isinstance(found[1], type):
        assert found[0] is found[1]
    else:
        np.testing.assert_allclose(
            *[np.array([x for *_, x in (each if isinstance(each, list) else [each])]) for each in found], rtol=1e-5
        )


ASSERTED = {
    "zero": lambda t: t._assert_async(t.tensor(0)),
    "nonzero": lambda t: t._assert_async(t.tensor(1.5)),
    "NaN": lambda t: t._assert_async(t.tensor(float("nan"))),
    "a message": lambda t: t._assert_async(t.zeros(1, dtype=t.bool), "not so"),
    "several": lambda t: t._assert_async(t.ones(2)),
    "none": lambda t: t._assert_async(t.empty(0)),
    "no tensor": lambda t: t._assert_async(3),
}


@pytest.mark.parametrize("name", ASSERTED)
def test_asserted(name):
    def text(t):
        try:
            return ASSERTED[name](t)
        except Exception as error:
            return type(error), str(error)

    assert text(minidynamo) == text(torch)


def test_an_assertion_is_captured():
    def function(x):
        minidynamo._assert_async(x.sum() > 0, "not positive")
        return x + 1

    compiled = minidynamo.compile(function, fullgraph=True)
    assert compiled(minidynamo.ones(2)).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="not positive"):
        compiled(-minidynamo.ones(2))


@pytest.mark.parametrize("t", [minidynamo, torch], ids=["minidynamo", "torch"])
def test_an_object_of_a_subclass(t):
    class Named(t.Tensor):
        pass

    x = t.arange(3.0)
    named = x.as_subclass(Named)
    assert type(named) is Named and named.data_ptr() == x.data_ptr() and not named.requires_grad
    x.add_(1)
    assert named.tolist() == [1, 2, 3]
    assert type(named.as_subclass(t.Tensor)) is t.Tensor
    for wrong in (int, "Named"):
        with pytest.raises(TypeError):
            x.as_subclass(wrong)


def test_objects_of_subclasses_have_no_history():
    with pytest.raises(NotImplementedError, match="as_subclass"):
        minidynamo.ones(2, requires_grad=True).as_subclass(minidynamo.nn.Parameter)
