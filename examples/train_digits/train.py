"""Trains a convolutional network on handwritten digits, and draws the curve of its losses.

    python examples/train_digits/train.py [--epochs N] [--output DIR] [--library torch] [--eager]

The forward pass is compiled; gradients and the optimizer are those of the library. A run that was stopped goes on
from its last epoch. With --library torch the same program runs on PyTorch, from the same initial weights: the losses
agree within 1 %.
"""

import argparse
import importlib
import random
import sys
import time
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1] / "digits"), str(Path(__file__).parents[1])]
from files import read_digits, read_expected  # noqa: E402  of the example beside this one
from progress import draw_curve, say, with_bar  # noqa: E402

BATCH = 64


def make_network(lib: Any) -> Any:
    """Two convolutions and two layers over images of 8 x 8 pixels; initial weights do not depend on the library."""
    nn = lib.nn
    network = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(256, 64),
        nn.GELU(),
        nn.Linear(64, 10),
    )
    numbers = random.Random(0)
    with lib.no_grad():
        for parameter in network.parameters():
            if parameter.dim() > 1:
                width = (3 / parameter[0].numel()) ** 0.5
                values = [numbers.uniform(-width, width) for _ in range(parameter.numel())]
                parameter.copy_(lib.tensor(values).reshape(parameter.shape))
            elif parameter.shape[0] in (10, 64):
                parameter.zero_()
    return network


class Digits:
    """The images in [0, 1] and their labels, in a part to train on and one to test with."""

    def __init__(self, lib: Any) -> None:
        rows, labels = read_digits()
        _, held_out = read_expected()
        apart = set(held_out)
        self.to_train = [i for i in range(len(rows)) if i not in apart]
        self.images = (lib.tensor(rows) / 16).reshape(-1, 1, 8, 8)
        self.labels = lib.tensor(labels)
        self.held_out = lib.tensor(held_out)
        self._lib = lib

    def batches(self, epoch: int) -> list[tuple[Any, Any]]:
        """Of an epoch, in an order of its own."""
        order = list(self.to_train)
        random.Random(epoch).shuffle(order)
        parts = [self._lib.tensor(order[start : start + BATCH]) for start in range(0, len(order), BATCH)]
        return [(self.images[part], self.labels[part]) for part in parts]


class Training:
    """A network, its optimizer and the losses so far, kept in a file after each epoch."""

    def __init__(self, lib: Any, checkpoint: Path, compiles: bool) -> None:
        self.lib = lib
        self.network = make_network(lib)
        self.optimizer = lib.optim.Adam(self.network.parameters(), lr=0.002)
        self.losses: list[float] = []
        self.epoch = 0
        self.checkpoint = checkpoint
        self.forward = lib.compile(self.network) if compiles else self.network
        if checkpoint.exists():
            state = lib.load(checkpoint)
            self.network.load_state_dict(state["network"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.losses, self.epoch = state["losses"], state["epoch"]
            print(f"goes on from {checkpoint}, after epoch {self.epoch}")

    def run_epoch(self, digits: Digits) -> None:
        self.network.train()
        for images, labels in digits.batches(self.epoch):
            self.optimizer.zero_grad()
            loss = self.lib.nn.functional.cross_entropy(self.forward(images), labels)
            loss.backward()
            self.optimizer.step()
            self.losses.append(loss.item())
        self.epoch += 1
        self.save()

    def save(self) -> None:
        state = {
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "losses": self.losses,
            "epoch": self.epoch,
        }
        fresh = self.checkpoint.with_suffix(".new")
        self.lib.save(state, fresh)
        fresh.replace(self.checkpoint)

    def accuracy(self, digits: Digits) -> float:
        self.network.eval()
        with self.lib.no_grad():
            found = self.network(digits.images[digits.held_out]).argmax(1)
        return float((found == digits.labels[digits.held_out]).float().mean().item())


def main(arguments: list[str] | None = None) -> list[float]:
    parser = argparse.ArgumentParser(description="Trains a network on handwritten digits.")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--output", type=Path, default=Path("train_digits"))
    parser.add_argument("--library", choices=("minidynamo", "torch"), default="minidynamo")
    parser.add_argument("--eager", action="store_true", help="without compile()")
    options = parser.parse_args(arguments)
    lib = importlib.import_module(options.library)
    options.output.mkdir(parents=True, exist_ok=True)

    digits = Digits(lib)
    compiles = not options.eager and options.library == "minidynamo"
    training = Training(lib, options.output / f"{options.library}.pt", compiles)
    start, first = time.perf_counter(), training.epoch
    for epoch in with_bar(range(first, options.epochs), options.epochs, "epoch"):
        training.run_epoch(digits)
        accuracy = training.accuracy(digits)
        say(f"epoch {epoch + 1}: loss {training.losses[-1]:.4f}, {accuracy:.2%} of the held-out images")
    seconds = time.perf_counter() - start
    if training.epoch > first:
        print(f"{training.epoch - first} epochs in {seconds:.1f} s")
    curve = options.output / f"{options.library}.svg"
    draw_curve(training.losses, curve)
    print(f"accuracy {training.accuracy(digits):.2%}; the curve is in {curve}")
    return training.losses


if __name__ == "__main__":
    main()
