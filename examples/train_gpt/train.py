"""Trains a small GPT on the characters of a text, draws the curve of its losses, and writes some text of its own.

    python examples/train_gpt/train.py [--text FILE] [--steps N] [--sample N] [--library torch] [--eager]

The whole step is compiled: forward, backward, clipping, AdamW and the schedule of its rate are one graph. A run that
was killed goes on from its checkpoint, with the losses that it would have had. With --library torch the same program
runs on PyTorch, from the same initial weights and with the same batches: the losses agree within 1 %.
"""

import argparse
import math
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
import checkpoint  # noqa: E402  which the other examples use too, as progress
from characters import Characters, read_text  # noqa: E402
from checkpoint import InputError  # noqa: E402
from command_line import make_parser, positive, require_rate, set_up  # noqa: E402
from gpt import draw_weights, make_gpt, parameter_groups  # noqa: E402
from progress import draw_curve, say, with_bar  # noqa: E402

# What a run's losses depend on, beside the text: a checkpoint goes on with the same ones only.
SETTINGS = ("steps", "layers", "heads", "width", "context", "batch", "lr", "seed", "double")
HELD_OUT_BATCHES = 4
TEMPERATURE = 0.8


class Training:
    """A model, its optimizer and schedule, the batches still to come and the losses so far."""

    def __init__(self, lib: Any, characters: Characters, options: argparse.Namespace) -> None:
        self.lib, self.characters, self.options = lib, characters, options
        self.settings = {name: getattr(options, name) for name in SETTINGS} | {"text": characters.digest}
        self.model = make_gpt(
            lib, len(characters.alphabet), options.context, options.layers, options.heads, options.width
        )
        if options.double:
            self.model.double()
        draw_weights(lib, self.model, options.layers, options.seed)
        self.optimizer = lib.optim.AdamW(parameter_groups(self.model), lr=options.lr, betas=(0.9, 0.99))
        self.schedule = lib.optim.lr_scheduler.LambdaLR(self.optimizer, rate_over(options.steps))
        self.generator = lib.Generator().manual_seed(options.seed)
        self.losses: list[float] = []
        self.held_out_losses: list[tuple[int, float]] = []
        compiles = options.library == "minidynamo" and not options.eager
        self.step = lib.compile(self.take_step, fullgraph=True) if compiles else self.take_step
        self.measure = lib.compile(self.loss, fullgraph=True) if compiles else self.loss
        # One graph for the first character and, as sizes are dynamic, one for all longer texts.
        self.odds = lib.compile(self.next_odds, fullgraph=True, dynamic=True) if compiles else self.next_odds

    def loss(self, windows: Any) -> Any:
        logits = self.model(windows[:, :-1])
        return self.lib.nn.functional.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())

    def take_step(self, windows: Any) -> Any:
        self.optimizer.zero_grad()
        loss = self.loss(windows)
        loss.backward()
        self.lib.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        return loss

    def run(self) -> None:
        steps, every = self.options.steps, self.options.every
        first, start = len(self.losses), time.perf_counter()
        for step in with_bar(range(first, steps), steps, "step"):
            windows = self.characters.batch(self.characters.to_train, self.options.batch, self.generator)
            self.losses.append(self.step(windows).item())
            if (step + 1) % every == 0 or step + 1 == steps:
                self.held_out_losses.append((step + 1, self.held_out_loss()))
                self.save()
                rate = (step + 1 - first) / (time.perf_counter() - start)
                say(f"step {step + 1}: {self.latest_losses()}, {rate:.1f} steps/s")

    def latest_losses(self) -> str:
        latest = self.losses[-self.options.every :]
        return f"loss {sum(latest) / len(latest):.4f}, held out {self.held_out_losses[-1][1]:.4f}"

    def held_out_loss(self) -> float:
        """On the same batches each time."""
        generator = self.lib.Generator().manual_seed(self.options.seed)
        total = 0.0
        with self.lib.no_grad():
            for _ in range(HELD_OUT_BATCHES):
                windows = self.characters.batch(self.characters.held_out, self.options.batch, generator)
                total += self.measure(windows).item()
        return total / HELD_OUT_BATCHES

    def parts(self) -> dict[str, Any]:
        return {"model": self.model, "optimizer": self.optimizer, "schedule": self.schedule}

    def save(self) -> None:
        checkpoint.save(self, held_out_losses=self.held_out_losses)

    def go_on(self) -> None:
        """From the checkpoint, if there is one."""
        if state := checkpoint.restore(self, {"held_out_losses"}, trained_on={"text": "another text"}):
            self.held_out_losses = state["held_out_losses"]

    def next_odds(self, ids: Any) -> Any:
        """Of each character after the ids [1, length]."""
        logits = self.model(ids)[:, -1]
        return self.lib.nn.functional.softmax(logits / TEMPERATURE, -1)

    def write(self, count: int) -> str:
        """Characters drawn one after another, from a line's end on."""
        generator = self.lib.Generator().manual_seed(self.options.seed)
        start = "\n" if "\n" in self.characters.alphabet else self.characters.alphabet[0]
        window = self.characters.encode(self.lib, start).unsqueeze(0)
        written: list[int] = []
        with self.lib.no_grad():
            for _ in range(count):
                drawn = self.lib.multinomial(self.odds(window), 1, generator=generator)
                written.append(drawn.item())
                last = window[:, max(window.shape[1] + 1 - self.options.context, 0) :]
                window = self.lib.cat([last, drawn], 1)
        return self.characters.decode(written)


def rate_over(steps: int) -> Any:
    """Of the highest rate: up in the first steps, then half a cosine down to a tenth."""
    rise = max(min(steps // 3, 100), 1)

    def rate(step: int) -> float:
        return min((step + 1) / rise, 1.0) * (0.55 + 0.45 * math.cos(math.pi * step / steps))

    return rate


def own_parser() -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = make_parser("Trains a small GPT on the characters of a text.", "train_gpt", 100)
    parser.add_argument("--text", type=Path, help="a file in UTF-8; without it, this project's documentation")
    parser.add_argument("--steps", type=positive, default=3000)
    parser.add_argument("--layers", type=positive, default=2)
    parser.add_argument("--heads", type=positive, default=4)
    parser.add_argument("--width", type=positive, default=64, help="of the rows of the model")
    parser.add_argument("--context", type=positive, default=64, help="characters that the model sees")
    parser.add_argument("--batch", type=positive, default=16)
    parser.add_argument("--lr", type=float, default=4e-3, help="the highest rate")
    parser.add_argument("--sample", type=int, default=500, help="characters to write at the end")
    return parser


def make_training(lib: Any, options: argparse.Namespace) -> Training:
    if options.width % options.heads:
        raise InputError(f"--width {options.width} is no multiple of --heads {options.heads}")
    require_rate(options, "lr")
    return Training(lib, Characters(lib, read_text(options.text), options.context), options)


def main(arguments: list[str] | None = None) -> Training:
    training: Training = set_up(own_parser(), arguments, make_training)
    options = training.options
    start = time.perf_counter()
    training.run()
    curve = options.checkpoint.with_suffix(".svg")
    draw_curve(training.losses, curve, training.held_out_losses)
    print(f"{training.latest_losses()}; {time.perf_counter() - start:.1f} s; the curve is in {curve}")
    if options.sample > 0:
        print(training.write(options.sample))
    return training


if __name__ == "__main__":
    main()
