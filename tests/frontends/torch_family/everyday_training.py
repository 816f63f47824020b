"""Training programs of kinds that people write every day. Each makes its model and returns a step and the arguments of each call."""

import copy
import math

import torch
from program_table import Programs
from torch import nn, optim

F = torch.nn.functional
STEPS = 20
PROGRAMS = Programs()
program = PROGRAMS.add


def drawn(number, *sizes):
    return torch.rand(*sizes, generator=torch.Generator().manual_seed(100 + number)).sub(0.5)


def whole(number, most, *sizes):
    return torch.randint(0, most, sizes, generator=torch.Generator().manual_seed(500 + number))


def each_step(make):
    return [make(number) for number in range(STEPS)]


def labelled(number, size=16, width=6, kinds=3):
    x = drawn(number, size, width)
    return x, x[:, :kinds].argmax(1)


def perceptron(width=6, hidden=16, out=3):
    return nn.Sequential(
        nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, out)
    )


@program
def averages_of_weights():
    model = perceptron()
    average = copy.deepcopy(model)
    optimizer = optim.AdamW(model.parameters(), lr=0.01)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        for mean, value in zip(average.parameters(), model.parameters()):
            mean.data = 0.99 * mean.data + 0.01 * value.data
        with torch.no_grad():
            return loss + F.cross_entropy(average(x), y)

    return step, each_step(labelled)


@program
def averages_written_in_place():
    model = perceptron()
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def update(decay):
        for mean, value in zip(average.parameters(), model.parameters()):
            mean.data.mul_(decay).add_(value.data, alpha=1 - decay)

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        update(0.99)
        return loss + F.cross_entropy(average(x), y)

    return step, each_step(labelled)


@program
def accumulated_gradients():
    model = perceptron()
    optimizer = optim.Adam(model.parameters(), lr=0.01)

    def step(x, y):
        optimizer.zero_grad()
        total = 0.0
        for part, goal in zip(x.chunk(4), y.chunk(4)):
            loss = F.cross_entropy(model(part), goal) / 4
            loss.backward()
            total += loss.detach()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return total

    return step, each_step(labelled)


@program
def adversarial():
    generator = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 8), nn.Tanh())
    critic = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.2), nn.Dropout(0.3), nn.Linear(16, 1))
    by_generator = optim.Adam(generator.parameters(), lr=0.002, betas=(0.5, 0.999))
    by_critic = optim.Adam(critic.parameters(), lr=0.002, betas=(0.5, 0.999))
    criterion = nn.BCEWithLogitsLoss()

    def step(real):
        size = real.size(0)
        ones, zeros = torch.ones(size, 1), torch.zeros(size, 1)
        fake = generator(torch.randn(size, 4))
        by_critic.zero_grad()
        loss = criterion(critic(real), ones) + criterion(critic(fake.detach()), zeros)
        loss.backward()
        by_critic.step()
        by_generator.zero_grad()
        deceived = criterion(critic(fake), ones)
        deceived.backward()
        by_generator.step()
        return loss.detach() + deceived.detach()

    return step, each_step(lambda number: (drawn(number, 16, 8),))


@program
def q_learning():
    policy, target = perceptron(out=4), perceptron(out=4)
    target.load_state_dict(policy.state_dict())
    optimizer = optim.AdamW(policy.parameters(), lr=1e-3, amsgrad=True)

    def step(state, action, reward, following, done):
        values = policy(state).gather(1, action)
        with torch.no_grad():
            best = target(following).max(1).values
            expected = reward + 0.99 * best * (1 - done)
        loss = nn.SmoothL1Loss()(values, expected.unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(policy.parameters(), 100)
        optimizer.step()
        kept, new = target.state_dict(), policy.state_dict()
        for key in new:
            kept[key] = new[key] * 0.005 + kept[key] * (1 - 0.005)
        target.load_state_dict(kept)
        return loss

    def batch(number):
        done = whole(number, 2, 16).to(torch.get_default_dtype())
        return drawn(number, 16, 6), whole(number, 4, 16, 1), drawn(-number, 16), drawn(number + 40, 16, 6), done

    return step, each_step(batch)


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.mean, self.spread = nn.Linear(12, 16), nn.Linear(16, 3), nn.Linear(16, 3)
        self.back, self.leave = nn.Linear(3, 16), nn.Linear(16, 12)

    def reparameterize(self, mean, logvar):
        std = torch.exp(0.5 * logvar)
        return mean + torch.randn_like(std) * std

    def forward(self, x):
        hidden = F.relu(self.enter(x.view(-1, 12)))
        mean, logvar = self.mean(hidden), self.spread(hidden)
        out = torch.sigmoid(self.leave(F.relu(self.back(self.reparameterize(mean, logvar)))))
        return out, mean, logvar


@program
def variational_autoencoder():
    model = Autoencoder()
    optimizer = optim.Adam(model.parameters(), lr=1e-2)

    def step(x):
        optimizer.zero_grad()
        out, mean, logvar = model(x)
        loss = F.binary_cross_entropy(out, x.view(-1, 12), reduction="sum")
        loss = loss - 0.5 * torch.sum(1 + logvar - mean.pow(2) - logvar.exp())
        loss.backward()
        optimizer.step()
        return loss

    return step, each_step(lambda number: (drawn(number, 8, 3, 4) + 0.5,))


@program
def triplets():
    model = nn.Sequential(nn.Conv1d(1, 4, 3, padding=1), nn.BatchNorm1d(4), nn.PReLU(), nn.Flatten(), nn.Linear(32, 8))
    optimizer = optim.RMSprop(model.parameters(), lr=1e-3)
    criterion = nn.TripletMarginLoss(margin=0.5)

    def step(anchor, positive, negative):
        optimizer.zero_grad(set_to_none=False)
        a, p, n = (F.normalize(model(each), dim=1) for each in (anchor, positive, negative))
        loss = criterion(a, p, n) + F.cosine_embedding_loss(a, n, -torch.ones(a.shape[0]), margin=0.1)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, each_step(lambda number: tuple(drawn(number + 30 * part, 8, 1, 8) for part in range(3)))


@program
def mixed_and_smoothed():
    model = perceptron()
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4, nesterov=True)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=STEPS)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

    def step(x, y):
        share = torch.rand(()) * 0.5 + 0.5
        order = torch.randperm(x.size(0))
        out = model(share * x + (1 - share) * x[order])
        loss = share * criterion(out, y) + (1 - share) * criterion(out, y[order])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss

    return step, each_step(labelled)


class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.layers, self.head = nn.Embedding(11, 8), nn.LSTM(8, 12, 2, dropout=0.1), nn.Linear(12, 11)

    def forward(self, ids, hidden):
        out, hidden = self.layers(self.tokens(ids), hidden)
        return F.log_softmax(self.head(out).view(-1, 11), dim=1), hidden


def repackage(hidden):
    return hidden.detach() if isinstance(hidden, torch.Tensor) else tuple(repackage(each) for each in hidden)


@program
def truncated_language_model():
    model = LanguageModel()
    weight = next(model.parameters())
    hidden = [(weight.new_zeros(2, 4, 12), weight.new_zeros(2, 4, 12))]

    def step(ids, goals):
        model.zero_grad()
        state = repackage(hidden[0])
        out, state = model(ids, state)
        hidden[0] = state
        loss = F.nll_loss(out, goals)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for parameter in model.parameters():
            parameter.data.add_(parameter.grad, alpha=-2.0)
        return loss

    return step, each_step(lambda number: (whole(number, 11, 5, 4), whole(number + 50, 11, 20)))


@program
def packed_sequences():
    tokens = nn.Embedding(11, 8, padding_idx=0)
    layers, head = nn.LSTM(8, 12, batch_first=True, bidirectional=True), nn.Linear(24, 3)
    model = nn.ModuleList([tokens, layers, head])
    optimizer = optim.Adam(model.parameters(), lr=0.01)

    def step(ids, lengths, y):
        packed = nn.utils.rnn.pack_padded_sequence(tokens(ids), lengths, batch_first=True, enforce_sorted=False)
        out, _ = layers(packed)
        out, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
        mask = (ids[:, : out.size(1)] != 0).unsqueeze(-1)
        loss = F.cross_entropy(head((out * mask).sum(1) / lengths.unsqueeze(1)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    def batch(number):
        lengths = whole(number, 6, 8) + 1
        ids = (whole(number, 10, 8, 6) + 1) * (torch.arange(6) < lengths[:, None])
        return ids, lengths, whole(number + 9, 3, 8)

    return step, each_step(batch)


class Propagation(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.own, self.others = nn.Linear(width, out), nn.Linear(width, out, bias=False)

    def forward(self, x, edges):
        source, target = edges
        gathered = torch.zeros_like(x).index_add_(0, target, x[source])
        count = torch.zeros(x.size(0), dtype=x.dtype).scatter_add_(0, target, torch.ones(target.size(0), dtype=x.dtype))
        return self.own(x) + self.others(gathered / count.clamp(min=1).unsqueeze(-1))


@program
def graph_network():
    first, second = Propagation(6, 16), Propagation(16, 3)
    optimizer = optim.Adam([*first.parameters(), *second.parameters()], lr=0.01, weight_decay=5e-4)

    def step(x, edges, y, mask):
        hidden = F.dropout(F.relu(first(x, edges)), p=0.5, training=True)
        loss = F.cross_entropy(second(hidden, edges)[mask], y[mask])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    def batch(number):
        x, y = labelled(number, 20)
        return x, whole(number, 20, 2, 60), y, torch.arange(20) % 3 != 0

    return step, each_step(batch)


@program
def distillation():
    teacher, student = perceptron().eval(), perceptron(hidden=8)
    optimizer = optim.Adam(student.parameters(), lr=0.01)

    def step(x, y, temperature=2.0):
        with torch.inference_mode():
            goal = teacher(x)
        out = student(x)
        soft = F.kl_div(
            F.log_softmax(out / temperature, dim=-1), F.softmax(goal / temperature, dim=-1), reduction="batchmean"
        )
        loss = 0.7 * soft * temperature**2 + 0.3 * F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, each_step(labelled)


@program
def contrastive():
    encoder, projector = (
        perceptron(out=8),
        nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4)),
    )
    optimizer = optim.SGD([*encoder.parameters(), *projector.parameters()], lr=0.02)

    def step(x, other):
        features = F.normalize(projector(encoder(torch.cat([x, other]))), dim=1)
        labels = torch.cat([torch.arange(x.size(0)) for _ in range(2)])
        labels = (labels.unsqueeze(0) == labels.unsqueeze(1)).to(features.dtype)
        similar = features @ features.T
        mask = torch.eye(labels.shape[0], dtype=torch.bool)
        labels, similar = labels[~mask].view(labels.shape[0], -1), similar[~mask].view(labels.shape[0], -1)
        positives = similar[labels.bool()].view(labels.shape[0], -1)
        negatives = similar[~labels.bool()].view(labels.shape[0], -1)
        logits = torch.cat([positives, negatives], dim=1) / 0.07
        loss = F.cross_entropy(logits, torch.zeros(logits.shape[0], dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, each_step(lambda number: (drawn(number, 8, 6), drawn(number + 60, 8, 6)))


class Sharpness(optim.Optimizer):
    def __init__(self, parameters, base, rho=0.05, **options):
        super().__init__(parameters, {"rho": rho, **options})
        self.base = base(self.param_groups, **options)
        self.param_groups = self.base.param_groups

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        norm = torch.norm(
            torch.stack(
                [p.grad.norm(p=2) for group in self.param_groups for p in group["params"] if p.grad is not None]
            ),
            p=2,
        )
        for group in self.param_groups:
            scale = group["rho"] / (norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad * scale.to(p))
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data = self.state[p]["old_p"]
        self.base.step()
        if zero_grad:
            self.zero_grad()


@program
def sharpness_aware():
    model = perceptron()
    optimizer = Sharpness(model.parameters(), optim.SGD, lr=0.1, momentum=0.9)

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.first_step(zero_grad=True)
        F.cross_entropy(model(x), y).backward()
        optimizer.second_step(zero_grad=True)
        return loss

    return step, each_step(labelled)


class Adapted(nn.Module):
    def __init__(self, linear, rank=2):
        super().__init__()
        self.linear, self.scale = linear.requires_grad_(False), 1 / rank
        self.down = nn.Parameter(torch.randn(rank, linear.in_features) * 0.1)
        self.up = nn.Parameter(torch.zeros(linear.out_features, rank))

    def forward(self, x):
        return self.linear(x) + (x @ self.down.T @ self.up.T) * self.scale


@program
def low_rank_adapters():
    model = perceptron()
    for name, child in list(model.named_children()):
        if isinstance(child, nn.Linear):
            setattr(model, name, Adapted(child))
    optimizer = optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=0.01)
    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        return loss

    return step, each_step(labelled)


class Straight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bound):
        ctx.save_for_backward(x)
        ctx.bound = bound
        return x.clamp(-bound, bound).sign()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= ctx.bound), None


@program
def own_function():
    model = nn.ModuleList([nn.Linear(6, 16), nn.Linear(16, 3)])
    optimizer = optim.Adam(model.parameters(), lr=0.01)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model[1](Straight.apply(model[0](x), 1.0)), y)
        loss.backward()
        optimizer.step()
        return loss

    return step, each_step(labelled)


@program
def normed_weights():
    norm = nn.utils.parametrizations
    model = nn.Sequential(
        norm.weight_norm(nn.Linear(6, 16)), nn.ELU(), norm.spectral_norm(nn.Linear(16, 16)), nn.SiLU(), nn.Linear(16, 3)
    )
    optimizer = optim.NAdam(model.parameters(), lr=0.01)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step, each_step(labelled)


class Experts(nn.Module):
    def __init__(self, width=6, count=4, chosen=2):
        super().__init__()
        self.gate, self.chosen = nn.Linear(width, count), chosen
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 8), nn.GELU(), nn.Linear(8, width)) for _ in range(count)
        )

    def forward(self, x):
        weights, chosen = torch.topk(self.gate(x), self.chosen)
        weights = F.softmax(weights, dim=-1)
        gates = torch.zeros(x.size(0), len(self.experts), dtype=x.dtype)
        gates.index_put_((torch.arange(x.size(0)).unsqueeze(1), chosen), weights)
        out = sum(gates[:, at, None] * expert(x) for at, expert in enumerate(self.experts))
        load = (gates > 0).to(x.dtype).mean(0)
        return x + out, (load * gates.mean(0)).sum() * len(self.experts)


@program
def mixture_of_experts():
    layer, head = Experts(), nn.Linear(6, 3)
    optimizer = optim.AdamW([*layer.parameters(), *head.parameters()], lr=0.01)

    def step(x, y):
        out, balance = layer(x)
        loss = F.cross_entropy(head(out), y) + 0.01 * balance
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, each_step(labelled)


class ConditionalField(nn.Module):
    def __init__(self, tags=4):
        super().__init__()
        self.between = nn.Parameter(torch.empty(tags, tags).uniform_(-0.1, 0.1))
        self.start = nn.Parameter(torch.empty(tags).uniform_(-0.1, 0.1))
        self.end = nn.Parameter(torch.empty(tags).uniform_(-0.1, 0.1))

    def forward(self, scores, tags, mask):
        return (self.partition(scores, mask) - self.score(scores, tags, mask)).mean()

    def score(self, scores, tags, mask):
        length, batch = tags.shape
        at = torch.arange(batch)
        total = self.start[tags[0]] + scores[0, at, tags[0]]
        for i in range(1, length):
            total = total + (self.between[tags[i - 1], tags[i]] + scores[i, at, tags[i]]) * mask[i]
        last = mask.long().sum(dim=0) - 1
        return total + self.end[tags[last, at]]

    def partition(self, scores, mask):
        total = self.start + scores[0]
        for i in range(1, scores.size(0)):
            following = torch.logsumexp(total.unsqueeze(2) + self.between + scores[i].unsqueeze(1), dim=1)
            total = torch.where(mask[i].unsqueeze(1), following, total)
        return torch.logsumexp(total + self.end, dim=1)


@program
def conditional_random_field():
    model, encoder = ConditionalField(), nn.Linear(6, 4)
    optimizer = optim.Adam([*model.parameters(), *encoder.parameters()], lr=0.05)

    def step(x, tags, mask):
        optimizer.zero_grad()
        loss = model(encoder(x), tags, mask)
        loss.backward()
        optimizer.step()
        return loss

    def batch(number):
        lengths = whole(number, 5, 4) + 1
        return drawn(number, 5, 4, 6), whole(number, 4, 5, 4), torch.arange(5)[:, None] < lengths

    return step, each_step(batch)


class Decoder(nn.Module):
    def __init__(self, width=16, heads=2, words=13):
        super().__init__()
        self.heads, self.words = heads, nn.Embedding(words, width)
        self.places, self.head = nn.Embedding(32, width), nn.Linear(width, words)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.wide = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, ids, cache=None):
        past = 0 if cache is None else cache[0].size(2)
        x = self.words(ids) + self.places(torch.arange(past, past + ids.size(1)))
        batch, length, width = x.shape
        q, k, v = (
            each.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for each in self.qkv(self.first(x)).split(width, dim=2)
        )
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
        mask = torch.tril(torch.ones(length, k.size(2), dtype=torch.bool), diagonal=past)
        attended = scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return self.head(x + self.wide(self.second(x))), (k, v)


@program
def generation_with_cache():
    model = Decoder()
    optimizer = optim.AdamW(model.parameters(), lr=0.01)

    def generate(ids, count):
        logits, cache = model(ids)
        for _ in range(count):
            chosen = logits[:, -1].argmax(-1, keepdim=True)
            ids = torch.cat([ids, chosen], dim=1)
            logits, cache = model(chosen, cache)
        return ids

    def step(ids):
        logits, _ = model(ids[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, 13), ids[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            text = generate(ids[:, :2], 4)
        return loss + text.sum()

    return step, each_step(lambda number: (whole(number, 13, 3, 8),))


@program
def beam_search():
    model = Decoder()
    optimizer = optim.Adam(model.parameters(), lr=0.01)

    @torch.no_grad()
    def search(ids, width=3, length=4):
        beams, scores = ids, torch.zeros(1)
        for _ in range(length):
            logits = model(beams)[0][:, -1].log_softmax(-1)
            total = (scores[:, None] + logits).view(-1)
            scores, at = total.topk(width)
            rows, words = torch.div(at, logits.size(-1), rounding_mode="floor"), at % logits.size(-1)
            beams = torch.cat([beams[rows], words[:, None]], dim=1)
        return beams[scores.argmax()], scores.max()

    def step(ids):
        optimizer.zero_grad()
        logits, _ = model(ids[:, :-1])
        loss = F.cross_entropy(logits.transpose(1, 2), ids[:, 1:])
        loss.backward()
        optimizer.step()
        best, score = search(ids[:1, :1])
        return loss.detach() + score + best.sum()

    return step, each_step(lambda number: (whole(number, 13, 3, 8),))


@program
def policy_gradient():
    actor, critic = perceptron(out=4), perceptron(out=1)
    optimizer = optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01)

    def step(state, reward):
        policy = torch.distributions.Categorical(logits=actor(state))
        action = policy.sample()
        returns = torch.zeros_like(reward)
        following = torch.zeros(())
        for at in reversed(range(reward.size(0))):
            following = reward[at] + 0.9 * following
            returns[at] = following
        value = critic(state).squeeze(-1)
        advantage = returns - value.detach()
        loss = (
            -(policy.log_prob(action) * advantage).mean() + F.mse_loss(value, returns) - 0.01 * policy.entropy().mean()
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, each_step(lambda number: (drawn(number, 8, 6), drawn(-number, 8)))


@program
def normal_divergence():
    encoder, decoder = nn.Linear(6, 8), nn.Linear(4, 6)
    optimizer = optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)

    def step(x):
        mean, spread = encoder(x).chunk(2, dim=-1)
        posterior = torch.distributions.Normal(mean, F.softplus(spread))
        prior = torch.distributions.Normal(torch.zeros_like(mean), torch.ones_like(spread))
        divergence = torch.distributions.kl_divergence(posterior, prior).sum(-1)
        loss = (F.mse_loss(decoder(posterior.rsample()), x, reduction="none").sum(-1) + divergence).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, each_step(lambda number: (drawn(number, 16, 6),))


@program
def without_autocast_inside():
    model, head = perceptron(out=8), nn.Linear(8, 3)
    optimizer = optim.SGD([*model.parameters(), *head.parameters()], lr=0.05)

    def step(x, y):
        hidden = model(x)
        with torch.autocast("cpu", enabled=False):
            loss = F.cross_entropy(head(hidden), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, each_step(labelled)


@program
def activations_by_hooks():
    model = perceptron()
    seen = {}
    for name, layer in model.named_children():
        layer.register_forward_hook(lambda module, inputs, out, name=name: seen.__setitem__(name, out.detach().mean()))
    optimizer = optim.Adam(model.parameters(), lr=0.01)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y) + 1e-3 * sum(seen.values())
        loss.backward()
        optimizer.step()
        return loss

    return step, each_step(labelled)


@program
def chosen_by_index():
    model = perceptron()
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    def step(x, y, t):
        noise = torch.linspace(0.1, 1.0, 10)[t]
        out = model(x + noise * torch.randn_like(x))
        worst = F.cross_entropy(out, y, reduction="none").argmax()
        loss = F.cross_entropy(out, y) + out[worst].logsumexp(0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, each_step(lambda number: (*labelled(number), whole(number, 10)))
