"""Programs that keep state, or ask for much of the library: histories, parameters, indexing, dtypes, losses, layers.

Each returns the function, what makes the arguments of each call, and what it changes besides them.
"""

import contextlib
import functools
import io
import random

import numpy as np
import torch
import torch.nn.functional as F
from everyday_comparison import program
from torch import nn, optim

R = torch.randn


@program
def history_across_breaks():
    lin = nn.Linear(3, 3)

    def f(x):
        y = lin(x)
        a, b = y.chunk(2, 0)
        print("mid", tuple(a.shape))
        c = a * 2 + b
        v = y.view(-1)
        print(v.shape[0])
        d = v[1:].sin()
        y2 = y * 1
        y2[0] = 0
        print("again")
        y2.mul_(2)
        w = y2[1]
        print("w")
        w.add_(1)
        return c, d, y2, w

    return f, [lambda: (R(4, 3),)] * 2 + [lambda: (R(6, 3),)], lin


@program
def versions_and_saved():
    def f(x):
        y = x.exp()
        z = y * 2
        if not y.requires_grad:
            y.add_(1)
        w = x.clone()
        w[0] = w[1] * 2
        w.pow_(2)
        return y, z, w, w._version, y._version, x._version

    return f, [lambda: (R(3),)] * 2 + [lambda: (R(4),)]


@program
def backward_twice_error():
    lin = nn.Linear(2, 1)

    def f(x, keep):
        l = lin(x).pow(2).sum()
        l.backward(retain_graph=keep)
        try:
            l.backward()
            return "fine"
        except RuntimeError as e:
            return str(e)[:60]

    return f, [lambda: (R(2, 2), True), lambda: (R(2, 2), False), lambda: (R(3, 2), True)], [lin]


@program
def leaf_in_place_error():
    p = nn.Parameter(torch.ones(3))

    def f(x):
        try:
            p.add_(x.detach())
        except RuntimeError as e:
            a = str(e)
        try:
            p[0] = 1.0
        except RuntimeError as e:
            b = str(e)
        try:
            p.data.add_(1)
            p.requires_grad_(True)[1:].mul_(2)
        except RuntimeError as e:
            c = str(e)
        with torch.no_grad():
            p.sub_(0.1 * x.detach())
        return a, b, c, p.sum()

    return f, [lambda: (R(3),)] * 3, nn.ParameterList([p])


@program
def freeze_and_thaw():
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))

    def f(x, frozen):
        for p in net[0].parameters():
            p.requires_grad = not frozen
        y = net(x)
        return y, [n for n, p in net.named_parameters() if p.requires_grad]

    return (
        f,
        [lambda: (R(2, 2), True), lambda: (R(2, 2), False), lambda: (R(3, 2), True), lambda: (R(3, 2), False)],
        net,
    )


@program
def tied_weights():
    class T(nn.Module):
        def __init__(self):
            super().__init__()
            self.e = nn.Embedding(5, 3)
            self.o = nn.Linear(3, 5, bias=False)
            self.o.weight = self.e.weight

        def forward(self, i):
            return self.o(self.e(i).mean(1))

    m = T()
    opt = optim.SGD(m.parameters(), 0.1)

    def f(i):
        opt.zero_grad()
        l = F.cross_entropy(m(i), i[:, 0])
        l.backward()
        opt.step()
        return l, m.o.weight is m.e.weight, sum(1 for _ in m.parameters())

    return f, [lambda: (torch.randint(0, 5, (2, 3)),)] * 3 + [lambda: (torch.randint(0, 5, (3, 3)),)], m


@program
def detach_requires_chain():
    def f(x):
        a = x.detach()
        a2 = a.clone().requires_grad_(True)
        b = (a2**2).sum()
        b.backward()
        c = a2.grad * 2
        a2.grad = None
        d = a2.detach_() if a2.is_leaf else a2
        return a, c, d.requires_grad, a.data_ptr() == x.data_ptr(), a2.grad is None

    return f, [lambda: (R(3),)] * 2 + [lambda: (R(5),)]


@program
def decorators_no_grad():
    @torch.no_grad()
    def ev(m, x):
        return m(x), torch.is_grad_enabled()

    @torch.enable_grad()
    def tr(m, x):
        return m(x), torch.is_grad_enabled()

    @torch.inference_mode()
    def inf(m, x):
        return m(x).clone(), torch.is_inference_mode_enabled()

    m = nn.Linear(2, 2)

    def f(x):
        a, b, c = ev(m, x), tr(m, x), inf(m, x)
        prev = torch.is_grad_enabled()
        torch.set_grad_enabled(False)
        d = m(x)
        torch.set_grad_enabled(prev)
        return a, b, c, d, torch.is_grad_enabled()

    return f, [lambda: (R(2, 2),)] * 2 + [lambda: (R(3, 2),)], m


@program
def numpy_bridge():
    def f(x):
        a = x.detach().numpy()
        a2 = a * 2
        t = torch.from_numpy(a2)
        t.add_(1)
        b = np.asarray(x.detach()).sum()
        u = torch.tensor(a.mean())
        v = torch.as_tensor(a)
        v2 = v[0]
        return (
            t,
            a2.dtype.name,
            float(b),
            u,
            v.shape,
            v2,
            torch.from_numpy(np.arange(3)),
            x.detach().cpu().numpy().tolist(),
        )

    return f, [lambda: (R(3, 2),)] * 2 + [lambda: (R(4, 2),)]


@program
def saved_and_loaded():
    net = nn.Linear(2, 2)

    def f(x):
        b = io.BytesIO()
        torch.save(net.state_dict(), b)
        b.seek(0)
        sd = torch.load(b, weights_only=True)
        with torch.no_grad():
            net.weight.add_(1)
        y = net(x)
        net.load_state_dict(sd)
        return y, net(x), sorted(sd)

    return f, [lambda: (R(2, 2),)] * 3, net


@program
def indexing_zoo():
    def f(x, i, m):
        return (
            x[..., None],
            x[:, -1],
            x[::2, 1:3],
            x[-1:, ...],
            x[None, :, None],
            x[i],
            x[i, i],
            x[:, i],
            x[i[:, None], i[None]],
            x[m.nonzero().squeeze(1)] if m.any() else x,
            x[0, 1],
            x[(0, 1)],
            x[[0, 1]],
            x[[0, 1], [1, 0]],
            x[True],
            x[1:0],
            x[:, :, None][:, 0],
            x[...],
            x[torch.tensor(1)],
            x[slice(None), slice(0, 2)],
            x[range(2)],
            x[i.tolist()],
            x[:, torch.tensor([True, False, True, False])],
            x[np.int64(1)],
            x[-2],
        )

    return f, [lambda: (R(3, 4), torch.tensor([0, 2]), torch.tensor([True, False, True]))] * 2 + [
        lambda: (R(5, 4), torch.tensor([1, 1]), torch.tensor([True, False, True, False, False]))
    ]


@program
def index_writes_zoo():
    def f(x, i, v):
        a = x.clone()
        a[i] = v
        a[:, 0] = 1
        a[..., -1] += 2
        a[0, 1:3] = torch.tensor([5.0, 6.0])
        a[i, i] = 0.5
        a[a > 1] = 1
        a[[0], :2] *= 2
        a[None] = a[None] * 1
        b = torch.zeros(3, 4, dtype=x.dtype)
        b.index_copy_(0, i, x[i])
        b.index_fill_(1, torch.tensor([0]), 3.0)
        b.scatter_(1, torch.tensor([[1], [2], [3]]), x[:3, :1])
        b.masked_fill_(b > 2, -1)
        b.index_add_(0, i, x[i], alpha=0.5)
        b.put_(torch.tensor([0, 1]), torch.tensor([9.0, 8.0], dtype=x.dtype))
        c = torch.take_along_dim(x, x.argsort(1), 1)
        d = x.take(torch.tensor([0, 3]))
        e = torch.zeros(4, dtype=torch.long)
        e[1:] = torch.arange(3)
        e[0] = 2.7 if False else 2
        return a, b, c, d, e, x.diag() if x.dim() == 2 else 0, torch.diag_embed(x[0]), x.tril(), x.roll(1, 0), x.rot90()

    return f, [lambda: (R(3, 4), torch.tensor([0, 2]), R(2, 4))] * 2 + [
        lambda: (R(4, 4), torch.tensor([1, 3]), R(2, 4))
    ]


@program
def integers_zoo():
    def f(a, b):
        return (
            a // b,
            a % b,
            torch.div(a, b, rounding_mode="trunc"),
            torch.fmod(a, b),
            torch.remainder(a, b),
            a / b,
            -a // 2,
            a.to(torch.uint8),
            a.to(torch.int8),
            (a * 100).to(torch.uint8) + 200,
            a << 2,
            a >> 1,
            a & b,
            a | b,
            a ^ b,
            ~a,
            a**2,
            a.abs(),
            a.sign(),
            torch.bitwise_left_shift(a, 1),
            torch.gcd(a, b),
            a.float().round(),
            torch.tensor([0.5, 1.5, 2.5, -0.5]).round(),
            torch.tensor([-1.5, 1.5]).to(torch.int),
            torch.tensor([1.9, -1.9]).long(),
            a.bool(),
            a.sum(dtype=torch.int32),
            a.prod(),
            a.float().mean(),
            a.max(),
            a.argmax(),
            torch.iinfo(a.dtype).max,
            a.bitwise_not(),
            a.clamp(min=2),
            (a > 2).sum(),
            (a > 2).float().std(),
            torch.cumsum(a > 2, 0),
            a.float().var(unbiased=False),
            torch.floor_divide(a, 2),
            7 // b,
            7 % b,
            2 ** b.abs(),
            a.numel() // 2,
            a.shape[0] / 2,
        )

    return f, [lambda: (torch.tensor([-7, 7, 5]), torch.tensor([2, -2, 3]))] * 2 + [
        lambda: (torch.tensor([-7, 7, 5, 9], dtype=torch.int32), torch.tensor([2, -2, 3, -4], dtype=torch.int32))
    ]


@program
def special_floats():
    def f(x):
        z = torch.zeros_like(x)
        n = z / z
        i = 1 / z
        return (
            torch.isnan(n),
            i,
            -i,
            n == n,
            torch.maximum(n, x),
            torch.max(torch.stack([n, x]), 0).values,
            n.nan_to_num(3.0),
            torch.nanmean(torch.cat([n, x])),
            (-z),
            torch.copysign(x, -z),
            torch.signbit(-z),
            z * -1,
            torch.clamp(n, 0, 1),
            torch.sort(torch.cat([x, n[:1], i[:1]])).values,
            torch.argmax(torch.cat([x, n[:1]])),
            n.sum(),
            torch.nansum(n),
            i - i,
            torch.sqrt(-x.abs() - 1),
            torch.log(z),
            x.log1p(),
            torch.relu(n),
            F.softmax(torch.cat([x, -i[:1]]), 0),
            torch.logsumexp(-i, 0),
            torch.where(torch.isinf(i), x, n),
            torch.equal(n, n),
            torch.allclose(n, n, equal_nan=True),
            i.isfinite().any(),
            x.floor(),
            x.ceil(),
            x.trunc(),
            x.frac(),
            torch.hypot(x, x),
            torch.atan2(z, -z),
            x.sign(),
            x.new_full((2,), float("nan")),
            torch.tensor(float("inf")).item(),
        )

    return f, [lambda: (R(3),)] * 2 + [lambda: (R(4),)]


@program
def texts_of_tensors():
    def f(x):
        return (
            str(x),
            repr(x.detach()[0]),
            f"{x[0]:.3f}",
            "%s" % x.shape,
            "{}".format(x.dtype),
            f"{x.sum().item():>8.2f}|{x.shape}",
            str(x.size()),
            repr(x.device),
            f"{x.mean():.2e}",
        )

    return f, [lambda: (torch.arange(3.0),)] * 2 + [lambda: (torch.arange(4.0),)]


@program
def keyed_by_tensors():
    def f(a, b):
        d = {a: 1, b: 2}
        d[a] += 5
        s = {a, b, a}
        l = [a, b]
        return (
            d[a],
            len(s),
            a in d,
            any(t is b for t in l),
            hash(a) == hash(a),
            [d[t] for t in l],
            id(a) == id(l[0]),
            a.new_zeros(1) is a,
        )

    return f, [lambda: (R(2), R(2))] * 3


@program
def python_flow():
    def rec(x, n):
        return x if n == 0 else rec(x * 2 + n, n - 1)

    def f(x, k):
        for i in range(5):
            if i == k:
                break
            x = x + i
        else:
            x = x * 100
        while (k := k - 1) > 0:
            x = x - 1
        match x.dim():
            case 1:
                y = rec(x, 3)
            case 2:
                y = x.sum(0)
            case _:
                y = x
        head, *rest = y.unbind(0)
        *_, last = rest
        try:
            assert x.shape[0] < 4, f"got {x.shape}"
            r = {**{"a": head}, "b": last}
        except AssertionError as e:
            r = str(e)
        else:
            r["c"] = [v for v in rest if v is not last]
        finally:
            z = y.sum()
        return r, z, (lambda *a, **k: (len(a), sorted(k)))(1, 2, q=3)

    return f, [lambda: (R(3), 2), lambda: (R(3), 9), lambda: (R(5), 1), lambda: (R(3, 3), 3)]


@program
def state_in_objects():
    total = [0.0]
    count = {"n": 0}

    class M:
        calls = 0

        def __init__(self):
            self.hist = []
            self.best = None

        def __call__(self, x):
            M.calls += 1
            self.hist.append(x.mean().detach())
            self.best = x if self.best is None else torch.maximum(self.best, x)
            count["n"] += x.numel()
            total[0] = total[0] + 1.5
            self.last = x
            return self

    m = M()

    def f(x):
        nonlocal total
        m(x.detach())
        m(x.detach() + 1)
        setattr(m, "extra", x.shape[0])
        del m.last
        return torch.stack(m.hist), m.best, getattr(m, "none", None), M.calls, hasattr(m, "last"), count["n"]

    return f, [lambda: (R(3),)] * 4, [m, total, count]


@program
def cached_masks():
    @functools.lru_cache(maxsize=None)
    def mask(n):
        return torch.triu(torch.full((n, n), float("-inf")), 1)

    class A(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("m", None, persistent=False)
            self.cache = {}

        def forward(self, x):
            n = x.shape[-1]
            if self.m is None or self.m.shape[0] < n:
                self.m = mask(n)
            if n not in self.cache:
                self.cache[n] = torch.arange(n)
            return (x + self.m[:n, :n]).softmax(-1), self.cache[n]

    a = A()
    return (lambda x: a(x)), [lambda: (R(3, 3),), lambda: (R(3, 3),), lambda: (R(4, 4),), lambda: (R(2, 2),)], a


@program
def dataset_loop():
    class D(torch.utils.data.Dataset):
        def __init__(self, x):
            self.x = x

        def __len__(self):
            return len(self.x)

        def __getitem__(self, i):
            return self.x[i], i % 2

    net = nn.Linear(2, 2)
    opt = optim.SGD(net.parameters(), 0.1)

    def f(x):
        dl = torch.utils.data.DataLoader(D(x), batch_size=2, shuffle=True)
        tot = 0.0
        n = 0
        for b, (xb, yb) in enumerate(dl):
            opt.zero_grad()
            l = F.cross_entropy(net(xb), yb)
            l.backward()
            opt.step()
            tot += l.item() * len(xb)
            n += len(xb)
        return tot / n, b

    return f, [lambda: (R(5, 2).detach(),)] * 2 + [lambda: (R(4, 2),)], [net]


@program
def unique_and_hist():
    def f(x, b):
        u, inv, c = torch.unique(x, return_inverse=True, return_counts=True)
        return (
            u,
            inv,
            c,
            torch.bincount(x),
            torch.histc(x.float(), 4, 0, 8),
            torch.bucketize(x, b),
            torch.searchsorted(b, x, right=True),
            x.unique_consecutive(),
            torch.isin(x, b),
            x.mode().values,
            torch.topk(x.unique(), 2).values,
            torch.combinations(x[:3]),
            torch.cartesian_prod(x[:2], b[:2]),
            x.median(),
            torch.quantile(x.float(), 0.3),
            x.kthvalue(2).values,
            torch.vander(b),
        )

    return f, [lambda: (torch.tensor([3, 1, 3, 7, 1]), torch.tensor([1, 3, 5]))] * 2 + [
        lambda: (torch.tensor([0, 1, 2, 2]), torch.tensor([1, 2, 4]))
    ]


@program
def half_types():
    lin = nn.Linear(4, 3).bfloat16()
    ln = nn.LayerNorm(4)

    def f(x):
        x = x.detach()
        h = x.bfloat16()
        y = lin(h)
        z = ln(x).to(torch.float16)
        return (
            y,
            z.softmax(-1),
            (h * h).sum(),
            (z + h).dtype,
            z @ z.T,
            h.float().exp(),
            y.argmax(-1),
            torch.finfo(y.dtype).eps,
            y.to(x.dtype) + 1,
            h.mean(0),
            z.std(),
        )

    return f, [lambda: (R(2, 4),)] * 2 + [lambda: (R(3, 4),)], lin


@program
def conv_layouts():
    c = nn.Conv2d(2, 3, 3, padding=1)

    def f(x):
        x = x.contiguous(memory_format=torch.channels_last)
        y = c(x)
        z = F.max_pool2d(y, 2)
        w = z.permute(0, 2, 3, 1)
        return (
            y,
            y.is_contiguous(memory_format=torch.channels_last),
            z,
            w.reshape(w.shape[0], -1, 3),
            F.adaptive_avg_pool2d(y, 1).flatten(1),
            F.pixel_shuffle(torch.cat([y, y[:, :1]], 1), 2),
            F.unfold(x, 2),
            x.mean((2, 3)),
            y.sum(1, keepdim=True),
            F.avg_pool2d(y, 2, ceil_mode=True),
            F.interpolate(y, size=(3, 3)),
            torch.cat([x, y], 1),
            F.pad(y, (1, 0)),
            y[:, :, ::2],
        )

    return f, [lambda: (R(1, 2, 4, 4),)] * 2 + [lambda: (R(2, 2, 5, 6),)], c


@program
def distributions_many():
    D = torch.distributions

    def f(loc, sc, lg):
        n = D.Normal(loc, sc)
        c = D.Categorical(logits=lg)
        b = D.Bernoulli(logits=loc)
        i = D.Independent(n, 1)
        g = D.Gamma(sc, sc)
        t = D.TransformedDistribution(n, [D.TanhTransform()])
        be = D.Beta(sc, sc + 1)
        s = n.rsample()
        return (
            n.log_prob(s),
            c.entropy(),
            b.log_prob((loc > 0).to(loc.dtype)),
            i.log_prob(s),
            D.kl_divergence(n, D.Normal(torch.zeros_like(loc), torch.ones_like(sc))),
            g.log_prob(sc),
            t.log_prob(torch.tanh(s) * 0.9),
            be.mean,
            c.sample((2,)).shape,
            n.cdf(s),
            n.icdf(torch.full_like(loc, 0.3)),
            c.probs,
            D.kl_divergence(c, D.Categorical(logits=lg * 2)),
            be.log_prob(torch.full_like(sc, 0.4)),
        )

    return f, [lambda: (R(3), torch.rand(3) + 0.5, R(2, 4))] * 2 + [lambda: (R(4), torch.rand(4) + 0.5, R(3, 4))]


@program
def dist_bad_args():
    def f(p):
        try:
            return torch.distributions.Normal(p, -p.abs() - 1).sample()
        except ValueError as e:
            return str(e)[:60]

    return f, [lambda: (R(2),)] * 3


@program
def cross_entropy_variants():
    def f(x, y, w):
        w = w.detach()
        return (
            F.cross_entropy(x, y, weight=w),
            F.cross_entropy(x, y, label_smoothing=0.1, reduction="none"),
            F.cross_entropy(x, F.one_hot(y, 3).to(x.dtype)),
            F.nll_loss(x.log_softmax(1), y, reduction="sum"),
            F.kl_div(x.log_softmax(1), w.expand_as(x).softmax(1), reduction="batchmean"),
            F.multi_margin_loss(x, y),
            F.hinge_embedding_loss(x, torch.where(x > 0, 1.0, -1.0)),
            F.smooth_l1_loss(x, x.detach() * 2, beta=0.5),
            F.huber_loss(x, x.detach() + 1),
            F.binary_cross_entropy(x.sigmoid(), (x > 0).to(x.dtype)),
            F.poisson_nll_loss(x, x.detach().abs()),
            F.gaussian_nll_loss(x, x.detach(), torch.ones_like(x)),
            F.margin_ranking_loss(x[:, 0], x[:, 1], torch.ones(len(x))),
            F.cosine_similarity(x, x + 1),
            F.pairwise_distance(x, x + 1),
            F.triplet_margin_loss(x, x + 1, x - 1),
            F.soft_margin_loss(x, torch.ones_like(x)),
            F.multilabel_soft_margin_loss(x, (x > 0).to(x.dtype)),
        )

    return f, [lambda: (R(4, 3), torch.tensor([0, 2, 1, 0]), torch.rand(3))] * 2 + [
        lambda: (R(5, 3), torch.tensor([0, 2, 1, 0, 0]), torch.rand(3))
    ]


@program
def transformer_layers():
    enc = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), 2, enable_nested_tensor=False
    )
    dec = nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    mha = nn.MultiheadAttention(8, 2, batch_first=True)

    def f(x, pad):
        m = enc(x, src_key_padding_mask=pad)
        t = x.shape[1]
        y = dec(
            x, m, tgt_mask=nn.Transformer.generate_square_subsequent_mask(t).to(x.dtype), memory_key_padding_mask=pad
        )
        a, w = mha(y, m, m, key_padding_mask=pad, average_attn_weights=False)
        s = F.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None], is_causal=True)
        return m, y, a, w, s

    return (
        f,
        [lambda: (R(2, 3, 8), torch.tensor([[False, False, True], [False] * 3]))] * 2
        + [lambda: (R(1, 4, 8), torch.zeros(1, 4, dtype=torch.bool))],
        [enc, dec, mha],
    )


@program
def linalg_many():
    def f(a, b):
        s = a @ a.mT + 3 * torch.eye(a.shape[0], dtype=a.dtype)
        q, r = torch.linalg.qr(a)
        u, sv, vh = torch.linalg.svd(a)
        w, v = torch.linalg.eigh(s)
        return (
            torch.linalg.solve(s, b),
            torch.linalg.inv(s),
            torch.det(s),
            torch.slogdet(s).logabsdet,
            q @ r,
            sv,
            w,
            torch.linalg.norm(a),
            torch.linalg.matrix_norm(a, "fro"),
            torch.linalg.vector_norm(a, 3),
            torch.trace(a),
            torch.linalg.matrix_power(a, 3),
            torch.linalg.lstsq(s, b).solution,
            torch.linalg.pinv(a),
            torch.linalg.matrix_rank(s),
            torch.cross(R(2, 3), R(2, 3), dim=1).shape,
            torch.matrix_exp(a * 0.1),
            torch.linalg.cond(s),
            torch.outer(a[0], a[1]),
            a.mm(a).addmm(a, a, alpha=2),
            torch.baddbmm(a[None], a[None], a[None]),
            torch.chain_matmul(a, a, a) if False else a,
            torch.linalg.multi_dot([a, a, b]),
            a.mv(a[0]),
            torch.dot(a[0], a[1]),
            torch.addcmul(a, a, a, value=0.5),
            torch.cov(a),
            torch.corrcoef(a),
        )

    return f, [lambda: (R(3, 3), R(3, 2))] * 2 + [lambda: (R(4, 4), R(4, 1))]


@program
def ode_events_generator_ctx():
    @contextlib.contextmanager
    def frozen(params):
        old = [p.requires_grad for p in params]
        for p in params:
            p.requires_grad_(False)
        try:
            yield
        finally:
            for p, o in zip(params, old):
                p.requires_grad_(o)

    net = nn.Linear(2, 2)
    crit = nn.Linear(2, 1)

    def f(x):
        with frozen(list(crit.parameters())):
            l = -crit(net(x)).mean()
        return l, crit(net(x).detach()).mean(), [p.requires_grad for p in crit.parameters()]

    return f, [lambda: (R(2, 2),)] * 2 + [lambda: (R(3, 2),)], [net, crit]


@program
def optimizer_groups_schedule():
    net = nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3), nn.Linear(3, 1))
    dec = [p for n, p in net.named_parameters() if p.ndim > 1]
    nod = [p for n, p in net.named_parameters() if p.ndim <= 1]
    opt = optim.AdamW([{"params": dec, "weight_decay": 0.1}, {"params": nod, "weight_decay": 0.0}], lr=1e-2)
    sch = optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 3))

    def f(x, it):
        for g in opt.param_groups:
            g["lr"] = g["lr"] * 0.99
        opt.zero_grad(set_to_none=it % 2 == 0)
        l = net(x).square().mean()
        l.backward()
        tot = sum(p.grad.norm() ** 2 for p in net.parameters() if p.grad is not None) ** 0.5
        for p in net.parameters():
            p.grad.mul_(1 / max(1.0, 2.0))
        opt.step()
        sch.step()
        return l, tot, [g["lr"] for g in opt.param_groups]

    return f, [lambda i=i: (R(3, 2), i) for i in range(4)], [net, opt]


@program
def grads_by_hand():
    w = nn.Parameter(R(3, 2))
    b = nn.Parameter(torch.zeros(2))

    def f(x, y):
        l = F.cross_entropy(x @ w + b, y)
        gw, gb = torch.autograd.grad(l, [w, b])
        with torch.no_grad():
            w.sub_(gw, alpha=0.1)
            b.sub_(0.1 * gb)
        w.grad = gw.clone()
        return l, gw.norm(), w.grad is not gw

    return (
        f,
        [lambda: (R(4, 3), torch.randint(0, 2, (4,)))] * 2 + [lambda: (R(5, 3), torch.randint(0, 2, (5,)))],
        nn.ParameterList([w, b]),
    )


@program
def weight_clip_and_noise():
    net = nn.Linear(2, 2)

    def f(x):
        for p in net.parameters():
            p.data.clamp_(-0.3, 0.3)
        with torch.no_grad():
            for p in net.parameters():
                p += torch.randn(p.shape) * 0.01
                p.copy_(p * 0.9)
            nn.init.xavier_uniform_(net.weight)
            nn.init.zeros_(net.bias)
            nn.init.normal_(net.bias, std=0.1)
        return net(x)

    return f, [lambda: (R(2, 2),)] * 2 + [lambda: (R(3, 2),)], net


@program
def module_surgery():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())

    def f(x, k):
        if k == 1:
            net[1] = nn.Tanh()
        if k == 2:
            net.append(nn.Linear(2, 1))
            net[2].weight.data.fill_(1.0)
        if k == 3:
            net[0].weight = nn.Parameter(torch.eye(2))
            del net[0].bias
            net[0].register_parameter("bias", None)
        return net(x), len(net), [type(m).__name__ for m in net.children()]

    return f, [lambda k=k: (R(2, 2), k) for k in range(4)], [net]


@program
def getattr_modules():
    class Dyn(nn.Module):
        def __init__(self):
            super().__init__()
            for i in range(2):
                setattr(self, f"l{i}", nn.Linear(2, 2))
                self.register_buffer(f"b{i}", torch.ones(2) * i)
            self.scale = 2.0

        def __getattr__(self, n):
            if n.startswith("virt_"):
                return super().__getattr__(n[5:])
            return super().__getattr__(n)

        @property
        def total(self):
            return sum(getattr(self, f"b{i}") for i in range(2))

        def forward(self, x):
            for i in range(2):
                x = getattr(self, f"virt_l{i}")(x) + self.total * self.scale
            return x

        def extra_repr(self):
            return "dyn"

    m = Dyn()
    return (
        (lambda x: (m(x), repr(m)[:10], len(list(m.named_buffers())))),
        [lambda: (R(2, 2),)] * 2 + [lambda: (R(3, 2),)],
        m,
    )


@program
def vmap_things():
    def f(x, w):
        a = torch.vmap(lambda v: v @ w)(x)
        b = torch.func.vmap(torch.dot, in_dims=(0, 0))(x, x)
        g, v = torch.func.grad_and_value(lambda t: (t @ w).pow(2).sum())(x)
        return a + 1, b, g, v, torch.func.jvp(torch.sin, (x,), (x,))[1]

    return f, [lambda: (R(3, 2), R(2, 2))] * 2 + [lambda: (R(4, 2), R(2, 2))]


@program
def scripted_helpers():
    @torch.jit.script
    def gelu(x):
        return x * 0.5 * (1.0 + torch.erf(x / 1.41421))

    def f(x):
        return gelu(x) + 1, torch.jit.is_scripting()

    return f, [lambda: (R(3),)] * 2 + [lambda: (R(4),)]


@program
def strides_of_grads():
    def f(x):
        y = x.t().contiguous() * 2
        z = x.t() * 2
        w = (x @ x.t()).t() + 1
        e = x.expand(2, *x.shape).sum(0)
        return y, z, w, e, x.t().relu(), x.permute(1, 0).reshape(-1)

    return f, [lambda: (R(3, 4),)] * 2 + [lambda: (R(4, 2),)]


@program
def residual_in_place():
    c1, c2, bn = nn.Conv2d(2, 2, 3, padding=1), nn.Conv2d(2, 2, 3, padding=1), nn.BatchNorm2d(2)

    def f(x):
        idn = x
        o = F.relu(bn(c1(x)), inplace=True)
        o = c2(o)
        o += idn
        return F.relu_(o)

    return f, [lambda: (R(2, 2, 4, 4),)] * 2 + [lambda: (R(1, 2, 5, 5),)], [c1, c2, bn]


@program
def exceptions_chain():
    class Bad(Exception):
        def __init__(self, t):
            super().__init__(f"bad {tuple(t.shape)}")
            self.t = t

    def check(x):
        if x.shape[0] % 2:
            raise Bad(x)
        return x + 1

    def f(x):
        try:
            return check(x), "ok"
        except Bad as e:
            y = e.t * 2
            try:
                raise ValueError("outer") from e
            except ValueError as v:
                return y, str(v), type(v.__cause__).__name__, v.__cause__.t is x, str(v.__context__)

    return f, [lambda: (R(2),), lambda: (R(3),), lambda: (R(3),), lambda: (R(4),)]


@program
def global_rng_and_generator():
    g = torch.Generator()

    def f(n):
        g.manual_seed(3)
        a = torch.rand(n, generator=g)
        torch.manual_seed(5)
        b = torch.randn(n)
        s = torch.get_rng_state()
        c = torch.rand(2)
        torch.set_rng_state(s)
        d = torch.rand(2)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(9)
            e = torch.randperm(n)
        return (
            a,
            b,
            c,
            d,
            e,
            torch.rand(1),
            torch.randint_like(b.long(), 5),
            torch.bernoulli(torch.full((n,), 0.5)),
            random.random(),
            np.random.RandomState(1).rand(),
        )

    return f, [(3,), (3,), (4,)]
