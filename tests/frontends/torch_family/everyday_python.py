"""Programs over tensors as Python has them: containers, errors, generators, managers, classes, algorithms.

Each returns the function, what makes the arguments of each call, and what it changes besides them.
"""

import collections
import contextlib
import dataclasses
import enum
import functools
import itertools
import math
import operator
import warnings
from typing import NamedTuple, Optional

import torch
import torch.nn.functional as F
from everyday_comparison import program
from torch import nn

R = torch.randn


class Out(NamedTuple):
    logits: torch.Tensor
    hidden: Optional[torch.Tensor] = None


@dataclasses.dataclass
class Batch:
    x: torch.Tensor
    y: torch.Tensor
    meta: dict = dataclasses.field(default_factory=dict)

    def to(self, dtype):
        return Batch(self.x.to(dtype), self.y, dict(self.meta))

    @property
    def size(self):
        return self.x.shape[0]


@program
def dataclasses_and_tuples():
    lin = nn.Linear(3, 2)

    def f(x, y):
        b = Batch(x, y, {"n": x.shape[0]})
        b2 = dataclasses.replace(b, x=b.x * 2)
        o = Out(lin(b2.x))
        o = o._replace(hidden=o.logits.relu())
        b.meta["out"] = o.hidden
        return o, b, dataclasses.astuple(Batch(y, y))[0], b.size

    return f, [lambda: (R(2, 3), torch.arange(2))] * 2 + [lambda: (R(4, 3), torch.arange(4))], lin


@program
def ordered_and_default_dicts():
    def f(xs):
        d = collections.defaultdict(list)
        for i, x in enumerate(xs):
            d["even" if i % 2 == 0 else "odd"].append(x * (i + 1))
        o = collections.OrderedDict((k, torch.stack(v)) for k, v in d.items())
        o.move_to_end("even")
        c = collections.Counter(t.dim() for t in xs)
        q = collections.deque(xs, maxlen=2)
        return o, dict(c), list(q), {k: v.sum() for k, v in sorted(o.items())}

    return f, [lambda: ([R(2) for _ in range(4)],)] * 2 + [lambda: ([R(3) for _ in range(5)],)]


@program
def try_shapes():
    def f(x, w):
        try:
            y = x @ w
            tag = "ok"
        except RuntimeError as e:
            y = x @ w.t()
            tag = type(e).__name__ + str(e)
        finally:
            z = x.sum()
        return y, tag, z

    return f, [
        lambda: (R(2, 3), R(3, 4)),
        lambda: (R(2, 3), R(4, 3)),
        lambda: (R(2, 3), R(3, 4)),
        lambda: (R(2, 3), R(5, 3)),
    ]


@program
def raise_in_model():
    def f(x, k):
        y = x.sin()
        if x.shape[0] > 3:
            raise ValueError(f"too many rows: {x.shape[0]}")
        if k not in ("a", "b"):
            raise KeyError(k)
        return y.view(2, -1)

    return f, [lambda: (R(2, 3), "a"), lambda: (R(4, 3), "a"), lambda: (R(2, 3), "z"), lambda: (R(3, 3), "b")]


@program
def errors_by_torch():
    def f(x, which):
        y = x + 1
        if which == 0:
            return y.view(7)
        if which == 1:
            return y[10]
        if which == 2:
            return torch.cat([y, y[0]])
        if which == 3:
            return y.squeeze(9)
        if which == 4:
            return F.cross_entropy(y, torch.tensor([0, 9]))
        if which == 5:
            return y.to(torch.long) / torch.zeros(3, 1, 5)
        if which == 6:
            return torch.stack([])
        if which == 7:
            return y.expand(2, 5)
        if which == 8:
            return y.gather(1, torch.tensor([[7], [0]]))
        if which == 9:
            return torch.arange(3, 1)
        if which == 10:
            return y.reshape(-1, -1)
        if which == 11:
            return y.no_such
        if which == 12:
            return y.long() @ y
        if which == 13:
            return bool(y)
        if which == 14:
            return torch.zeros(2).item()
        if which == 15:
            return y.add_(torch.ones(2, 2, 3))
        if which == 16:
            return y.long().mean()
        if which == 17:
            return F.conv1d(y, y)
        if which == 18:
            return torch.linalg.inv(y)
        if which == 19:
            return torch.linalg.inv(torch.zeros(2, 2))
        if which == 20:
            return F.embedding(torch.tensor([5]), y)
        if which == 21:
            return y.sum(dim=5)
        if which == 22:
            return F.pad(y, (1,))
        if which == 23:
            return y.split(0)
        if which == 24:
            return torch.einsum("ij,kl->m", y, y)
        if which == 25:
            return y.index_select(0, torch.tensor([3]))
        if which == 26:
            return nn.Linear(7, 2)(y)
        if which == 27:
            return torch.randint(5, 2, (2,))
        if which == 28:
            return y.permute(0, 0)
        if which == 29:
            return len(torch.tensor(3))
        if which == 30:
            return list(torch.tensor(3))
        if which == 31:
            return torch.tensor([1, 2]) % 0
        if which == 32:
            return torch.tensor([1, 2]) // torch.tensor([0, 1])
        if which == 33:
            return y.float().bitwise_and(1)
        if which == 34:
            return torch.multinomial(torch.tensor([-1.0, 2.0]), 1)
        if which == 35:
            return y.unflatten(1, (2, 2))
        if which == 36:
            return y[torch.tensor([True, False, True])]
        if which == 37:
            return y["a"]
        if which == 38:
            return y + "a"
        if which == 39:
            return torch.zeros(2, "x")

    return f, [(lambda i=i: (R(2, 3), i)) for i in range(40)]


@program
def generators():
    def pairs(x):
        for i in range(x.shape[0] - 1):
            got = yield x[i] * x[i + 1]
            if got is not None:
                yield got + x[i]

    def f(x):
        g = pairs(x)
        a = next(g)
        b = g.send(a)
        rest = [t.sum() for t in g]
        tot = sum(t * w for t, w in zip((r.exp() for r in x), itertools.count(1)))
        return a, b, rest, tot, functools.reduce(operator.add, x.unbind()), list(itertools.accumulate(x, torch.maximum))

    return f, [lambda: (R(4, 2),)] * 2 + [lambda: (R(5, 2),)]


@program
def context_managers():
    class Scale:
        def __init__(self, s):
            self.s = s
            self.log = []

        def __enter__(self):
            self.log.append("in")
            return self

        def __exit__(self, t, v, tb):
            self.log.append("out" if t is None else t.__name__)
            return t is ZeroDivisionError

    @contextlib.contextmanager
    def evaluating(m):
        was = m.training
        m.eval()
        try:
            yield m
        finally:
            m.train(was)

    drop = nn.Dropout(0.5)

    def f(x, div):
        with Scale(3.0) as s, evaluating(drop) as d:
            y = d(x) * s.s
        with Scale(1) as t:
            y = y / 2
            z = 1 / div
            y = y * z
        with torch.set_grad_enabled(False):
            w = y * 2
        with torch.inference_mode():
            q = x.detach() + 1
        return y, s.log, t.log, drop.training, w, q.is_inference()

    return f, [lambda: (R(3), 2), lambda: (R(3), 0), lambda: (R(4), 4)]


@program
def views_in_place():
    def f(x):
        y = x.clone()
        v = y[1:]
        v.mul_(2)
        y.t_()
        d = y.diagonal()
        d.fill_(7)
        w = y.view(-1) if y.is_contiguous() else y.reshape(-1)
        w2 = w[::2]
        w2 += 1
        a, b = y.chunk(2, 0)
        a.zero_()
        y[0, 0] = 5
        y[:, 1] *= 3
        y[[0, 1]] = y[[1, 0]]
        return y, v, d, w, b

    return f, [lambda: (R(4, 4),)] * 2 + [lambda: (R(4, 6),)]


@program
def args_in_place():
    def f(x, acc, out):
        acc += x.detach().sum(0)
        acc[0] = 1
        torch.add(x.detach(), 1, out=out)
        out.t_()
        out.t_()
        v = out[0]
        v.neg_()
        return acc, v, out.view(-1)

    return f, [lambda: (R(2, 3), torch.zeros(3).detach(), torch.zeros(2, 3))] * 2 + [
        lambda: (R(4, 3), torch.zeros(3), torch.zeros(4, 3))
    ]


@program
def overlapping_args():
    base = [None]

    def f(a, b):
        a.add_(1)
        c = b * 2
        b.mul_(3)
        return c, a.sum()

    def c(o):
        def g():
            t = torch.arange(8.0)
            return t[:5], t[o : o + 3]

        return g

    return f, [c(1), c(5), c(3), c(5)]


@program
def complex_numbers():
    def f(x, y):
        z = torch.complex(x, y)
        w = z * (1 + 2j)
        p = torch.polar(x.abs(), y)
        r = torch.view_as_real(w)
        c = torch.view_as_complex(r.contiguous())
        return w.real, w.imag, z.conj().imag, p.angle(), r, c.abs(), torch.fft.fft(x).abs(), (z @ z.conj()).real

    return f, [lambda: (R(3), R(3))] * 2 + [lambda: (R(5), R(5))]


@program
def rope_complex():
    def f(x, pos):
        b, t, h, d = x.shape
        fr = 1.0 / (10000.0 ** (torch.arange(0, d, 2)[: d // 2].float() / d))
        ang = torch.outer(pos.float(), fr)
        cis = torch.polar(torch.ones_like(ang), ang)
        xc = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(xc * cis[None, :, None]).flatten(3).type_as(x)

    return f, [lambda: (R(2, 3, 2, 4), torch.arange(3))] * 2 + [lambda: (R(1, 5, 2, 4), torch.arange(5))]


@program
def einsums():
    def f(a, b, c):
        return (
            torch.einsum("bij,bjk->bik", a, b),
            torch.einsum("bij->bji", a),
            torch.einsum("...ij,...jk->...ik", a, b),
            torch.einsum("ii->i", c),
            torch.einsum("ij,ji", c, c),
            torch.einsum("bij,kj->bik", a, c[:, : a.shape[2]]),
            torch.einsum(a, [0, 1, 2], [0, 2]),
            torch.tensordot(a, b, dims=([2], [1])),
            torch.kron(c[:2, :2], c[:2, :2]),
            torch.einsum("i,j->ij", c[0], c[1]),
        )

    return f, [lambda: (R(2, 3, 4), R(2, 4, 3), R(5, 5))] * 2 + [lambda: (R(3, 2, 4), R(3, 4, 2), R(4, 4))]


@program
def sparse_things():
    def f(i, v, x):
        s = torch.sparse_coo_tensor(i, v, (4, 4))
        y = torch.sparse.mm(s, x)
        d = s.to_dense()
        return y + 1, d.sum(), s.coalesce().values()

    return f, [lambda: (torch.tensor([[0, 1, 2], [1, 2, 3]]), R(3), R(4, 2))] * 3


@program
def promotions():
    def f(i, h, x, b):
        return (
            i + 1.5,
            i * h,
            h + x,
            b + i,
            b * 2.0,
            i / i,
            i // 2,
            x + torch.tensor(1.0, dtype=torch.float64),
            i + torch.tensor(2.5),
            torch.result_type(i, 1.0),
            h.sum(),
            i.sum(),
            b.sum(),
            (i > 1) & b,
            ~b,
            i.float().mean(),
            torch.where(b, i, 0.5),
            torch.where(b, 1, 0),
            torch.cat([i, x]),
            torch.stack([i, i]) ** 2,
            i**0.5,
            2**i,
            True + i,
            torch.maximum(i, torch.tensor(1)),
            h @ h,
            x.new_tensor([1, 2]),
            i.clamp(0.5),
            i.type(torch.float16),
            x.to(i),
            torch.tensor([1, 2.0]),
            torch.tensor(True),
            torch.as_tensor(3),
            torch.full((2,), 1),
            torch.full((2,), 1.0),
            torch.full((2,), True),
            torch.arange(2.0),
            torch.linspace(0, 1, 3),
        )

    return f, [lambda: (torch.arange(3), R(3).half(), R(3), torch.tensor([True, False, True]))] * 2 + [
        lambda: (torch.arange(4, dtype=torch.int32), R(4).bfloat16(), R(4), torch.tensor([True, False, True, False]))
    ]


class Tagged(torch.Tensor):
    pass


class Wrapper:
    def __init__(self, t, name):
        self.t, self.name = t, name

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        un = lambda a: a.t if isinstance(a, Wrapper) else a
        r = func(*[un(a) for a in args], **(kwargs or {}))
        return Wrapper(r, func.__name__) if isinstance(r, torch.Tensor) else r

    def __add__(self, o):
        return torch.add(self, o)


@program
def tensor_subclass():
    def f(x):
        t = x.as_subclass(Tagged)
        y = t * 2
        return y, type(y).__name__, (y + x).as_subclass(torch.Tensor)

    return f, [lambda: (R(3),)] * 3


@program
def torch_function_users():
    def f(x):
        w = Wrapper(x, "x")
        a = torch.sin(w)
        b = a + 1
        c = torch.matmul(b, x)
        return a.name, b.t, b.name, c.t, torch.is_tensor(w), torch.overrides.has_torch_function((w,))

    return f, [lambda: (R(3, 3),)] * 3


@program
def own_autograd_function():
    class STE(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, k):
            ctx.save_for_backward(x)
            ctx.k = k
            return (x > 0).to(x.dtype) * k

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * (x.abs() < 1).to(g.dtype) * ctx.k, None

    class Swish(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * torch.sigmoid(x)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            s = torch.sigmoid(x)
            return g * (s * (1 + x * (1 - s)))

    lin = nn.Linear(3, 3)

    def f(x):
        h = lin(x)
        a = STE.apply(h, 2.0)
        return a.sum() + Swish.apply(h).sum(), a

    return f, [lambda: (R(2, 3),)] * 2 + [lambda: (R(4, 3),)], lin


@program
def gradient_reversal():
    class GR(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, alpha):
            ctx.alpha = alpha
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return g.neg() * ctx.alpha, None

    a, b = nn.Linear(3, 3), nn.Linear(3, 2)

    def f(x, al):
        return b(GR.apply(a(x), al)), a(x)

    return f, [lambda: (R(2, 3), 0.1), lambda: (R(2, 3), 0.2), lambda: (R(3, 3), 0.1)], [a, b]


@program
def checkpointed():
    from torch.utils.checkpoint import checkpoint

    a, b = nn.Linear(3, 4), nn.Linear(4, 2)

    def f(x):
        return b(checkpoint(lambda h: torch.relu(a(h)), x, use_reentrant=False))

    return f, [lambda: (R(2, 3),)] * 2 + [lambda: (R(4, 3),)], [a, b]


@program
def boolean_mask_loss():
    def f(x, y, ign):
        m = y != ign
        l = F.cross_entropy(x[m], y[m])
        acc = (x[m].argmax(-1) == y[m]).float().mean()
        x2 = x.clone()
        x2[~m] = 0
        x2[m, 0] += 1
        return l, acc, x2, m.nonzero(as_tuple=True)[0], x.masked_select(m[:, None])

    return f, [
        lambda: (R(5, 3), torch.tensor([0, 1, -1, 2, 0]), -1),
        lambda: (R(5, 3), torch.tensor([0, -1, -1, 2, 0]), -1),
        lambda: (R(4, 3), torch.tensor([0, 1, 1, 2]), -1),
    ]


@program
def ragged_padding():
    def f(seqs):
        n = max(len(s) for s in seqs)
        out = seqs[0].new_zeros(len(seqs), n)
        mask = torch.ones(len(seqs), n, dtype=torch.bool)
        for i, s in enumerate(seqs):
            out[i, : len(s)] = s
            mask[i, : s.size(0)] = False
        p = nn.utils.rnn.pad_sequence(seqs, batch_first=True, padding_value=-1)
        return out, mask, p, [o[~m] for o, m in zip(out, mask)]

    return f, [lambda: ([R(3), R(1), R(4)],), lambda: ([R(2), R(2), R(4)],), lambda: ([R(5), R(1)],)]


@program
def properties_and_slots():
    class Box:
        __slots__ = ("_lo", "_hi")

        def __init__(self, lo, hi):
            self._lo, self._hi = lo, hi

        @property
        def volume(self):
            return (self._hi - self._lo).prod(-1)

        @functools.cached_property
        def nope(self):
            return 1

        def __contains__(self, p):
            return bool(((p >= self._lo) & (p <= self._hi)).all())

        def __len__(self):
            return self._lo.shape[-1]

        def __getitem__(self, i):
            return (self._lo[..., i], self._hi[..., i])

        def __eq__(self, o):
            return torch.equal(self._lo, o._lo)

        def __mul__(self, s):
            return Box(self._lo * s, self._hi * s)

        __rmul__ = __mul__

    def f(lo, p):
        b = Box(lo, lo.abs() + 1)
        c = 2 * b
        return c.volume, p in b, len(b), b[0], b == c, [t for t in b[-1]]

    return f, [lambda: (R(2), torch.zeros(2))] * 2 + [lambda: (R(3), torch.zeros(3))]


@program
def enum_modes_and_partial():
    class Mode(enum.Enum):
        SUM = "sum"
        MEAN = "mean"

    acts = {"relu": F.relu, "gelu": functools.partial(F.gelu, approximate="tanh"), "sq": lambda t: t.square()}

    def f(x, mode, act):
        y = acts[act](x)
        m = Mode(mode)
        r = y.sum(-1) if m is Mode.SUM else y.mean(-1)
        return r, m.name, getattr(torch, m.value)(y), Mode[m.name] == m

    return f, [lambda: (R(3), "sum", "relu"), lambda: (R(3), "mean", "gelu"), lambda: (R(4), "sum", "sq")]


@program
def kalman_filter():
    def f(zs, F_, H, Q, Rm):
        x = torch.zeros(2, 1, dtype=zs.dtype)
        P = torch.eye(2, dtype=zs.dtype)
        out = []
        for z in zs:
            x = F_ @ x
            P = F_ @ P @ F_.T + Q
            S = H @ P @ H.T + Rm
            K = P @ H.T @ torch.linalg.inv(S)
            x = x + K @ (z.view(1, 1) - H @ x)
            P = (torch.eye(2, dtype=zs.dtype) - K @ H) @ P
            out.append(x.squeeze(-1))
        return torch.stack(out), P, torch.linalg.eigvalsh(P)

    return f, [
        lambda: (R(4), torch.tensor([[1.0, 1.0], [0, 1]]), torch.tensor([[1.0, 0]]), torch.eye(2) * 0.1, torch.eye(1))
    ] * 2 + [
        lambda: (R(6), torch.tensor([[1.0, 0.5], [0, 1]]), torch.tensor([[1.0, 0]]), torch.eye(2) * 0.1, torch.eye(1))
    ]


@program
def gaussian_process():
    def k(a, b, ls):
        return torch.exp(-0.5 * torch.cdist(a, b).pow(2) / ls**2)

    def f(X, y, Xs, ls):
        K = k(X, X, ls) + 1e-2 * torch.eye(len(X), dtype=X.dtype)
        L = torch.linalg.cholesky(K)
        al = torch.cholesky_solve(y[:, None], L)
        Ks = k(X, Xs, ls)
        mu = (Ks.T @ al).squeeze(1)
        v = torch.linalg.solve_triangular(L, Ks, upper=False)
        var = 1 - v.pow(2).sum(0)
        return mu, var, -0.5 * y @ al.squeeze() - L.diagonal().log().sum() - len(X) / 2 * math.log(2 * math.pi)

    return f, [lambda: (R(4, 2), R(4), R(3, 2), 0.7)] * 2 + [lambda: (R(5, 2), R(5), R(2, 2), 1.1)]


@program
def kmeans():
    def f(x, k, it):
        c = x[:k].clone()
        for _ in range(it):
            a = torch.cdist(x, c).argmin(1)
            for j in range(k):
                m = a == j
                if m.any():
                    c[j] = x[m].mean(0)
        return c, a, torch.bincount(a, minlength=k)

    return f, [lambda: (R(8, 2).detach(), 3, 3)] * 2 + [lambda: (R(10, 2), 2, 4)]


@program
def viterbi_crf():
    def f(em, tr):
        s = em[0]
        back = []
        for e in em[1:]:
            m = s[:, None] + tr
            v, i = m.max(0)
            s = v + e
            back.append(i)
        best = s.argmax()
        path = [best]
        for i in reversed(back):
            best = i[best]
            path.append(best)
        path.reverse()
        al = em[0]
        for e in em[1:]:
            al = torch.logsumexp(al[:, None] + tr, 0) + e
        return torch.stack(path), s.max(), al.logsumexp(0)

    return f, [lambda: (R(4, 3), R(3, 3))] * 2 + [lambda: (R(5, 3), R(3, 3))]


@program
def sinkhorn():
    def f(a, b, C, eps, n):
        u = torch.zeros_like(a)
        v = torch.zeros_like(b)
        for i in range(n):
            u1 = u
            u = eps * (torch.log(a + 1e-8) - torch.logsumexp((-C + u[:, None] + v[None]) / eps, -1)) + u
            v = eps * (torch.log(b + 1e-8) - torch.logsumexp((-C + u[:, None] + v[None]) / eps, 0)) + v
            if (u - u1).abs().sum().item() < 1e-3:
                break
        pi = torch.exp((-C + u[:, None] + v[None]) / eps)
        return (pi * C).sum(), pi, i

    return f, [lambda: (torch.full((3,), 1 / 3), torch.full((4,), 0.25), torch.rand(3, 4), 0.1, 20)] * 2 + [
        lambda: (torch.full((2,), 0.5), torch.full((4,), 0.25), torch.rand(2, 4), 0.5, 20)
    ]


@program
def nerf_render():
    def pe(x, n):
        return torch.cat([x] + [fn((2.0**i) * x) for i in range(n) for fn in (torch.sin, torch.cos)], -1)

    net = nn.Sequential(nn.Linear(15, 8), nn.ReLU(), nn.Linear(8, 4))

    def f(o, d, n):
        t = torch.linspace(0, 1, n, dtype=o.dtype)
        t = t.expand(o.shape[0], n)
        mid = 0.5 * (t[..., 1:] + t[..., :-1])
        up = torch.cat([mid, t[..., -1:]], -1)
        lo = torch.cat([t[..., :1], mid], -1)
        t = lo + (up - lo) * torch.rand(t.shape, dtype=o.dtype)
        pts = o[..., None, :] + d[..., None, :] * t[..., :, None]
        raw = net(pe(pts, 2).reshape(-1, 15)).reshape(*pts.shape[:-1], 4)
        dist = t[..., 1:] - t[..., :-1]
        dist = torch.cat([dist, torch.tensor([1e10], dtype=o.dtype).expand(dist[..., :1].shape)], -1)
        al = 1 - torch.exp(-F.relu(raw[..., 3]) * dist)
        w = al * torch.cumprod(torch.cat([torch.ones((al.shape[0], 1), dtype=o.dtype), 1 - al + 1e-10], -1), -1)[:, :-1]
        return (w[..., None] * torch.sigmoid(raw[..., :3])).sum(-2), (w * t).sum(-1)

    return f, [lambda: (R(3, 3), R(3, 3), 5)] * 2 + [lambda: (R(2, 3), R(2, 3), 6)], net


@program
def lora_and_weight_norm():
    class Lora(nn.Module):
        def __init__(self, base, r):
            super().__init__()
            self.base = base
            [p.requires_grad_(False) for p in base.parameters()]
            self.A = nn.Parameter(R(r, base.in_features))
            self.B = nn.Parameter(torch.zeros(base.out_features, r))
            self.merged = False

        def merge(self):
            self.base.weight.data += self.B @ self.A
            self.merged = True

        def forward(self, x):
            return self.base(x) + (0 if self.merged else x @ self.A.T @ self.B.T)

    m = Lora(nn.utils.parametrizations.weight_norm(nn.Linear(3, 3)), 2) if False else Lora(nn.Linear(3, 3), 2)
    s = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 2))
    w = nn.utils.parametrizations.weight_norm(nn.Conv1d(2, 2, 3))

    def f(x, merge):
        with torch.no_grad():
            if merge and not m.merged:
                m.merge()
        return s(m(x)), w(x.view(1, 2, -1))

    return (
        f,
        [lambda: (R(4, 3), False), lambda: (R(4, 3), False), lambda: (R(4, 3), True), lambda: (R(6, 3), True)],
        [m, s, w],
    )


@program
def conv_unet():
    class U(nn.Module):
        def __init__(self):
            super().__init__()
            self.d1 = nn.Conv2d(1, 4, 3, padding=1)
            self.d2 = nn.Conv2d(4, 8, 3, stride=2, padding=1)
            self.up = nn.ConvTranspose2d(8, 4, 2, 2)
            self.o = nn.Conv2d(8, 1, 1)
            self.gn = nn.GroupNorm(2, 8)
            self.bn = nn.BatchNorm2d(4)

        def forward(self, x):
            a = F.relu(self.bn(self.d1(x)))
            b = F.silu(self.gn(self.d2(a)))
            u = self.up(b)
            dh, dw = a.shape[2] - u.shape[2], a.shape[3] - u.shape[3]
            u = F.pad(u, (dw // 2, dw - dw // 2, dh // 2, dh - dh // 2))
            y = self.o(torch.cat([a, u], 1))
            return F.interpolate(y, scale_factor=2, mode="bilinear", align_corners=False), y

    m = U()
    return (lambda x: m(x)), [lambda: (R(2, 1, 6, 6),)] * 2 + [lambda: (R(1, 1, 7, 5),)], m


@program
def swin_windows():
    def f(x, ws, shift):
        B, H, W, C = x.shape
        y = torch.roll(x, shifts=(-shift, -shift), dims=(1, 2))
        w = y.view(B, H // ws, ws, W // ws, ws, C).permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, ws * ws, C)
        m = torch.zeros((1, H, W, 1))
        cnt = 0
        for h in (slice(0, -ws), slice(-ws, -shift), slice(-shift, None)):
            for v in (slice(0, -ws), slice(-ws, -shift), slice(-shift, None)):
                m[:, h, v, :] = cnt
                cnt += 1
        mw = m.view(1, H // ws, ws, W // ws, ws, 1).permute(0, 1, 3, 2, 4, 5).reshape(-1, ws * ws)
        am = mw.unsqueeze(1) - mw.unsqueeze(2)
        am = am.masked_fill(am != 0, float(-100.0)).masked_fill(am == 0, 0.0)
        back = w.view(B, H // ws, W // ws, ws, ws, C).permute(0, 1, 3, 2, 4, 5).reshape(B, H, W, C)
        cc = torch.stack(torch.meshgrid([torch.arange(ws), torch.arange(ws)], indexing="ij")).flatten(1)
        rel = (cc[:, :, None] - cc[:, None]).permute(1, 2, 0).contiguous()
        rel[:, :, 0] += ws - 1
        rel[:, :, 1] += ws - 1
        rel[:, :, 0] *= 2 * ws - 1
        return w, am, torch.roll(back, (shift, shift), (1, 2)), rel.sum(-1)

    return f, [lambda: (R(1, 4, 4, 2), 2, 1)] * 2 + [lambda: (R(2, 6, 6, 2), 3, 1)]


@program
def mae_masking():
    def f(x, ratio):
        N, L, D = x.shape
        k = int(L * (1 - ratio))
        noise = torch.rand(N, L)
        ids = torch.argsort(noise, 1)
        rest = torch.argsort(ids, 1)
        keep = ids[:, :k]
        xm = torch.gather(x, 1, keep.unsqueeze(-1).repeat(1, 1, D))
        mask = torch.ones([N, L])
        mask[:, :k] = 0
        mask = torch.gather(mask, 1, rest)
        full = torch.cat([xm, torch.zeros(N, L - k, D, dtype=x.dtype)], 1).gather(1, rest.unsqueeze(-1).repeat(1, 1, D))
        return xm, mask, full, ((full - x) ** 2).mean(-1).mul(mask).sum() / mask.sum()

    return f, [lambda: (R(2, 6, 3), 0.5)] * 2 + [lambda: (R(3, 8, 3), 0.75)]


@program
def ctc_and_decode():
    def f(x, tgt, tl):
        lp = x.log_softmax(-1)
        il = torch.full((x.shape[1],), x.shape[0], dtype=torch.long)
        l = F.ctc_loss(lp, tgt, il, tl, zero_infinity=True)
        out = []
        for seq in lp.argmax(-1).T:
            u = torch.unique_consecutive(seq)
            out.append([int(i) for i in u if i != 0])
        return l, out

    return f, [lambda: (R(6, 2, 4), torch.randint(1, 4, (2, 3)), torch.tensor([2, 3]))] * 2 + [
        lambda: (R(7, 2, 4), torch.randint(1, 4, (2, 3)), torch.tensor([3, 1]))
    ]


@program
def metrics_and_confusion():
    class Meter:
        def __init__(self):
            self.cm = torch.zeros(3, 3, dtype=torch.long)
            self.n = 0
            self.tot = 0.0

        def update(self, logits, y):
            p = logits.argmax(1)
            self.cm += torch.bincount(y * 3 + p, minlength=9).view(3, 3)
            self.n += y.numel()
            self.tot += F.cross_entropy(logits, y).item() * len(y)

        def compute(self):
            tp = self.cm.diag().float()
            return {
                "acc": (tp.sum() / self.n).item(),
                "iou": (tp / (self.cm.sum(0) + self.cm.sum(1) - tp).clamp(min=1)).tolist(),
                "loss": round(self.tot / self.n, 3),
            }

    m = Meter()

    def f(x, y):
        m.update(x, y)
        return m.compute(), f"{m.tot:.2f}"

    return f, [lambda: (R(5, 3), torch.randint(0, 3, (5,)))] * 3, m


@program
def printing_and_logging():

    def f(x, step):
        y = x.mean()
        if step % 2 == 0:
            print(f"step {step}: mean {y.item():.4f} shape {tuple(x.shape)}", x.dtype)
        if step > 1:
            warnings.warn(f"late {step}")
        return y

    return f, [lambda: (R(3), 0), lambda: (R(3), 1), lambda: (R(3), 2)]


@program
def deepcopy_and_state():
    net = nn.Linear(2, 2)

    def f(x):
        saved = {k: v.clone() for k, v in net.state_dict().items()}
        with torch.no_grad():
            for p in net.parameters():
                p.add_(torch.randn_like(p) * 0.1)
        y = net(x)
        net.load_state_dict(saved)
        return y, net(x)

    return f, [lambda: (R(2, 2),)] * 3, net


@program
def out_variants_and_strides():
    def f(x):
        a = x.t().contiguous().t()
        b = x.permute(1, 0).clone()
        c = x.transpose(0, 1) + 1
        d = torch.empty_like(x.t())
        d.copy_(x.t())
        e = torch.zeros(3, 2, 4).permute(2, 0, 1) * 2
        g = x.expand(3, *x.shape) + 0
        h = x[:, ::2].clone()
        i = torch.stack([x.t(), x.t()], -1)
        j = x.flip(0)
        k = x.unsqueeze(0).contiguous(memory_format=torch.contiguous_format)
        return (
            a,
            b,
            c,
            d,
            e,
            g,
            h,
            i,
            j,
            k,
            x.t().exp(),
            torch.where(x.t() > 0, x.t(), 0),
            x.t().sum(0, keepdim=True),
            x.t().softmax(0),
            x.t().cumsum(0),
            x.t() @ x,
            x.T.tolist(),
        )

    return f, [lambda: (R(3, 4),)] * 2 + [lambda: (R(2, 5),)]


@program
def cond_on_data():
    def f(x):
        n = 0
        while x.norm() > 1:
            x = x / 2
            n += 1
        if x.sum() > 0:
            y = x.exp()
        elif x.max() > 0.5:
            y = x.sin()
        else:
            y = -x
        return y, n, "pos" if (y > 0).all() else "mixed", any(t > 0.3 for t in x), min(x.tolist())

    return f, [lambda: (R(3),), lambda: (R(3) * 4,), lambda: (R(4) * 0.1,)]


@program
def newton_root():
    def f(c):
        x = torch.ones_like(c.detach()).requires_grad_()
        for _ in range(5):
            with torch.enable_grad():
                y = (x**3 - c.detach()).sum()
                (g,) = torch.autograd.grad(y, x)
            x = (x - (x**3 - c.detach()) / g).detach().requires_grad_()
        return x.detach()

    return f, [lambda: (torch.rand(3) + 1,)] * 2 + [lambda: (torch.rand(5) + 1,)]


@program
def langevin_energy():
    net = nn.Sequential(nn.Linear(2, 6), nn.SiLU(), nn.Linear(6, 1))

    def f(x, n):
        x = x.detach().clone()
        for _ in range(n):
            x.requires_grad_(True)
            with torch.enable_grad():
                g = torch.autograd.grad(net(x).sum(), x)[0]
            x = x.detach() - 0.1 * g + 0.01 * torch.randn_like(x)
        return x, net(x)

    return f, [lambda: (R(3, 2), 3)] * 2 + [lambda: (R(4, 2), 2)], net


@program
def neural_ode_rk4():
    net = nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 2))

    def f(x, ts):
        out = [x]
        for a, b in zip(ts[:-1], ts[1:]):
            h = b - a
            k1 = net(x)
            k2 = net(x + h * k1 / 2)
            k3 = net(x + h * k2 / 2)
            k4 = net(x + h * k3)
            x = x + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6
            out.append(x)
        return torch.stack(out)

    return f, [lambda: (R(3, 2), torch.linspace(0, 1, 4))] * 2 + [lambda: (R(2, 2), torch.linspace(0, 1, 3))], net


@program
def style_gram_tv():
    def f(x, s):
        g = lambda t: torch.bmm(t.flatten(2), t.flatten(2).transpose(1, 2)) / (t.shape[1] * t.shape[2] * t.shape[3])
        tv = (x[..., 1:] - x[..., :-1]).abs().mean() + (x[..., 1:, :] - x[..., :-1, :]).abs().mean()
        return F.mse_loss(g(x), g(s)) + 0.1 * tv, x.clamp_(0, 1) if not x.requires_grad else x.clamp(0, 1)

    return f, [lambda: (R(1, 2, 4, 4), R(1, 2, 4, 4))] * 2 + [lambda: (R(2, 2, 5, 3), R(2, 2, 5, 3))]


@program
def tokenizer_like():
    def f(text, vocab, emb):
        ids = [vocab.setdefault(w, len(vocab)) for w in text.lower().split()]
        t = torch.tensor(ids)
        e = emb[t % emb.shape[0]]
        return e.mean(0), t, dict(vocab), " ".join(sorted(vocab, key=vocab.get))

    return f, [
        lambda: ("the cat the dog", {}, R(5, 2)),
        lambda: ("a b c", {"b": 0}, R(5, 2)),
        lambda: ("x", {}, R(3, 2)),
    ]
