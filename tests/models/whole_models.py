"""Programs as written for torch, each a function of the module that it calls torch. Each returns (function, arguments)."""

import math

import numpy as np


def numbers(torch, *sizes, seed=0, scale=1.0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=sizes, scale=scale).astype(np.float32))


def filled(torch, module):
    """The module with weights that depend only on the sizes; running variances stay positive."""
    with torch.no_grad():
        for at, (name, value) in enumerate(module.state_dict().items()):
            if value.is_floating_point():
                drawn = numbers(torch, *value.shape, seed=at, scale=0.2)
                value.copy_(drawn.abs() + 0.5 if name.endswith("var") else drawn)
    return module


def gpt(torch):
    nn, F = torch.nn, torch.nn.functional

    class Attention(nn.Module):
        def __init__(self, width, heads, length):
            super().__init__()
            self.c_attn = nn.Linear(width, 3 * width, bias=False)
            self.c_proj = nn.Linear(width, width)
            self.heads = heads
            self.register_buffer("bias", torch.tril(torch.ones(length, length)).view(1, 1, length, length))

        def forward(self, x):
            B, T, C = x.size()
            q, k, v = self.c_attn(x).split(C, dim=2)
            q, k, v = (t.view(B, T, self.heads, C // self.heads).transpose(1, 2) for t in (q, k, v))
            att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
            y = F.softmax(att, dim=-1) @ v
            return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln_1, self.ln_2 = nn.LayerNorm(16), nn.LayerNorm(16, bias=False)
            self.attn = Attention(16, 4, 12)
            self.mlp = nn.ModuleDict(
                dict(up=nn.Linear(16, 64), act=nn.GELU(approximate="tanh"), down=nn.Linear(64, 16))
            )

        def forward(self, x):
            x = x + self.attn(self.ln_1(x))
            return x + self.mlp.down(self.mlp["act"](self.mlp.up(self.ln_2(x))))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.transformer = nn.ModuleDict(
                dict(
                    wte=nn.Embedding(20, 16),
                    wpe=nn.Embedding(12, 16),
                    drop=nn.Dropout(0.1),
                    h=nn.ModuleList([Block(), Block()]),
                )
            )
            self.lm_head = nn.Linear(16, 20, bias=False)
            self.transformer.wte.weight = self.lm_head.weight

        def forward(self, ids, targets):
            pos = torch.arange(0, ids.size(1), dtype=torch.long, device=ids.device)
            x = self.transformer.drop(self.transformer.wte(ids) + self.transformer.wpe(pos))
            for block in self.transformer.h:
                x = block(x)
            logits = self.lm_head(x)
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)
            return logits[:, [-1], :], loss

    ids = torch.tensor([[1, 2, 3, 4, 5], [7, 8, 9, 0, 19]])
    return filled(torch, Gpt()).eval(), (ids, torch.tensor([[2, 3, 4, -1, 6], [8, 9, 0, 19, 1]]))


def vision_transformer(torch):
    nn = torch.nn

    class Vit(nn.Module):
        def __init__(self):
            super().__init__()
            self.patch = nn.Conv2d(3, 16, kernel_size=4, stride=4)
            self.cls_token = nn.Parameter(torch.zeros(1, 1, 16))
            self.pos_embed = nn.Parameter(torch.zeros(1, 17, 16))
            layer = nn.TransformerEncoderLayer(
                16, 4, 32, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
            )
            self.encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(16, eps=1e-6), enable_nested_tensor=False)
            self.head = nn.Linear(16, 10)

        def forward(self, x):
            x = self.patch(x).flatten(2).transpose(1, 2)
            x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1) + self.pos_embed
            return self.head(self.encoder(x)[:, 0]).softmax(-1)

    return filled(torch, Vit()).eval(), (numbers(torch, 2, 3, 16, 16),)


def unet(torch):
    nn, F = torch.nn, torch.nn.functional

    def double(i, o):
        return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.GroupNorm(2, o), nn.SiLU(inplace=True))

    class Unet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down, self.middle = double(1, 4), double(4, 8)
            self.up, self.last = nn.ConvTranspose2d(8, 4, 2, stride=2), double(8, 4)
            self.out = nn.Conv2d(4, 1, kernel_size=1)

        def forward(self, x):
            first = self.down(x)
            x = self.up(self.middle(F.max_pool2d(first, 2)))
            dy, dx = first.size(2) - x.size(2), first.size(3) - x.size(3)
            x = F.pad(x, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
            x = self.out(self.last(torch.cat([first, x], dim=1)))
            return F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False).sigmoid()

    return filled(torch, Unet()), (numbers(torch, 2, 1, 9, 11),)


def resnet_in_training(torch):
    nn = torch.nn

    class Basic(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.bn, self.relu = (
                nn.Conv2d(3, 4, 3, 2, 1, bias=False),
                nn.BatchNorm2d(4),
                nn.ReLU(inplace=True),
            )
            self.downsample = nn.Sequential(nn.Conv2d(3, 4, 1, 2), nn.BatchNorm2d(4))
            self.pool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(4, 5)

        def forward(self, x):
            out = self.bn(self.conv(x))
            out += self.downsample(x)
            out = torch.flatten(self.pool(self.relu(out)), 1)
            return (
                self.fc(out),
                self.bn.running_mean.clone(),
                self.bn.running_var.clone(),
                self.bn.num_batches_tracked + 0,
            )

    return filled(torch, Basic()).train(), (numbers(torch, 4, 3, 8, 8),)


def autoencoder(torch):
    nn, F = torch.nn, torch.nn.functional

    class Vae(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc, self.mu, self.logvar, self.dec = (
                nn.Linear(12, 8),
                nn.Linear(8, 3),
                nn.Linear(8, 3),
                nn.Linear(3, 12),
            )

        def forward(self, x, eps):
            h = F.relu(self.enc(x.view(-1, 12)))
            mu, logvar = self.mu(h), self.logvar(h)
            recon = torch.sigmoid(self.dec(mu + eps * torch.exp(0.5 * logvar)))
            bce = F.binary_cross_entropy(recon, x.view(-1, 12), reduction="sum")
            return recon, bce - 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())

    return filled(torch, Vae()), (numbers(torch, 5, 3, 4).sigmoid(), numbers(torch, 5, 3, seed=2))


def lstm_tagger(torch):
    nn, F = torch.nn, torch.nn.functional

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(10, 6, padding_idx=0)
            self.lstm = nn.LSTM(6, 5, num_layers=2, bidirectional=True, batch_first=True)
            self.gru, self.tag = nn.GRU(10, 4, batch_first=True), nn.Linear(4, 3)

        def forward(self, ids):
            out, (h, c) = self.lstm(self.embed(ids))
            out, last = self.gru(out)
            return F.log_softmax(self.tag(out), dim=2), h, c, last.squeeze(0)

    return filled(torch, Tagger()), (torch.tensor([[1, 2, 3, 0], [4, 9, 0, 0]]),)


def mixer(torch):
    nn = torch.nn

    class Mix(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.tokens, self.channels = nn.LayerNorm(6), nn.Linear(4, 4), nn.Linear(6, 6)

        def forward(self, x):
            x = x + self.tokens(self.norm(x).permute(0, 2, 1)).permute(0, 2, 1)
            x = x + nn.functional.gelu(self.channels(self.norm(x)))
            return torch.einsum("bnd,bmd->bnm", x, x).mean(dim=(1, 2)), x.amax(1)

    return filled(torch, Mix()), (numbers(torch, 3, 4, 6),)


def speech_convolutions(torch):
    nn, F = torch.nn, torch.nn.functional

    class Stack(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.n = nn.Conv1d(1, 8, 10, stride=5, bias=False), nn.GroupNorm(8, 8)
            self.b, self.pos = nn.Conv1d(8, 8, 3, stride=2, dilation=2), nn.Conv1d(8, 8, 4, padding=2, groups=4)

        def forward(self, wave):
            wave = (wave - wave.mean(-1, keepdim=True)) / torch.sqrt(wave.var(-1, keepdim=True) + 1e-7)
            x = F.gelu(self.b(F.gelu(self.n(self.a(wave.unsqueeze(1))))))
            x = x + F.gelu(self.pos(x)[:, :, :-1])
            return F.normalize(x.transpose(1, 2), dim=-1), x.unfold(2, 3, 2).std(-1)

    return filled(torch, Stack()), (numbers(torch, 2, 160),)


def graph_network(torch):
    def step(x, edges, weight):
        source, target = edges
        count = x.size(0)
        degree = torch.zeros(count).scatter_add_(0, target, torch.ones(target.size(0)))
        scale = degree.clamp(min=1).pow(-0.5)
        messages = (x @ weight)[source] * (scale[source] * scale[target]).unsqueeze(-1)
        summed = torch.zeros_like(x).index_add_(0, target, messages)
        score = messages.sum(-1)
        e = (score - score.max()).exp()
        alpha = e / torch.zeros(count).index_add(0, target, e)[target].add(1e-12)
        return summed.relu(), alpha, torch.bincount(target, minlength=count), torch.unique(source)

    return step, (
        numbers(torch, 6, 4),
        torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 0, 0, 5, 5]]),
        numbers(torch, 4, 4, seed=1),
    )


def filtered_logits(torch):
    F = torch.nn.functional

    def keep(logits, k, p):
        logits = logits.clone() / 0.8
        v, _ = torch.topk(logits, min(k, logits.size(-1)))
        logits[logits < v[:, [-1]]] = -float("inf")
        ordered, places = torch.sort(logits, descending=True, stable=True)
        remove = torch.cumsum(F.softmax(ordered, dim=-1), dim=-1) > p
        remove[..., 1:] = remove[..., :-1].clone()
        remove[..., 0] = False
        logits = logits.masked_fill(remove.scatter(1, places, remove), float("-inf"))
        probs = F.softmax(logits, dim=-1)
        return probs, torch.argmax(probs, dim=-1, keepdim=True), torch.isinf(logits).sum(-1)

    return keep, (numbers(torch, 3, 11), 6, 0.9)


def beam_search(torch):
    def search(table, width, length):
        scores, beams = torch.zeros(1), torch.zeros(1, 1, dtype=torch.long)
        for _ in range(length):
            next = scores[:, None] + torch.log_softmax(table[beams[:, -1]], dim=-1)
            scores, flat = next.view(-1).topk(min(width, next.numel()))
            parent = torch.div(flat, table.size(1), rounding_mode="floor")
            beams = torch.cat([beams[parent], (flat % table.size(1)).unsqueeze(1)], dim=1)
        return scores, beams

    return search, (numbers(torch, 7, 7), 3, 4)


def clusters(torch):
    def kmeans(points, rounds):
        centres = points[:3].clone()
        for _ in range(rounds):
            which = torch.cdist(points, centres).argmin(dim=1)
            hot = torch.nn.functional.one_hot(which, 3).to(points.dtype)
            centres = (hot.T @ points) / hot.sum(0).clamp_min(1.0)[:, None]
        return centres, which, (points - centres[which]).square().sum().sqrt()

    return kmeans, (numbers(torch, 30, 4), 5)


def principal_components(torch):
    def pca(x):
        x = x.double() - x.double().mean(0, keepdim=True)
        u, s, vh = torch.linalg.svd(x, full_matrices=False)
        values = torch.linalg.eigvalsh(x.T @ x / (len(x) - 1))
        return s.pow(2) / (len(x) - 1), values.flip(0), u * s @ vh - x, torch.corrcoef(x.T), torch.linalg.matrix_rank(x)

    return pca, (numbers(torch, 12, 4),)


def kalman_filter(torch):
    def run(measured):
        F, H = torch.tensor([[1.0, 0.1], [0.0, 1.0]]), torch.tensor([[1.0, 0.0]])
        x, P, Q, R = torch.zeros(2, 1), torch.eye(2), 0.01 * torch.eye(2), torch.tensor([[0.5]])
        states = []
        for z in measured:
            x, P = F @ x, F @ P @ F.mT + Q
            S = H @ P @ H.T + R
            K = torch.linalg.solve(S, H @ P).T
            x = x + K @ (z.reshape(1, 1) - H @ x)
            P = (torch.eye(2) - K @ H) @ P
            states.append(x.squeeze(-1))
        return torch.stack(states), torch.linalg.cholesky(P), torch.logdet(P), torch.linalg.inv(P)

    return run, (numbers(torch, 6),)


def signal(torch):
    F = torch.nn.functional

    def describe(wave):
        frames = wave.unfold(-1, 16, 8)
        n = torch.arange(16)
        window = 0.5 - 0.5 * torch.cos(2 * math.pi * n / 16)
        angle = 2 * math.pi * torch.outer(torch.arange(9), n) / 16
        power = ((frames * window) @ angle.cos().T) ** 2 + ((frames * window) @ angle.sin().T) ** 2
        smooth = F.conv1d(F.pad(wave[None, None], (2, 2), mode="reflect"), torch.full((1, 1, 5), 0.2)).squeeze()
        crossings = (torch.diff(torch.signbit(wave).int()) != 0).sum()
        return (
            10 * torch.log10(power.clamp(min=1e-10)),
            smooth,
            crossings,
            torch.quantile(wave, torch.tensor([0.1, 0.9])),
        )

    return describe, (numbers(torch, 64),)


def rotary_attention(torch):
    F = torch.nn.functional

    def attend(q, k, v, mask):
        half = q.size(-1) // 2
        freq = 1.0 / (10000 ** (torch.arange(0, half).float() / half))
        t = torch.outer(torch.arange(q.size(-2)).float(), freq)
        cos, sin = torch.cat((t, t), -1).cos(), torch.cat((t, t), -1).sin()

        def rotate(x):
            a, b = x.chunk(2, dim=-1)
            return x * cos + torch.cat((-b, a), dim=-1) * sin

        k, v = (x.repeat_interleave(2, dim=1) for x in (k, v))
        y = F.scaled_dot_product_attention(rotate(q), rotate(k), v, attn_mask=mask[:, None, None, :])
        return y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5)

    mask = torch.tensor([[True, True, True, False], [True, True, False, False]])
    return attend, (
        numbers(torch, 2, 4, 4, 8),
        numbers(torch, 2, 2, 4, 8, seed=1),
        numbers(torch, 2, 2, 4, 8, seed=2),
        mask,
    )


PROGRAMS = [
    gpt, vision_transformer, unet, resnet_in_training, autoencoder, lstm_tagger, mixer, speech_convolutions,
    graph_network, filtered_logits, beam_search, clusters, principal_components, kalman_filter, signal, rotary_attention,
]  # fmt: skip
