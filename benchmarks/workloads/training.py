"""Training steps, written once for torch and minidynamo: a model, its loss on a batch, its optimizer.

The sizes are those of the design's notes on training. Parameters and batches come from one NumPy seed.
"""

import numpy

# By workload: the optimizer, its options, and the norm that gradients are clipped to, or None.
UPDATES = {
    "logistic": ("SGD", {"lr": 0.1}, None),
    "mlp": ("Adam", {"lr": 1e-3}, None),
    "cnn": ("SGD", {"lr": 0.05}, None),
    "gpt": ("AdamW", {"lr": 1e-3, "weight_decay": 0.1}, 1.0),
    "lstm": ("Adam", {"lr": 1e-3}, 1.0),
}


class Workload:
    """model: a module; loss(model, *batch): a number."""

    def __init__(self, name, model, loss, batch):
        self.model, self.loss, self.batch = model, loss, batch
        self.optimizer, self.options, self.clip = UPDATES[name]

    def make_optimizer(self, torch):
        return getattr(torch.optim, self.optimizer)(self.model.parameters(), **self.options)


def drawn_parameters(shapes, seed=0):
    """Of the size that layers draw them in, as arrays of NumPy."""
    generator = numpy.random.default_rng(seed)
    for shape in shapes:
        width = shape[-1] if len(shape) > 1 else 16
        yield (generator.uniform(-1, 1, tuple(shape)) / width**0.5).astype("float32")


def drawn_numbers(*shape, seed=1):
    return numpy.random.default_rng(seed).standard_normal(shape).astype("float32")


def drawn_classes(count, *shape, seed=2):
    return numpy.random.default_rng(seed).integers(count, size=shape)


def filled(torch, model):
    parameters = list(model.parameters())
    with torch.no_grad():
        for parameter, values in zip(parameters, drawn_parameters([p.shape for p in parameters]), strict=True):
            parameter.copy_(torch.from_numpy(values))
    return model


def numbers(torch, *shape):
    return torch.from_numpy(drawn_numbers(*shape))


def classes(torch, count, *shape, seed=2):
    return torch.from_numpy(drawn_classes(count, *shape, seed=seed))


def logistic(torch):
    F = torch.nn.functional
    model = filled(torch, torch.nn.Linear(30, 1))

    def loss(model, x, y):
        return F.binary_cross_entropy_with_logits(model(x), y)

    batch = numbers(torch, 64, 30), classes(torch, 2, 64, 1).to(torch.float32)
    return Workload("logistic", model, loss, batch)


def cross_entropy(torch):
    def loss(model, x, y):
        return torch.nn.functional.cross_entropy(model(x), y)

    return loss


def mlp(torch):
    nn = torch.nn
    model = filled(
        torch, nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))
    )
    batch = numbers(torch, 128, 784), classes(torch, 10, 128)
    return Workload("mlp", model, cross_entropy(torch), batch)


def cnn(torch):
    nn = torch.nn
    layers = [
        *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(32 * 7 * 7, 10)),
    ]
    model = filled(torch, nn.Sequential(*layers))
    batch = numbers(torch, 64, 1, 28, 28), classes(torch, 10, 64)
    return Workload("cnn", model, cross_entropy(torch), batch)


def gpt(torch, layers=4, width=128, heads=4, length=64, vocabulary=65):
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            batch = x.shape[0]
            parts = self.qkv(self.before(x)).split(width, dim=2)
            q, k, v = [part.view(batch, length, heads, width // heads).transpose(1, 2) for part in parts]
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
            return x + self.down(F.gelu(self.up(self.between(x))))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
            self.blocks = nn.Sequential(*[Block() for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

        def forward(self, ids):
            places = torch.arange(ids.shape[1])
            return self.head(self.norm(self.blocks(self.tokens(ids) + self.places(places))))

    model = filled(torch, Model())

    def loss(model, ids, targets):
        return F.cross_entropy(model(ids).view(-1, vocabulary), targets.view(-1))

    batch = classes(torch, vocabulary, 8, length), classes(torch, vocabulary, 8, length, seed=3)
    return Workload("gpt", model, loss, batch)


def lstm(torch):
    nn, F = torch.nn, torch.nn.functional

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.layer = nn.Embedding(65, 64), nn.LSTM(64, 128, batch_first=True)
            self.head = nn.Linear(128, 65)

        def forward(self, ids):
            return self.head(self.layer(self.tokens(ids))[0])

    model = filled(torch, Model())

    def loss(model, ids, targets):
        return F.cross_entropy(model(ids).view(-1, 65), targets.view(-1))

    batch = classes(torch, 65, 16, 32), classes(torch, 65, 16, 32, seed=3)
    return Workload("lstm", model, loss, batch)


WORKLOADS = {"logistic": logistic, "mlp": mlp, "cnn": cnn, "gpt": gpt, "lstm": lstm}
