"""Names that torch has at the top beside others: native forms, views that copy, methods as functions, settings."""

import warnings

import numpy as np
import pytest

import minidynamo

torch = pytest.importorskip("torch")


def numbers(library, *shape):
    return library.from_numpy(np.random.RandomState(sum(shape) + len(shape)).standard_normal(shape).astype("float32"))


def plain(value):
    if hasattr(value, "numpy") and hasattr(value, "dtype"):
        return np.array(value.detach().numpy()), str(value.dtype).rpartition(".")[2]
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return str(value).replace("minidynamo", "torch") if not isinstance(value, (int, float, bool, type(None))) else value


def outcome(text, library):
    names = {"t": library, "x": lambda *shape: numbers(library, *shape), "F": library.nn.functional}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(eval(text, names))
        except Exception as error:
            return type(error)


def same(a, b, what):
    if isinstance(b, list):
        assert isinstance(a, list) and len(a) == len(b), what
        for one, other in zip(a, b, strict=True):
            same(one, other, what)
    elif isinstance(b, tuple):
        assert isinstance(a, tuple), (what, a)
        assert a[1] == b[1] and a[0].shape == b[0].shape, (what, a[0].shape, b[0].shape, a[1], b[1])
        np.testing.assert_allclose(a[0], b[0], rtol=2e-4, atol=2e-5, err_msg=what)
    else:
        assert a == b, (what, a, b)


NATIVE = [
    "t.batch_norm(x(3, 4, 5), x(4), None, t.zeros(4), t.ones(4), False, 0.1, 1e-5, False)",
    "t.batch_norm(x(3, 4, 5), None, None, None, None, True, 0.1, 1e-5, True)",
    "t.instance_norm(x(3, 4, 5), None, None, None, None, True, 0.1, 1e-5, False)",
    "t.embedding(x(5, 3), t.tensor([1, 4]))",
    "t.embedding_bag(x(5, 3), t.tensor([1, 4, 2]), t.tensor([0, 2]), False, 1)[0]",
    "t.grid_sampler(x(1, 2, 3, 4), x(1, 2, 2, 2), 0, 0, False)",
    "t.grid_sampler_2d(x(1, 2, 3, 4), x(1, 2, 2, 2), 1, 1, True)",
    "t.grid_sampler_3d(x(1, 2, 3, 4, 4), x(1, 2, 2, 2, 3), 0, 2, True)",
    "t.affine_grid_generator(x(1, 2, 3), [1, 1, 3, 4], False)",
    "t.adaptive_max_pool1d(x(1, 2, 7), 3)",
    "t.binary_cross_entropy_with_logits(x(3), t.ones(3))",
    "t.binary_cross_entropy_with_logits(x(3), t.ones(3), None, t.ones(3) * 2, 2)",
    "t.kl_div(x(3, 2), x(3, 2).softmax(1), 0)",
    "t.kl_div(x(3, 2), x(3, 2), log_target=True)",
    "t.poisson_nll_loss(x(3), t.ones(3), True, False, 1e-8, 1)",
    "t.cosine_embedding_loss(x(3, 2), x(3, 2) + 1, t.ones(3), 0.1, 2)",
    "t.hinge_embedding_loss(x(3), t.tensor([1.0, -1, 1]))",
    "t.margin_ranking_loss(x(3), x(3) + 1, t.ones(3), 0.5)",
    "t.triplet_margin_loss(x(3, 2), x(3, 2) + 1, x(3, 2) - 1)",
    "t.ctc_loss(x(5, 1, 4).log_softmax(2), t.tensor([[1, 2]]), t.tensor([5]), t.tensor([2]), 0, 1)",
    "t.alpha_dropout(x(3), 0.5, False)",
    "t.feature_dropout(x(3, 2, 2), 0.5, False)",
    "t.feature_alpha_dropout(x(3, 2, 2), 0.5, False)",
    "t.feature_alpha_dropout(x(3, 2, 2), 1.0, True).abs()",
    "t.feature_dropout(x(3), 0.5, True)",
    "t.native_layer_norm(x(3, 4), [4], x(4), None, 1e-5)",
    "t.native_group_norm(x(2, 4, 3), x(4), x(4), 2, 4, 3, 2, 1e-5)",
    "F.upsample_nearest(x(1, 2, 3), scale_factor=2)",
    "F.upsample_bilinear(x(1, 2, 3, 3), (5, 5))",
]
OTHERS = [
    "t.rsub(x(3), 2)",
    "t.rsub(x(3), x(3) * 2, alpha=3)",
    "t.rsub(t.ones(2) > 0, 1)",
    "t.unsafe_chunk(x(5, 2), 2)",
    "x(5, 2).unsafe_split(2)",
    "t.unsafe_split_with_sizes(x(5, 2), [1, 4])",
    "t.constant_pad_nd(x(2, 3), [1, 2], 7)",
    "t.resolve_neg(x(3))",
    "t.is_signed(x(3)), t.is_signed(x(3).to(t.uint8)), t.is_conj(x(2)), t.is_neg(x(2)), t.is_distributed(x(2)), t.is_inference(x(2))",
    "t.detach(x(3))",
    "x(3).cfloat()",
    "x(3).cdouble()",
    "t.frobenius_norm(x(3, 4), [0, 1])",
    "t.nuclear_norm(x(3, 4))",
    "t.norm_except_dim(x(3, 4), 2, 0)",
    "t.norm_except_dim(x(3, 4), 2, -1)",
    "t.empty_permuted((2, 3, 4), (0, 2, 1)).stride()",
    "t.empty_permuted((2, 3), (0, 0))",
    "t.nonzero_static(t.tensor([[1, 0], [2, 3]]), size=2)",
    "t.nonzero_static(t.tensor([[1, 0], [2, 3]]), size=5, fill_value=9)",
    "t.nonzero_static(t.tensor(3), size=2)",
    "t.nonzero_static(t.zeros(0, 2), size=1)",
    "t.nonzero_static(t.zeros(2), size=-1)",
    "t.logspace(0, 2, 5)",
    "t.logspace(0.5, -2, 3, 2.0, dtype=t.float64)",
    "t.logspace(0, 3, 4, 2, dtype=t.int64)",
    "t.range(1, 4)",
    "t.range(0, 1, 0.25)",
    "t.range(3, 1, -1)",
    "t.range(1, 0)",
    "t.vander(t.tensor([1, 2, 3]))",
    "t.vander(x(3), 2, True)",
    "t.vander(x(3), 0)",
    "t.vander(x(3), 1)",
    "t.gradient(x(5))",
    "t.gradient(x(4, 5), spacing=2.0)",
    "t.gradient(x(4, 5), spacing=[2.0, 3.0])",
    "t.gradient(x(4, 5), dim=1, edge_order=2)",
    "t.gradient(x(5), spacing=(t.tensor([0.0, 1, 3, 4, 8]),))",
    "t.gradient(x(5), spacing=(t.tensor([0.0, 1, 3, 4, 8]),), edge_order=2)",
    "t.gradient(x(2))",
    "t.gradient(x(1))",
    "t.gradient(x(5), edge_order=3)",
    "t.arccosh(x(3).abs() + 1), t.arcsinh(x(3)), t.arctanh(x(3) / 9)",
    "t.strided, t.sparse_coo, x(2).layout, t.zeros(2, layout=t.strided).layout, t.zeros_like(x(2), pin_memory=False)",
    "t.arange(t.tensor(4)), t.arange(t.tensor(1.5), 4), t.full((2,), t.tensor(3.0)), t.zeros((t.tensor(2), 3)).shape",
    "t.arange(t.ones(2))",
    "t.zeros((t.tensor(1.5),))",
    "t.vmap(lambda a: a * 2)(x(3, 2))",
    "t.vmap(t.dot)(x(3, 2), x(3, 2))",
    "t.vmap(lambda a, b: (a + b, a), in_dims=(0, None), out_dims=(1, 0))(x(3, 2), x(2))",
    "t.func.vmap(lambda d: d['a'] + 1, in_dims=({'a': 1},))({'a': x(3, 2)})",
    "t.vmap(lambda a: a, in_dims=3)(x(2))",
    "t.vmap(lambda a: 3)(x(2))",
    "t.vmap(lambda a: a, randomness='no')",
]
COPIES = [
    "t.alias_copy(v)",
    "t.as_strided_copy(v, (2, 2), (1, 2))",
    "t.detach_copy(v)",
    "t.diagonal_copy(v, 1)",
    "t.expand_copy(v[:, :1], (4, 6))",
    "t.expand_copy(v, (2, 4, 6), implicit=False)",
    "t.narrow_copy(v.mT, 0, 1, 2)",
    "t.permute_copy(v, (1, 0))",
    "t.select_copy(v, 1, 2)",
    "t.slice_copy(v, 1, 1, 5, 2)",
    "t.split_copy(v, 2)",
    "t.split_with_sizes_copy(v, [1, 3])",
    "t.squeeze_copy(v[:1])",
    "t.squeeze_copy(v[:1], 0)",
    "t.t_copy(v)",
    "t.transpose_copy(v, 0, 1)",
    "t.unbind_copy(v, 1)",
    "t.unfold_copy(v, 1, 2, 2)",
    "t.unsqueeze_copy(v, 0)",
    "t.view_copy(v, (6, 4))",
    "t.view_copy(v.mT, (8, 3))",
    "t.view_as_complex_copy(v[:, :2])",
    "t.view_as_real_copy(t.view_as_complex(v[:, :2].contiguous()))",
]
SETTINGS = [
    "t.use_deterministic_algorithms(True, warn_only=True), t.get_deterministic_debug_mode()",
    "t.are_deterministic_algorithms_enabled(), t.is_deterministic_algorithms_warn_only_enabled()",
    "t.set_deterministic_debug_mode('default'), t.get_deterministic_debug_mode()",
    "t.set_deterministic_debug_mode('none')",
    "t.set_deterministic_debug_mode(7)",
    "t.use_deterministic_algorithms(3)",
    "t.get_float32_matmul_precision(), t.set_float32_matmul_precision('high'), t.get_float32_matmul_precision()",
    "t.set_float32_matmul_precision('highest'), t.get_float32_matmul_precision()",
    "t.set_num_interop_threads(-1)",
    "t.set_warn_always(False), t.is_warn_always_enabled()",
    "t.set_default_device('cpu'), t.get_default_device(), t.set_default_device(None)",
    "t.set_default_tensor_type(t.DoubleTensor), t.ones(1).dtype, t.set_default_tensor_type('torch.FloatTensor')",
    "t.set_default_tensor_type(t.IntTensor)",
    "t.set_default_tensor_type(3)",
    "t.is_vulkan_available(), t.has_lapack, t.has_openmp",
]


@pytest.mark.parametrize("text", [*NATIVE, *OTHERS, *SETTINGS])
def test_as_torch(text):
    same(outcome(text, minidynamo), outcome(text, torch), text)


@pytest.mark.parametrize("text", COPIES)
def test_copies(text):
    values = text.replace("(v", "(x(4, 6)")
    same(outcome(values, minidynamo), outcome(values, torch), values)
    v = numbers(minidynamo, 4, 6)
    found = eval(text, {"t": minidynamo, "v": v})
    for part in found if isinstance(found, tuple) else (found,):
        assert not minidynamo._C._shares_storage(part, v)


@pytest.mark.parametrize("text", NATIVE)
def test_one_graph(text):
    """Functions whose arguments are tensors stay in the graph."""
    if "feature_dropout(x(3)," in text or "ctc_loss" in text:
        return
    names = {"t": minidynamo, "x": lambda *shape: numbers(minidynamo, *shape), "F": minidynamo.nn.functional}
    arguments = (
        eval(f"(lambda *a, **k: (a, k))({text.partition('(')[2].rpartition(')')[0]})", names)
        if not text.endswith(("[0]", ".abs()"))
        else None
    )
    if arguments is None:
        return
    function = eval(text.partition("(")[0], names)
    minidynamo._dynamo.reset()
    compiled = minidynamo.compile(lambda a, k: function(*a, **k), fullgraph=True)
    same(plain(compiled(*arguments)), plain(function(*arguments[0], **arguments[1])), text)


def test_methods_as_functions():
    from minidynamo._composites.copies import WRITING

    assert [name for name in WRITING if not hasattr(torch, name)] == []
    missing = [name for name in WRITING if not hasattr(minidynamo, name)]
    assert missing == [], missing
    for library in (minidynamo, torch):
        value = library.tensor([0.25, 0.5])
        assert library.sqrt_(value) is value and value.tolist()[0] == 0.5
        assert library.clamp_(value, max=0.6).tolist() == pytest.approx([0.5, 0.6])
        assert library.fill_(value, 3).tolist() == [3, 3] and library.zero_(value).tolist() == [0, 0]
