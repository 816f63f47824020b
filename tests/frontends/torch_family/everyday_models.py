"""Models that people write every day: language models and their decoding, diffusion, reinforcement learning, contrastive
losses, graphs, recurrent networks.

Each returns the function, what makes the arguments of each call, and what it changes besides them.
"""

import math
import random

import torch
import torch.nn.functional as F
from everyday_comparison import program
from torch import nn

R = torch.randn


# ---------- attention, caches
class Cache:
    def __init__(self):
        self.keys = []
        self.values = []
        self.seen = 0

    def update(self, k, v, layer):
        if layer == 0:
            self.seen += k.shape[-2]
        if len(self.keys) <= layer:
            self.keys.append(k)
            self.values.append(v)
        else:
            self.keys[layer] = torch.cat([self.keys[layer], k], dim=-2)
            self.values[layer] = torch.cat([self.values[layer], v], dim=-2)
        return self.keys[layer], self.values[layer]

    def get_seq_length(self):
        return self.keys[0].shape[-2] if self.keys else 0


def rotate_half(x):
    a = x[..., : x.shape[-1] // 2]
    b = x[..., x.shape[-1] // 2 :]
    return torch.cat((-b, a), dim=-1)


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x):
        dt = x.dtype
        x = x.to(torch.float32)
        v = x.pow(2).mean(-1, keepdim=True)
        return self.weight * (x * torch.rsqrt(v + self.eps)).to(dt)


class Attn(nn.Module):
    def __init__(self, d=16, h=4, kv=2, layer=0):
        super().__init__()
        self.h, self.kv, self.hd, self.layer = h, kv, d // h, layer
        self.q = nn.Linear(d, d)
        self.k = nn.Linear(d, kv * self.hd)
        self.v = nn.Linear(d, kv * self.hd)
        self.o = nn.Linear(d, d, bias=False)
        self.register_buffer("inv", 1.0 / (10000 ** (torch.arange(0, self.hd, 2).float() / self.hd)), persistent=False)

    def forward(self, x, mask=None, cache=None, pos=None):
        b, t, _ = x.size()
        q = self.q(x).view(b, t, self.h, self.hd).transpose(1, 2)
        k = self.k(x).view(b, t, self.kv, self.hd).transpose(1, 2)
        v = self.v(x).view(b, t, self.kv, self.hd).transpose(1, 2)
        fr = (self.inv[None, :, None].float().expand(pos.shape[0], -1, 1) @ pos[:, None, :].float()).transpose(1, 2)
        emb = torch.cat((fr, fr), -1)
        cos, sin = emb.cos().unsqueeze(1).to(q.dtype), emb.sin().unsqueeze(1).to(q.dtype)
        q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
        if cache is not None:
            k, v = cache.update(k, v, self.layer)
        k = k[:, :, None].expand(b, self.kv, self.h // self.kv, k.shape[2], self.hd).reshape(b, self.h, -1, self.hd)
        v = v.repeat_interleave(self.h // self.kv, dim=1)
        w = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.hd)
        if mask is not None:
            w = w + mask[:, :, :, : k.shape[-2]]
        w = F.softmax(w, dim=-1, dtype=torch.float32).to(q.dtype)
        return self.o((w @ v).transpose(1, 2).contiguous().reshape(b, t, -1)), w


class Decoder(nn.Module):
    def __init__(self, n=2):
        super().__init__()
        self.emb = nn.Embedding(20, 16, padding_idx=0)
        self.layers = nn.ModuleList(
            [
                nn.ModuleDict(
                    dict(
                        n1=RMSNorm(16),
                        a=Attn(layer=i),
                        n2=RMSNorm(16),
                        up=nn.Linear(16, 24),
                        gate=nn.Linear(16, 24),
                        down=nn.Linear(24, 16),
                    )
                )
                for i in range(n)
            ]
        )
        self.norm = RMSNorm(16)

    def forward(self, ids, attention_mask=None, cache=None, output_attentions=False):
        x = self.emb(ids)
        past = cache.get_seq_length() if cache is not None else 0
        t = ids.shape[1]
        total = past + t
        pos = torch.arange(past, total).unsqueeze(0)
        m = torch.full((t, total), torch.finfo(x.dtype).min, dtype=x.dtype)
        if t != 1:
            m = torch.triu(m, diagonal=past + 1)
        else:
            m = m * 0
        m = m[None, None].expand(ids.shape[0], 1, -1, -1)
        if attention_mask is not None:
            m = m.clone()
            pad = m[:, :, :, : attention_mask.shape[-1]] + attention_mask[:, None, None, :].to(x.dtype)
            m[:, :, :, : attention_mask.shape[-1]] = m[:, :, :, : attention_mask.shape[-1]].masked_fill(
                pad == 0, torch.finfo(x.dtype).min
            )
        all_w = () if output_attentions else None
        for l in self.layers:
            y, w = l["a"](l["n1"](x), m, cache, pos)
            x = x + y
            h = l["n2"](x)
            x = x + l["down"](F.silu(l["gate"](h)) * l["up"](h))
            if output_attentions:
                all_w += (w,)
        return self.norm(x) @ self.emb.weight.t(), all_w


@program
def decoder_with_cache():
    model = Decoder()

    def f(ids, steps):
        cache = Cache()
        out = []
        logits, _ = model(ids, None, cache)
        for _ in range(steps):
            nxt = logits[:, -1].argmax(-1, keepdim=True)
            out.append(nxt)
            logits, _ = model(nxt, None, cache)
        return torch.cat(out, 1), logits, cache.seen

    return (
        f,
        [
            lambda: (torch.randint(1, 20, (2, 5)), 3),
            lambda: (torch.randint(1, 20, (2, 5)), 3),
            lambda: (torch.randint(1, 20, (3, 4)), 4),
        ],
        model,
    )


@program
def decoder_masked():
    model = Decoder()

    def f(ids, mask):
        logits, ws = model(ids, mask, output_attentions=True)
        return {
            "logits": logits,
            "attentions": ws,
            "loss": F.cross_entropy(logits[:, :-1].reshape(-1, 20), ids[:, 1:].reshape(-1), ignore_index=0),
        }

    def c(b, t):
        def g():
            ids = torch.randint(1, 20, (b, t))
            m = torch.ones(b, t, dtype=torch.long)
            m[0, -2:] = 0
            ids[0, -2:] = 0
            return ids, m

        return g

    return f, [c(2, 6), c(2, 6), c(3, 7)], model


@program
def beam_search():
    model = Decoder(1)

    def f(ids, beams, steps):
        b = ids.shape[0]
        seq = ids.repeat_interleave(beams, 0)
        scores = torch.zeros(b, beams)
        scores[:, 1:] = -1e9
        with torch.no_grad():
            for _ in range(steps):
                lp = F.log_softmax(model(seq)[0][:, -1], -1)
                V = lp.shape[-1]
                nxt = (lp.view(b, beams, V) + scores[..., None]).view(b, -1)
                scores, idx = nxt.topk(beams, dim=-1)
                beam = torch.div(idx, V, rounding_mode="floor")
                tok = idx % V
                seq = torch.cat(
                    [seq.view(b, beams, -1).gather(1, beam[..., None].expand(-1, -1, seq.shape[-1])), tok[..., None]],
                    -1,
                ).view(b * beams, -1)
        return seq.view(b, beams, -1), scores / (seq.shape[-1] ** 0.7)

    return f, [lambda: (torch.randint(1, 20, (2, 3)), 3, 3)] * 2 + [lambda: (torch.randint(1, 20, (1, 4)), 2, 3)], model


@program
def beam_hypotheses():
    def f(logits):
        done = []
        alive = [([0], 0.0)]
        for t in range(logits.shape[0]):
            cand = []
            for toks, s in alive:
                lp = logits[t].log_softmax(-1)
                top = torch.topk(lp, 2)
                for v, i in zip(top.values.tolist(), top.indices.tolist()):
                    cand.append((toks + [i], s + v))
            cand.sort(key=lambda c: c[1], reverse=True)
            alive = cand[:2]
        return alive

    return f, [lambda: (R(3, 5),), lambda: (R(3, 5),), lambda: (R(4, 6),)]


@program
def top_p_sampling():
    def f(logits, top_p, temperature):
        logits = logits / temperature
        s, i = torch.sort(logits, descending=True)
        cum = torch.cumsum(F.softmax(s, dim=-1), dim=-1)
        rm = cum > top_p
        rm[..., 1:] = rm[..., :-1].clone()
        rm[..., 0] = 0
        mask = rm.scatter(1, i, rm)
        logits = logits.masked_fill(mask, float("-inf"))
        p = F.softmax(logits, -1)
        return torch.multinomial(p, num_samples=1).squeeze(1), p

    return f, [lambda: (R(2, 10), 0.9, 0.7), lambda: (R(2, 10), 0.8, 1.0), lambda: (R(3, 12), 0.5, 1.3)]


@program
def top_k_filter():
    def f(logits, k, pen, prev):
        score = torch.gather(logits, 1, prev)
        score = torch.where(score < 0, score * pen, score / pen)
        logits = logits.scatter(1, prev, score)
        kth = torch.topk(logits, min(k, logits.size(-1)))[0][..., -1, None]
        logits = logits.clone()
        logits[logits < kth] = -float("inf")
        return logits

    return f, [lambda: (R(2, 10), 4, 1.2, torch.randint(0, 10, (2, 3)))] * 2 + [
        lambda: (R(3, 8), 20, 1.1, torch.randint(0, 8, (3, 2)))
    ]


# ---------- diffusion
@program
def ddpm_sampler():
    betas = torch.linspace(1e-4, 0.02, 10)
    alphas = 1 - betas
    ac = torch.cumprod(alphas, 0)
    prev = F.pad(ac[:-1], (1, 0), value=1.0)
    net = nn.Sequential(nn.Linear(5, 8), nn.SiLU(), nn.Linear(8, 4))

    def extract(a, t, shape):
        return a.gather(-1, t).reshape(t.shape[0], *((1,) * (len(shape) - 1)))

    @torch.no_grad()
    def f(shape):
        x = torch.randn(shape)
        for i in reversed(range(0, 10)):
            t = torch.full((shape[0],), i, dtype=torch.long)
            e = net(torch.cat([x, t[:, None].float() / 10], 1))
            mean = extract(torch.sqrt(1 / alphas), t, x.shape) * (
                x - extract(betas, t, x.shape) / extract(torch.sqrt(1 - ac), t, x.shape) * e
            )
            if i == 0:
                x = mean
            else:
                x = mean + torch.sqrt(extract(betas * (1 - prev) / (1 - ac), t, x.shape)) * torch.randn_like(x)
        return x.clamp(-1, 1)

    return f, [((2, 4),), ((2, 4),), ((3, 4),)]


@program
def ddim_and_cfg():
    ac = torch.linspace(0.99, 0.01, 20)
    net = nn.Linear(4, 4)

    def f(x, cond, scale, steps):
        ts = torch.linspace(19, 0, steps).long().tolist()
        for i, t in enumerate(ts):
            a = ac[t]
            ap = ac[ts[i + 1]] if i + 1 < len(ts) else torch.tensor(1.0)
            eu, ec = net(torch.cat([x, x + cond])).chunk(2)
            e = eu + scale * (ec - eu)
            x0 = (x - (1 - a).sqrt() * e) / a.sqrt()
            x0 = x0.clamp(-3, 3)
            x = ap.sqrt() * x0 + (1 - ap).sqrt() * e
        return x

    return (
        f,
        [lambda: (R(2, 4), R(2, 4), 7.5, 5), lambda: (R(2, 4), R(2, 4), 3.0, 5), lambda: (R(3, 4), R(3, 4), 7.5, 4)],
        net,
    )


@program
def diffusion_loss():
    betas = torch.linspace(1e-4, 0.02, 10)

    class S(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("ac", torch.cumprod(1 - betas, 0))
            self.net = nn.Linear(8, 8)
            self.time = nn.Embedding(10, 8)

        def forward(self, x):
            t = torch.randint(0, 10, (x.size(0),), device=x.device)
            noise = torch.randn_like(x)
            a = self.ac[t].view(-1, 1)
            xt = a.sqrt() * x + (1 - a).sqrt() * noise
            return F.mse_loss(self.net(xt + self.time(t)), noise, reduction="none").mean(list(range(1, x.ndim))).mean()

    m = S()
    return (lambda x: m(x)), [lambda: (R(4, 8),)] * 2 + [lambda: (R(6, 8),)], m


@program
def karras_sigmas_heun():
    def sig(n, smin=0.02, smax=80.0, rho=7.0):
        r = torch.linspace(0, 1, n)
        s = (smax ** (1 / rho) + r * (smin ** (1 / rho) - smax ** (1 / rho))) ** rho
        return torch.cat([s, s.new_zeros([1])])

    def den(x, s):
        return x / (s[:, None] ** 2 + 1)

    def f(x, n):
        s = sig(n)
        x = x * s[0]
        ones = x.new_ones([x.shape[0]])
        for i in range(len(s) - 1):
            d = (x - den(x, s[i] * ones)) / s[i]
            dt = s[i + 1] - s[i]
            if s[i + 1] == 0:
                x = x + d * dt
            else:
                x2 = x + d * dt
                d2 = (x2 - den(x2, s[i + 1] * ones)) / s[i + 1]
                x = x + (d + d2) / 2 * dt
        return x

    return f, [lambda: (R(2, 3), 4)] * 2 + [lambda: (R(4, 3), 5)]


# ---------- RL
@program
def ppo_loss():
    actor = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    critic = nn.Linear(4, 1)

    def f(obs, act, oldlp, adv, ret, clip):
        d = torch.distributions.Categorical(logits=actor(obs))
        lp = d.log_prob(act)
        ratio = (lp - oldlp).exp()
        with torch.no_grad():
            kl = ((ratio - 1) - (lp - oldlp)).mean()
            frac = ((ratio - 1.0).abs() > clip).float().mean().item()
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        pg = torch.max(-adv * ratio, -adv * torch.clamp(ratio, 1 - clip, 1 + clip)).mean()
        v = critic(obs).squeeze(-1)
        vl = 0.5 * ((v - ret) ** 2).mean()
        return pg - 0.01 * d.entropy().mean() + vl * 0.5, kl, frac

    c = lambda n: lambda: (R(n, 4), torch.randint(0, 3, (n,)), -torch.rand(n), R(n), R(n), 0.2)
    return f, [c(6), c(6), c(9)], [actor, critic]


@program
def gae():
    def f(rew, val, done, last, gamma=0.99, lam=0.95):
        adv = torch.zeros_like(rew)
        g = 0
        for t in reversed(range(rew.shape[0])):
            nonterm = 1.0 - done[t]
            nv = last if t == rew.shape[0] - 1 else val[t + 1]
            delta = rew[t] + gamma * nv * nonterm - val[t]
            adv[t] = g = delta + gamma * lam * nonterm * g
        return adv, adv + val

    c = lambda t, n: lambda: (R(t, n), R(t, n), torch.randint(0, 2, (t, n)).float(), R(n))
    return f, [c(4, 2), c(4, 2), c(6, 3)]


@program
def sac_losses():
    class Actor(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 8)
            self.mean = nn.Linear(8, 2)
            self.ls = nn.Linear(8, 2)
            self.register_buffer("scale", torch.tensor([2.0, 1.0]))
            self.register_buffer("bias", torch.tensor([0.0, 0.5]))

        def get_action(self, x):
            h = F.relu(self.fc(x))
            mean = self.mean(h)
            ls = torch.tanh(self.ls(h))
            ls = -5 + 0.5 * 7 * (ls + 1)
            n = torch.distributions.Normal(mean, ls.exp())
            xt = n.rsample()
            yt = torch.tanh(xt)
            a = yt * self.scale + self.bias
            lp = (n.log_prob(xt) - torch.log(self.scale * (1 - yt.pow(2)) + 1e-6)).sum(1, keepdim=True)
            return a, lp, torch.tanh(mean) * self.scale + self.bias

    actor = Actor()
    q1, q2 = nn.Linear(5, 1), nn.Linear(5, 1)
    la = nn.Parameter(torch.zeros(1))

    def f(s):
        a, lp, m = actor.get_action(s)
        x = torch.cat([s, a], 1)
        minq = torch.min(q1(x), q2(x)).view(-1)
        alpha = la.exp().item()
        actor_loss = ((alpha * lp).view(-1) - minq).mean()
        alpha_loss = (-la.exp() * (lp.detach() - 2.0)).mean()
        return actor_loss, alpha_loss, m

    return f, [lambda: (R(4, 3),)] * 2 + [lambda: (R(7, 3),)], [actor, q1, q2]


@program
def polyak():
    a, b = nn.Linear(3, 2), nn.Linear(3, 2)

    def f(tau):
        with torch.no_grad():
            for p, t in zip(a.parameters(), b.parameters()):
                t.data.copy_(tau * p.data + (1 - tau) * t.data)
        for p, t in zip(a.parameters(), b.parameters()):
            t.data.lerp_(p.data, tau)
        return [t for t in b.parameters()]

    return f, [(0.1,), (0.2,), (0.3,)], [a, b]


@program
def replay_ring():
    class Buf:
        def __init__(self, n):
            self.obs = torch.zeros(n, 3)
            self.act = torch.zeros(n, dtype=torch.long)
            self.i = 0
            self.full = False
            self.n = n

        def add(self, o, a):
            self.obs[self.i] = o
            self.act[self.i] = a
            self.i = (self.i + 1) % self.n
            self.full = self.full or self.i == 0

        def sample(self, k):
            idx = torch.randint(0, self.n if self.full else self.i, (k,))
            return self.obs[idx], self.act[idx]

    b = Buf(3)

    def f(o, a):
        b.add(o.detach(), a)
        return b.sample(2)

    return f, [lambda: (R(3), 1), lambda: (R(3), 2), lambda: (R(3), 0), lambda: (R(3), 4), lambda: (R(3), 5)], b


# ---------- contrastive
@program
def nt_xent():
    def f(a, b, temp):
        n = a.shape[0]
        z = F.normalize(torch.cat([a, b]), dim=1)
        sim = z @ z.T / temp
        sim.fill_diagonal_(float("-inf")) if not sim.requires_grad else None
        if sim.requires_grad:
            sim = sim.masked_fill(torch.eye(2 * n, dtype=torch.bool), float("-inf"))
        tgt = torch.arange(2 * n).roll(n)
        return F.cross_entropy(sim, tgt)

    return f, [lambda: (R(3, 4), R(3, 4), 0.5)] * 2 + [lambda: (R(5, 4), R(5, 4), 0.1)]


@program
def supcon():
    def f(feat, labels):
        labels = labels.contiguous().view(-1, 1)
        mask = torch.eq(labels, labels.T).float()
        anchor = torch.cat(torch.unbind(feat, dim=1), dim=0)
        dot = torch.div(torch.matmul(anchor, anchor.T), 0.07)
        mx, _ = torch.max(dot, dim=1, keepdim=True)
        logits = dot - mx.detach()
        mask = mask.repeat(2, 2)
        lm = torch.scatter(torch.ones_like(mask), 1, torch.arange(mask.shape[0]).view(-1, 1), 0)
        mask = mask * lm
        e = torch.exp(logits) * lm
        lp = logits - torch.log(e.sum(1, keepdim=True))
        mp = mask.sum(1)
        mp = torch.where(mp < 1e-6, 1, mp)
        return -((mask * lp).sum(1) / mp).view(2, -1).mean()

    return f, [lambda: (F.normalize(R(4, 2, 5), dim=-1), torch.randint(0, 2, (4,)))] * 2 + [
        lambda: (F.normalize(R(6, 2, 5), dim=-1), torch.randint(0, 3, (6,)))
    ]


@program
def triplet_hard():
    def f(e, y):
        d = torch.cdist(e, e)
        same = y[:, None] == y[None]
        eye = torch.eye(len(y), dtype=torch.bool)
        hp = d.masked_fill(~same | eye, -1).max(1).values
        hn = d.masked_fill(same, float("inf")).min(1).values
        l = F.relu(hp - hn + 0.2)
        valid = torch.isfinite(hn) & (hp >= 0)
        if not valid.any():
            return e.sum() * 0
        return l[valid].mean()

    return f, [lambda: (R(5, 3), torch.tensor([0, 1, 0, 1, 2]))] * 2 + [
        lambda: (R(4, 3), torch.zeros(4, dtype=torch.long))
    ]


@program
def moco_queue():
    class Q(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc = nn.Linear(3, 4)
            self.register_buffer("queue", F.normalize(R(4, 6), dim=0))
            self.register_buffer("ptr", torch.zeros(1, dtype=torch.long))

        @torch.no_grad()
        def push(self, k):
            p = int(self.ptr)
            n = k.shape[0]
            self.queue[:, p : p + n] = k.T
            self.ptr[0] = (p + n) % 6

        def forward(self, q, k):
            q = F.normalize(self.enc(q), dim=1)
            with torch.no_grad():
                k = F.normalize(self.enc(k), dim=1)
            pos = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
            neg = torch.einsum("nc,ck->nk", [q, self.queue.clone().detach()])
            logits = torch.cat([pos, neg], 1) / 0.07
            self.push(k)
            return F.cross_entropy(logits, torch.zeros(logits.shape[0], dtype=torch.long))

    m = Q()
    return (lambda q, k: m(q, k)), [lambda: (R(2, 3), R(2, 3))] * 4, m


# ---------- graphs
@program
def message_passing():
    lin = nn.Linear(6, 3)

    def f(x, ei, n):
        src, dst = ei
        m = F.relu(lin(torch.cat([x[src], x[dst]], -1)))
        out = torch.zeros(n, 3, dtype=m.dtype).index_add(0, dst, m)
        deg = torch.zeros(n, dtype=x.dtype).scatter_add_(0, dst, torch.ones(dst.shape[0], dtype=x.dtype)).clamp(min=1)
        return out / deg.unsqueeze(-1)

    return (
        f,
        [lambda: (R(5, 3), torch.randint(0, 5, (2, 8)), 5)] * 2 + [lambda: (R(4, 3), torch.randint(0, 4, (2, 6)), 4)],
        lin,
    )


@program
def gat_softmax():
    a = nn.Parameter(R(3))
    m = nn.ParameterList([a])

    def f(x, ei):
        row, col = ei[0], ei[1]
        e = F.leaky_relu((x[row] * a).sum(-1) + (x[col] * a).sum(-1), 0.2)
        n = int(col.max()) + 1
        mx = torch.full((n,), -float("inf"), dtype=e.dtype).scatter_reduce(0, col, e, "amax", include_self=False)
        ex = (e - mx.index_select(0, col)).exp()
        z = e.new_zeros(n).index_add_(0, col, ex)
        alpha = ex / z[col]
        return torch.zeros(n, 3, dtype=x.dtype).index_add_(0, col, alpha[:, None] * x[row]), alpha

    return f, [lambda: (R(5, 3), torch.randint(0, 5, (2, 8)))] * 2 + [lambda: (R(4, 3), torch.randint(0, 4, (2, 6)))], m


@program
def gcn_norm():
    def f(ei, n, x):
        loop = torch.arange(n)
        ei = torch.cat([ei, torch.stack([loop, loop])], 1)
        deg = torch.bincount(ei[1], minlength=n).to(x.dtype)
        dis = deg.pow(-0.5)
        dis[dis == float("inf")] = 0
        w = dis[ei[0]] * dis[ei[1]]
        A = torch.zeros(n, n, dtype=x.dtype)
        A[ei[0], ei[1]] += w
        A2 = torch.zeros(n, n, dtype=x.dtype).index_put_((ei[0], ei[1]), w, accumulate=True)
        return A @ x, A2 @ x

    return f, [lambda: (torch.randint(0, 5, (2, 6)), 5, R(5, 2))] * 2 + [
        lambda: (torch.randint(0, 4, (2, 6)), 4, R(4, 2))
    ]


@program
def pooled_graphs():
    def f(x, batch):
        size = int(batch.max().item() + 1)
        s = x.new_zeros(size, x.size(1)).scatter_add(0, batch.unsqueeze(1).expand_as(x), x)
        c = torch.bincount(batch, minlength=size)
        mx = x.new_full((size, x.size(1)), float("-inf")).scatter_reduce(
            0, batch[:, None].expand_as(x), x, reduce="amax"
        )
        return s / c[:, None], mx, c

    return f, [lambda: (R(5, 2), torch.tensor([0, 0, 1, 1, 2]))] * 2 + [
        lambda: (R(6, 2), torch.tensor([0, 0, 1, 1, 1, 0]))
    ]


# ---------- RNN
@program
def rnn_teacher_forcing():
    emb, cell, out = nn.Embedding(7, 4), nn.GRUCell(4, 5), nn.Linear(5, 7)

    def f(h, tgt, ratio):
        tok = torch.zeros(h.shape[0], dtype=torch.long)
        logits = []
        for t in range(tgt.shape[1]):
            h = cell(emb(tok), h)
            l = out(h)
            logits.append(l)
            tok = tgt[:, t] if random.random() < ratio else l.argmax(1)
        return torch.stack(logits, 1), h

    return (
        f,
        [lambda: (R(2, 5), torch.randint(0, 7, (2, 4)), 0.5)] * 3
        + [lambda: (R(3, 5), torch.randint(0, 7, (3, 3)), 1.0)],
        [emb, cell, out],
    )


@program
def lstm_by_hand():
    wx, wh, b = nn.Parameter(R(3, 16) * 0.3), nn.Parameter(R(4, 16) * 0.3), nn.Parameter(torch.zeros(16))

    def f(xs, mask):
        h = c = torch.zeros(xs.shape[1], 4, dtype=xs.dtype)
        hs = []
        for x, m in zip(xs, mask.unbind(0)):
            i, g, fo, o = (x @ wx + h @ wh + b).chunk(4, 1)
            c2 = torch.sigmoid(fo + 1) * c + torch.sigmoid(i) * torch.tanh(g)
            h2 = torch.sigmoid(o) * torch.tanh(c2)
            h = torch.where(m[:, None], h2, h)
            c = torch.where(m[:, None], c2, c)
            hs += [h]
        return torch.stack(hs), (h, c)

    return (
        f,
        [lambda: (R(4, 2, 3), torch.rand(4, 2) > 0.3)] * 2 + [lambda: (R(5, 3, 3), torch.rand(5, 3) > 0.3)],
        nn.ParameterList([wx, wh, b]),
    )


@program
def bilstm_packed():
    lstm = nn.LSTM(3, 4, batch_first=True, bidirectional=True)

    def f(x, lens):
        p = nn.utils.rnn.pack_padded_sequence(x, lens, batch_first=True, enforce_sorted=False)
        o, (h, c) = lstm(p)
        o, l = nn.utils.rnn.pad_packed_sequence(o, batch_first=True)
        return o, h, l

    return f, [lambda: (R(3, 5, 3), torch.tensor([5, 2, 3]))] * 2 + [lambda: (R(2, 4, 3), torch.tensor([1, 4]))], lstm


@program
def attention_seq2seq():
    enc = nn.GRU(3, 4, batch_first=True)
    dec = nn.GRUCell(7, 4)
    v = nn.Linear(8, 1)

    def f(x, steps):
        mem, h = enc(x)
        h = h[-1]
        y = x.new_zeros(x.size(0), 3)
        outs = []
        for _ in range(steps):
            s = v(torch.tanh(torch.cat([mem, h.unsqueeze(1).expand(-1, mem.size(1), -1)], -1))).squeeze(-1)
            a = s.softmax(-1)
            ctx = torch.bmm(a.unsqueeze(1), mem).squeeze(1)
            h = dec(torch.cat([y, ctx], -1), h)
            y = h[..., :3]
            outs.append(y)
        return torch.stack(outs, dim=1), a

    return f, [lambda: (R(2, 4, 3), 3)] * 2 + [lambda: (R(3, 5, 3), 2)], [enc, dec, v]
