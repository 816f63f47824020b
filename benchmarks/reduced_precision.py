"""Our own float32 beside compile(options={"precision": "bfloat16"}) and {"weights": "int8"}, in one process.

Calls of all take turns, so that noise hits them alike. Printed are the ratios of times, the median of the rounds' and
that of the fastest calls, and the largest error of a result, relative to the largest result.
"""

import argparse
import statistics
import time

import minidynamo
from minidynamo import nn

OPTIONS = {
    "float32": {},
    "bfloat16": {"precision": "bfloat16"},
    "int8": {"weights": "int8"},
    "both": {"precision": "bfloat16", "weights": "int8"},
}


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.joined, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.joined(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.narrow(nn.functional.gelu(self.wide(self.second(x))))


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, channels // 4, 1),
            nn.ReLU(),
            nn.Conv2d(channels // 4, channels // 4, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(channels // 4, channels, 1),
        )

    def forward(self, x):
        return nn.functional.relu(x + self.body(x))


def mlp():
    return nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024))


def resnet():
    """The bottlenecks of ResNet-50, two of each size."""
    layers = [nn.Conv2d(3, 64, 7, stride=2, padding=3), nn.ReLU(), nn.MaxPool2d(3, 2, 1), nn.Conv2d(64, 256, 1)]
    for channels in (256, 512, 1024, 2048):
        layers += [Residual(channels), Residual(channels)]
        if channels < 2048:
            layers += [nn.Conv2d(channels, 2 * channels, 1, stride=2), nn.ReLU()]
    return nn.Sequential(*layers)


def plain_resnet():
    """3 x 3 convolutions only, as in ResNet-18."""
    layers = [nn.Conv2d(3, 64, 7, stride=2, padding=3), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    for channels in (64, 128, 256, 512):
        layers += [nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU()] * 3
        if channels < 512:
            layers += [nn.Conv2d(channels, 2 * channels, 3, stride=2, padding=1), nn.ReLU()]
    return nn.Sequential(*layers)


MODELS = {
    "MLP 1024-4096-1024, 1 row": (mlp, (1, 1024)),
    "MLP 1024-4096-1024, 32 rows": (mlp, (32, 1024)),
    "MLP 1024-4096-1024, 256 rows": (mlp, (256, 1024)),
    "4 GPT blocks, d 768, 128 tokens": (lambda: nn.Sequential(*(Block(768, 12) for _ in range(4))), (1, 128, 768)),
    "4 GPT blocks, d 768, 512 tokens": (lambda: nn.Sequential(*(Block(768, 12) for _ in range(4))), (1, 512, 768)),
    "bottlenecks of ResNet-50, 224 x 224": (resnet, (1, 3, 224, 224)),
    "3 x 3 convolutions of ResNet-18, 224 x 224": (plain_resnet, (1, 3, 224, 224)),
}


def measure(name, rounds, clock):
    make, shape = MODELS[name]
    minidynamo.manual_seed(0)
    model = make().eval()
    x = minidynamo.randn(*shape)
    calls = {option: minidynamo.compile(model, options=dict(given)) for option, given in OPTIONS.items()}
    results = {}
    for option, call in calls.items():
        for _ in range(5):  # weights are packed on the way
            results[option] = call(x)
    times = {option: [] for option in calls}
    for _ in range(rounds):
        for option, call in calls.items():
            start = clock()
            call(x)
            times[option].append(clock() - start)
    largest = results["float32"].abs().max().item()
    print(f"\n### {name}\n\n| | fastest, us | float32 / it, median of rounds | of the fastest | error |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for option, samples in times.items():
        ratio = statistics.median(base / own for base, own in zip(times["float32"], samples, strict=True))
        fastest = min(times["float32"]) / min(samples)
        error = (results[option] - results["float32"]).abs().max().item() / largest
        print(f"| {option} | {min(samples) * 1e6:.0f} | {ratio:.2f} | {fastest:.2f} | {error:.1e} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rows", default="", help="only models whose name contains this")
    arguments = parser.parse_args()
    minidynamo.set_num_threads(arguments.threads)
    # With one thread its processor time, so that what other programs take does not count.
    clock = time.thread_time if arguments.threads == 1 else time.perf_counter
    with minidynamo.no_grad():
        for name in MODELS:
            if arguments.rows in name:
                measure(name, arguments.rounds, clock)


if __name__ == "__main__":
    main()
