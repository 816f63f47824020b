"""What people do every day around models: hooks, flows, experts, detection, audio, quantisation, training loops.

Each returns the function, what makes the arguments of each call, and what it changes besides them.
"""

import copy

import torch
import torch.nn.functional as F
from everyday_comparison import program
from torch import nn, optim

R = torch.randn


# ---------- modules with hooks and buffers
@program
def hooked_features():
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    feats = {}

    def save(name):
        def hook(m, i, o):
            feats[name] = o.detach()

        return hook

    for i, m in enumerate(net):
        m.register_forward_hook(save(f"l{i}"))
    net[0].register_forward_pre_hook(lambda m, i: (i[0] * 2,))

    def f(x):
        y = net(x)
        return y, dict(feats)

    return f, [lambda: (R(2, 3),)] * 2 + [lambda: (R(4, 3),)], [net, feats]


@program
def running_stats():
    class Norm(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(3))
            self.register_buffer("var", torch.ones(3))
            self.register_buffer("count", torch.tensor(1e-4))

        def update(self, x):
            bm, bv, bc = x.mean(0), x.var(0, unbiased=False), x.shape[0]
            d = bm - self.mean
            tot = self.count + bc
            m2 = self.var * self.count + bv * bc + d**2 * self.count * bc / tot
            self.mean = self.mean + d * bc / tot
            self.var = m2 / tot
            self.count = tot

        def forward(self, x):
            if self.training:
                self.update(x.detach())
            return ((x - self.mean) / torch.sqrt(self.var + 1e-8)).clip(-5, 5)

    m = Norm()

    def f(x, train):
        m.train(train)
        return m(x)

    return f, [lambda: (R(4, 3), True), lambda: (R(4, 3), True), lambda: (R(5, 3), False), lambda: (R(5, 3), True)], m


@program
def full_backward_hook():
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    seen = []
    net[2].register_full_backward_hook(lambda m, gi, go: seen.append(go[0].sum().item()))

    def f(x):
        return net(x)

    return f, [lambda: (R(2, 3),)] * 3, [net, seen]


@program
def tensor_hooks():
    log = []

    def f(x):
        y = x * 2
        if y.requires_grad:
            y.register_hook(lambda g: log.append(g.clone()) or g * 3)
            y.retain_grad()
        return y.sin().sum(), y

    return f, [lambda: (R(3),)] * 3, log


# ---------- flows
@program
def coupling_flow():
    class C(nn.Module):
        def __init__(self, flip):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 4))
            self.flip = flip

        def forward(self, x):
            a, b = x.chunk(2, -1)
            if self.flip:
                a, b = b, a
            s, t = self.net(a).chunk(2, -1)
            s = torch.tanh(s)
            b = b * s.exp() + t
            return torch.cat([b, a] if self.flip else [a, b], -1), s.sum(-1)

        def inverse(self, y):
            a, b = y.chunk(2, -1)
            if self.flip:
                a, b = b, a
            s, t = self.net(a).chunk(2, -1)
            s = torch.tanh(s)
            b = (b - t) * torch.exp(-s)
            return torch.cat([b, a] if self.flip else [a, b], -1)

    ls = nn.ModuleList([C(i % 2 == 1) for i in range(3)])

    def f(x):
        ld = x.new_zeros(x.shape[0])
        z = x
        for l in ls:
            z, d = l(z)
            ld += d
        back = z
        for l in reversed(ls):
            back = l.inverse(back)
        lp = torch.distributions.MultivariateNormal(
            torch.zeros(4, dtype=x.dtype), torch.eye(4, dtype=x.dtype)
        ).log_prob(z)
        return -(lp + ld).mean(), back

    return f, [lambda: (R(3, 4),)] * 2 + [lambda: (R(5, 4),)], ls


@program
def planar_flow():
    u, w, b = nn.Parameter(R(3)), nn.Parameter(R(3)), nn.Parameter(torch.zeros(1))

    def f(z):
        wu = (w * u).sum()
        uh = u + ((-1 + F.softplus(wu)) - wu) * w / (w**2).sum()
        h = torch.tanh(z @ w + b)
        psi = (1 - h**2).unsqueeze(-1) * w
        return z + uh * h.unsqueeze(-1), (1 + psi @ uh).abs().log()

    return f, [lambda: (R(3, 3),)] * 2 + [lambda: (R(5, 3),)], nn.ParameterList([u, w, b])


@program
def rq_spline():
    def f(x, w, h, d):
        w = F.softmax(w, -1)
        h = F.softmax(h, -1)
        d = F.softplus(d) + 1e-3
        cw = F.pad(torch.cumsum(w, -1), (1, 0))
        ch = F.pad(torch.cumsum(h, -1), (1, 0))
        idx = torch.searchsorted(cw[..., 1:-1].contiguous(), x[..., None]).squeeze(-1)
        g = lambda t: t.gather(-1, idx[..., None])[..., 0]
        xw, xh, x0, y0, d0, d1 = g(w), g(h), g(cw[..., :-1]), g(ch[..., :-1]), g(d), g(d.roll(-1, -1))
        t = (x - x0) / xw
        s = xh / xw
        num = xh * (s * t**2 + d0 * t * (1 - t))
        den = s + (d1 + d0 - 2 * s) * t * (1 - t)
        return y0 + num / den

    c = lambda n: lambda: (torch.rand(n), R(n, 5), R(n, 5), R(n, 5))
    return f, [c(4), c(4), c(6)]


# ---------- MoE
@program
def moe_masked():
    class MoE(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(4, 3, bias=False)
            self.experts = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])

        def forward(self, x):
            b, t, d = x.shape
            x = x.view(-1, d)
            logits = self.gate(x)
            rw = F.softmax(logits, dim=1, dtype=torch.float)
            rw, sel = torch.topk(rw, 2, dim=-1)
            rw = rw / rw.sum(-1, keepdim=True)
            rw = rw.to(x.dtype)
            final = torch.zeros((b * t, d), dtype=x.dtype)
            mask = F.one_hot(sel, num_classes=3).permute(2, 1, 0)
            for e in range(3):
                idx, top = torch.where(mask[e])
                cur = x[None, top].reshape(-1, d)
                h = self.experts[e](cur) * rw[top, idx, None]
                final.index_add_(0, top, h.to(x.dtype))
            return final.reshape(b, t, d), logits

    m = MoE()
    return (lambda x: m(x)), [lambda: (R(2, 3, 4),)] * 2 + [lambda: (R(1, 5, 4),)], m


@program
def moe_capacity():
    gate, w1 = nn.Linear(4, 3), nn.Parameter(R(3, 4, 4) * 0.4)

    def f(x, cap):
        p = gate(x).softmax(-1)
        g, e = p.max(-1)
        oh = F.one_hot(e, 3)
        pos = (oh.cumsum(0) - 1) * oh
        keep = (pos < cap) & (oh > 0)
        disp = keep[..., None] & (F.one_hot(pos.clamp(max=cap - 1), cap) > 0)
        xin = torch.einsum("nec,nd->ecd", disp.to(x.dtype), x)
        y = torch.einsum("ecd,edf->ecf", xin, w1)
        comb = disp.to(x.dtype) * g[:, None, None]
        aux = (oh.to(x.dtype).mean(0) * p.mean(0)).sum() * 3
        return torch.einsum("nec,ecf->nf", comb, y), aux

    return f, [lambda: (R(6, 4), 2)] * 2 + [lambda: (R(8, 4), 3)], [gate]


@program
def moe_sorted():
    ws = nn.ParameterList([nn.Parameter(R(4, 4)) for _ in range(3)])

    def f(x, e):
        order = e.argsort(stable=True)
        xs = x[order]
        counts = torch.bincount(e, minlength=3).tolist()
        outs = [p @ w for p, w in zip(xs.split(counts), ws)]
        y = torch.empty_like(x)
        if torch.is_grad_enabled():
            return torch.cat(outs)[order.argsort()]
        y[order] = torch.cat(outs)
        return y

    return f, [lambda: (R(5, 4), torch.randint(0, 3, (5,)))] * 3 + [lambda: (R(4, 4), torch.randint(0, 3, (4,)))], ws


# ---------- detection
def box_iou(a, b):
    area = lambda x: (x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1])
    lt = torch.max(a[:, None, :2], b[:, :2])
    rb = torch.min(a[:, None, 2:], b[:, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[:, :, 0] * wh[:, :, 1]
    return inter / (area(a)[:, None] + area(b) - inter)


def boxes(n):
    p = torch.rand(n, 2) * 10
    return torch.cat([p, p + torch.rand(n, 2) * 6 + 0.5], 1)


@program
def nms_loop():
    def f(bx, sc, thr):
        keep = []
        order = sc.argsort(descending=True)
        while order.numel() > 0:
            i = order[0]
            keep.append(i)
            if order.numel() == 1:
                break
            iou = box_iou(bx[i][None], bx[order[1:]])[0]
            order = order[1:][iou <= thr]
        return torch.stack(keep)

    return f, [lambda: (boxes(6), torch.rand(6), 0.3)] * 2 + [lambda: (boxes(9), torch.rand(9), 0.2)]


@program
def detection_post():
    def f(logits, reg, anchors, thr):
        sc = logits.sigmoid()
        out = []
        wh = anchors[:, 2:] - anchors[:, :2]
        c = anchors[:, :2] + wh / 2
        pc = c + reg[:, :2] * wh
        pw = wh * reg[:, 2:].clamp(max=4).exp()
        bx = torch.cat([pc - pw / 2, pc + pw / 2], 1).clamp(min=0, max=20)
        for k in range(sc.shape[1]):
            m = sc[:, k] > thr
            if m.sum() == 0:
                continue
            b, s = bx[m], sc[m, k]
            w, h = b[:, 2] - b[:, 0], b[:, 3] - b[:, 1]
            ok = torch.where((w >= 0.1) & (h >= 0.1))[0]
            b, s = b[ok], s[ok]
            s, i = s.topk(min(3, s.numel()))
            out.append({"boxes": b[i], "scores": s, "labels": torch.full_like(i, k)})
        return out

    c = lambda n: lambda: (R(n, 3), R(n, 4) * 0.2, boxes(n), 0.4)
    return f, [c(6), c(6), c(8)]


@program
def anchor_matching():
    def f(gt, anchors, lo, hi):
        q = box_iou(gt, anchors)
        v, m = q.max(dim=0)
        allm = m.clone()
        m[v < lo] = -1
        m[(v >= lo) & (v < hi)] = -2
        best, _ = q.max(dim=1)
        up = torch.where(q == best[:, None])[1]
        m[up] = allm[up]
        pos = torch.nonzero(m >= 0).squeeze(1)
        return m, pos, gt[m.clamp(min=0)]

    return f, [lambda: (boxes(2), boxes(7), 0.2, 0.4)] * 2 + [lambda: (boxes(3), boxes(9), 0.2, 0.4)]


@program
def heatmap_peaks():
    def f(h, k):
        p = F.max_pool2d(h, 3, stride=1, padding=1)
        h = torch.where(p == h, h + 1, h)
        b, c, H, W = h.shape
        s, i = torch.topk(h.view(b, c, -1), k)
        i = i % (H * W)
        ys = torch.div(i, W, rounding_mode="trunc").float()
        xs = (i % W).float()
        s2, j = torch.topk(s.view(b, -1), k)
        cl = (j // k).int()
        xs = xs.view(b, -1, 1).gather(1, j.unsqueeze(-1)).view(b, k)
        return s2, cl, xs, ys

    return f, [lambda: (torch.rand(2, 2, 5, 5), 3)] * 2 + [lambda: (torch.rand(1, 3, 6, 4), 4)]


@program
def hungarian_like_cost():
    def f(logits, pb, tl, tb):
        p = logits.flatten(0, 1).softmax(-1)
        cc = -p[:, tl]
        cb = torch.cdist(pb.flatten(0, 1), tb, p=1)
        C = (cc + 5 * cb).view(logits.shape[0], logits.shape[1], -1)
        sizes = [2, 1]
        return [c[i].argmin(0) for i, c in enumerate(C.split(sizes, -1))]

    return f, [lambda: (R(2, 4, 3), torch.rand(2, 4, 4), torch.randint(0, 3, (3,)), torch.rand(3, 4))] * 3


@program
def focal_and_giou():
    def f(x, t, a, b):
        p = torch.sigmoid(x)
        ce = F.binary_cross_entropy_with_logits(x, t, reduction="none")
        pt = p * t + (1 - p) * (1 - t)
        fl = (ce * (1 - pt) ** 2 * (0.25 * t + 0.75 * (1 - t))).sum() / t.sum().clamp(min=1)
        x1 = torch.max(a[:, 0], b[:, 0])
        y1 = torch.max(a[:, 1], b[:, 1])
        x2 = torch.min(a[:, 2], b[:, 2])
        y2 = torch.min(a[:, 3], b[:, 3])
        inter = torch.zeros_like(x1)
        m = (y2 > y1) & (x2 > x1)
        inter[m] = (x2[m] - x1[m]) * (y2[m] - y1[m])
        un = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1]) + (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1]) - inter
        return fl, 1 - inter / (un + 1e-7)

    return f, [lambda: (R(4, 2), torch.randint(0, 2, (4, 2)).float(), boxes(5), boxes(5))] * 2 + [
        lambda: (R(3, 2), torch.zeros(3, 2), boxes(6), boxes(6))
    ]


# ---------- audio
@program
def stft_mel():
    win = torch.hann_window(16)

    def f(w):
        s = torch.stft(w, 16, 4, 16, win.to(w.dtype), return_complex=True)
        mag = s.abs()
        p = mag.pow(2)
        fb = torch.linspace(0, 1, 9 * 4, dtype=w.dtype).view(9, 4)
        mel = torch.matmul(p.transpose(-1, -2), fb).clamp(min=1e-10).log10()
        return torch.maximum(mel, mel.max() - 8.0), torch.angle(s)

    return f, [lambda: (R(2, 64),)] * 2 + [lambda: (R(1, 80),)]


@program
def istft_roundtrip():
    def f(w):
        win = torch.hann_window(16, dtype=w.dtype)
        s = torch.stft(w, 16, 4, window=win, return_complex=True)
        return torch.istft(s * 0.5, 16, 4, window=win, length=w.shape[-1])

    return f, [lambda: (R(64),)] * 2 + [lambda: (R(2, 72),)]


@program
def fft_conv_filters():
    def f(x, k):
        n = x.shape[-1] + k.shape[-1] - 1
        y = torch.fft.irfft(torch.fft.rfft(x, n) * torch.fft.rfft(k, n), n)
        fr = torch.fft.rfftfreq(n, d=1 / 100)
        return y[..., : x.shape[-1]], fr, torch.fft.fftshift(y)

    return f, [lambda: (R(2, 16), R(5))] * 2 + [lambda: (R(1, 20), R(4))]


@program
def preemphasis_frames():
    def f(w, n, hop):
        w = torch.cat([w[:1], w[1:] - 0.97 * w[:-1]])
        fr = w.unfold(0, n, hop)
        e = (fr * torch.hamming_window(n, periodic=False, dtype=w.dtype)).pow(2).sum(-1)
        zcr = ((fr[:, 1:] * fr[:, :-1]) < 0).sum(-1)
        return fr, e, zcr, w.as_strided((3, 4), (2, 1))

    return f, [lambda: (R(40), 8, 4)] * 2 + [lambda: (R(50), 10, 5)]


# ---------- quantisation
@program
def fake_quant_ste():
    def f(w, bits):
        qmax = 2 ** (bits - 1) - 1
        s = w.abs().amax(dim=1, keepdim=True) / qmax
        q = torch.clamp(torch.round(w / s), -qmax - 1, qmax)
        return w + (q * s - w).detach(), q.to(torch.int8), s

    return f, [lambda: (R(3, 4), 8), lambda: (R(3, 4), 4), lambda: (R(5, 4), 8)]


@program
def int4_pack():
    def f(w):
        q = torch.round((w - w.min()) / (w.max() - w.min()) * 15).to(torch.uint8)
        pk = (q[:, ::2] << 4) | q[:, 1::2]
        hi, lo = pk >> 4, pk & 0xF
        un = torch.stack([hi, lo], dim=-1).flatten(1)
        return pk, un, torch.equal(un, q)

    return f, [lambda: (R(3, 4),)] * 2 + [lambda: (R(2, 6),)]


@program
def vector_quantizer():
    class VQ(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("cb", R(5, 3))
            self.register_buffer("n", torch.zeros(5))
            self.register_buffer("avg", self.cb.clone())

        def forward(self, x):
            flat = x.reshape(-1, 3)
            d = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.cb.t() + self.cb.pow(2).sum(1)
            ind = d.argmin(1)
            oh = F.one_hot(ind, 5).type(flat.dtype)
            q = F.embedding(ind.view(x.shape[:-1]), self.cb)
            if self.training:
                self.n.data.mul_(0.9).add_(oh.sum(0), alpha=0.1)
                self.avg.data.mul_(0.9).add_((flat.detach().t() @ oh).t(), alpha=0.1)
                tot = self.n.sum()
                c = (self.n + 1e-5) / (tot + 5e-5) * tot
                self.cb.data.copy_(self.avg / c.unsqueeze(1))
            diff = (q.detach() - x).pow(2).mean()
            perp = torch.exp(-(oh.mean(0) * torch.log(oh.mean(0) + 1e-10)).sum())
            return x + (q - x).detach(), diff, ind, perp

    m = VQ()
    return (lambda x: m(x)), [lambda: (R(2, 4, 3),)] * 2 + [lambda: (R(3, 3, 3),)], m


@program
def dynamic_int8_linear():
    def f(x, w):
        xs = x.abs().amax(-1, keepdim=True) / 127
        ws = w.abs().amax(-1) / 127
        xi = (x / xs).round().to(torch.int8)
        wi = (w / ws[:, None]).round().to(torch.int8)
        acc = torch.matmul(xi.to(torch.int32), wi.to(torch.int32).t())
        return acc.to(x.dtype) * xs * ws, acc

    return f, [lambda: (R(2, 4), R(3, 4))] * 2 + [lambda: (R(5, 4), R(3, 4))]


# ---------- training
@program
def ema_and_clip_accumulate():
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    ema = copy.deepcopy(net).requires_grad_(False)
    opt = optim.AdamW(net.parameters(), lr=0.01, betas=(0.9, 0.95))
    sch = optim.lr_scheduler.CosineAnnealingLR(opt, 10)
    hist = []

    def f(x, y):
        opt.zero_grad(set_to_none=True)
        for xs, ys in zip(x.split(2), y.split(2)):
            (F.mse_loss(net(xs), ys) / 2).backward()
        n = nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        opt.step()
        sch.step()
        with torch.no_grad():
            for a, b in zip(ema.parameters(), net.parameters()):
                a.lerp_(b, 0.1)
        hist.append(n.item())
        return n, sch.get_last_lr()

    return f, [lambda: (R(4, 3), R(4, 1))] * 3 + [lambda: (R(3, 3), R(3, 1))], [net, ema, opt, hist]


@program
def lbfgs():
    x0 = nn.Parameter(torch.tensor([-1.2, 1.0], dtype=torch.float64))
    opt = optim.LBFGS([x0], max_iter=4, line_search_fn="strong_wolfe")

    def f(a):
        def closure():
            opt.zero_grad()
            l = (a - x0[0]) ** 2 + 100 * (x0[1] - x0[0] ** 2) ** 2
            l.backward()
            return l

        return opt.step(closure)

    return f, [(1.0,), (1.0,), (1.0,)], nn.ParameterList([x0])


@program
def own_optimizer():
    class Lion(optim.Optimizer):
        def __init__(self, params, lr=1e-2, b=(0.9, 0.99), wd=0.1):
            super().__init__(params, dict(lr=lr, b=b, wd=wd))

        @torch.no_grad()
        def step(self, closure=None):
            loss = None
            if closure is not None:
                with torch.enable_grad():
                    loss = closure()
            for g in self.param_groups:
                for p in filter(lambda p: p.grad is not None, g["params"]):
                    st = self.state[p]
                    if len(st) == 0:
                        st["m"] = torch.zeros_like(p)
                    p.data.mul_(1 - g["lr"] * g["wd"])
                    u = st["m"].clone().mul_(g["b"][0]).add(p.grad, alpha=1 - g["b"][0]).sign_()
                    p.add_(u, alpha=-g["lr"])
                    st["m"].mul_(g["b"][1]).add_(p.grad, alpha=1 - g["b"][1])
            return loss

    net = nn.Linear(3, 1)
    opt = Lion(net.parameters())

    def f(x):
        def c():
            opt.zero_grad()
            l = net(x).pow(2).mean()
            l.backward()
            return l

        return opt.step(c)

    return f, [lambda: (R(4, 3),)] * 3, [net]


@program
def maml_functional():
    net = nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1))

    def f(x, y, xq, yq):
        ps = dict(net.named_parameters())
        for _ in range(2):
            l = F.mse_loss(torch.func.functional_call(net, ps, (x,)), y)
            gs = torch.autograd.grad(l, list(ps.values()), create_graph=True)
            ps = {k: p - 0.1 * g for (k, p), g in zip(ps.items(), gs)}
        return F.mse_loss(torch.func.functional_call(net, ps, xq), yq)

    c = lambda n: lambda: (R(n, 1), R(n, 1), R(n, 1), R(n, 1))
    return f, [c(3), c(3), c(5)], net


@program
def per_sample_grads():
    net = nn.Linear(3, 1)

    def f(x, y):
        ps = {k: v.detach() for k, v in net.named_parameters()}

        def loss(p, a, b):
            return F.mse_loss(torch.func.functional_call(net, p, (a[None],)), b[None])

        return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(ps, x, y)

    return f, [lambda: (R(4, 3), R(4, 1))] * 2 + [lambda: (R(2, 3), R(2, 1))], net


@program
def hessian_jac():
    def f(x, w):
        g = torch.func.grad(lambda v: (torch.sin(v) @ w).sum())(x)
        J = torch.func.jacrev(lambda v: torch.tanh(w @ v))(x)
        H = torch.autograd.functional.hessian(lambda v: (v**3).sum(), x.detach())
        return g, J, H

    return f, [lambda: (R(3), R(3, 3))] * 3


@program
def gradient_penalty():
    D = nn.Sequential(nn.Linear(3, 6), nn.Softplus(), nn.Linear(6, 1))

    def f(real, fake):
        a = torch.rand(real.size(0), 1, dtype=real.dtype).expand_as(real)
        it = (a * real + (1 - a) * fake).detach().requires_grad_(True)
        with torch.enable_grad():
            d = D(it)
            g = torch.autograd.grad(
                outputs=d,
                inputs=it,
                grad_outputs=torch.ones_like(d),
                create_graph=True,
                retain_graph=True,
                only_inputs=True,
            )[0]
        return ((g.norm(2, dim=1) - 1) ** 2).mean()

    return f, [lambda: (R(3, 3), R(3, 3))] * 2 + [lambda: (R(4, 3), R(4, 3))], D


@program
def grad_scaler_like_loop():
    net = nn.Linear(3, 2)
    opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    scale = [2.0**4]

    def f(x, y):
        opt.zero_grad()
        l = F.cross_entropy(net(x), y)
        (l * scale[0]).backward()
        inf = False
        for p in net.parameters():
            p.grad.data.div_(scale[0])
            if not torch.isfinite(p.grad).all():
                inf = True
        if not inf:
            opt.step()
        else:
            scale[0] /= 2
        return l.item(), inf

    return (
        f,
        [
            lambda: (R(4, 3), torch.randint(0, 2, (4,))),
            lambda: (R(4, 3) * float("inf"), torch.randint(0, 2, (4,))),
            lambda: (R(4, 3), torch.randint(0, 2, (4,))),
        ],
        [net, scale],
    )


@program
def early_stopping_loop():
    net = nn.Linear(2, 1)
    opt = optim.Adam(net.parameters(), 0.05)

    def f(x, y):
        best, bad, state = float("inf"), 0, None
        for ep in range(6):
            opt.zero_grad()
            l = F.l1_loss(net(x), y)
            l.backward()
            opt.step()
            if l.item() < best - 1e-2:
                best, bad = l.item(), 0
                state = copy.deepcopy(net.state_dict())
            else:
                bad += 1
                if bad > 2:
                    break
        net.load_state_dict(state)
        return best, ep

    return f, [lambda: (R(5, 2), R(5, 1))] * 3, [net]


@program
def plateau_schedule():
    net = nn.Linear(2, 1)
    opt = optim.SGD(net.parameters(), 0.5)
    s = optim.lr_scheduler.ReduceLROnPlateau(opt, patience=0)
    w = optim.lr_scheduler.LinearLR(opt, 0.1, total_iters=3)

    def f(x):
        opt.zero_grad()
        l = net(x).abs().mean()
        l.backward()
        opt.step()
        w.step()
        s.step(l.detach())
        return opt.param_groups[0]["lr"], l.item()

    return f, [lambda: (R(3, 2),)] * 5, [net]


@program
def swa_and_bn():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    swa = optim.swa_utils.AveragedModel(net)
    opt = optim.SGD(net.parameters(), 0.1)

    def f(x):
        net.train()
        opt.zero_grad()
        l = net(x).pow(2).mean()
        l.backward()
        opt.step()
        swa.update_parameters(net)
        net.eval()
        return l.detach(), swa(x)

    return f, [lambda: (R(4, 3),)] * 3, [net, swa]
