"""Sparse tensors: what was specified, products, conversions, refusals, against torch's."""

import copy
import pickle

import pytest

import minidynamo

torch = pytest.importorskip("torch")

CALLS = [
    "s(t).to_dense()",
    "s(t)._indices()",
    "s(t)._values()",
    "s(t)._nnz()",
    "s(t).coalesce().indices()",
    "s(t).coalesce().values()",
    "s(t).is_coalesced()",
    "s(t).coalesce().is_coalesced()",
    "s(t).indices()",
    "s(t).values()",
    "s(t).shape",
    "s(t).is_sparse",
    "s(t).layout",
    "s(t).sparse_dim(), s(t).dense_dim(), s(t).dim(), s(t).dtype",
    "t.sparse.mm(s(t), t.ones(4, 2))",
    "t.spmm(s(t), t.ones(4, 2))",
    "t.mm(s(t), t.ones(4, 2))",
    "s(t) @ t.ones(4, 2)",
    "s(t).matmul(t.ones(4))",
    "t.sparse.addmm(t.ones(3, 2), s(t), t.ones(4, 2), beta=2.0, alpha=3.0)",
    "t.sparse.sum(s(t))",
    "t.spmm(t.ones(3, 4), t.ones(4, 2))",
    "t.eye(3).to_sparse().indices()",
    "t.eye(3).to_sparse().values()",
    "t.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse(1).values()",
    "t.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse(1).indices()",
    "t.eye(2).to_dense()",
    "t.sparse_coo_tensor([[0, 1]], [[1.0, 2.0], [3.0, 4.0]]).to_dense()",
    "t.sparse_coo_tensor([[0, 2]], [1, 2], dtype=t.float64).to_dense()",
    "t.sparse_coo_tensor([[0, 5]], [1.0, 2.0], (3,))",
    "t.sparse_coo_tensor([[0, -1]], [1.0, 2.0], (3,))",
    "t.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3, 3))",
    "t.sparse_coo_tensor([[0, 1, 2]], [1.0, 2.0])",
    "t.sparse.FloatTensor(t.tensor([[0, 1]]), t.tensor([1.0, 2.0]), t.Size([3])).to_dense()",
    "t.sparse.softmax(s(t).coalesce(), 1).to_dense()",
    "t.eye(2).is_coalesced()",
]


def sparse(t):
    return t.sparse_coo_tensor(t.tensor([[0, 2, 0], [1, 3, 1]]), t.tensor([1.0, 2.0, 4.0]), (3, 4))


def plain(value):
    if hasattr(value, "tolist") and not hasattr(value, "items"):
        return value.tolist(), str(value.dtype).rpartition(".")[2]
    return str(value).replace("minidynamo", "torch")


@pytest.mark.parametrize("text", CALLS)
def test_as_torch(text):
    found = []
    for library in (minidynamo, torch):
        try:
            found.append(plain(eval(text, {"t": library, "s": sparse})))
        except Exception as error:
            found.append(type(error))
    assert found[0] == found[1]


def test_copies():
    x = sparse(minidynamo)
    for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(other) is type(x) and other.to_dense().tolist() == x.to_dense().tolist() and other._nnz() == 3
    assert "nnz=3" in repr(x)


def test_as_a_buffer():
    class Layer(minidynamo.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("links", sparse(minidynamo), persistent=False)

        def forward(self, x):
            return minidynamo.sparse.mm(self.links, x)

    layer = Layer()
    x = minidynamo.ones(4, 2)
    assert layer.links.is_sparse and layer.state_dict() == {}
    assert minidynamo.compile(layer, fullgraph=True)(x).tolist() == layer(x).tolist()


def test_refused():
    with pytest.raises(NotImplementedError, match="reduce"):
        minidynamo.sparse.mm(sparse(minidynamo), minidynamo.ones(4, 2), "mean")
