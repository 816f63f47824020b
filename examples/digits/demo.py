"""Classifies handwritten digits through a compiled function, and shows what was captured.

Run it with `python examples/digits/demo.py`. NumPy is not needed; if it is there, its speed is compared.
"""

import importlib
import importlib.util
import logging
import sys
import time
from collections.abc import Callable
from typing import Any

from files import WEIGHTS, read_digits, read_expected
from model import Layers, classify, classify_aloud, classify_with_numpy

import minidynamo
from minidynamo import Tensor, safetensors

numpy: Any = importlib.import_module("numpy") if importlib.util.find_spec("numpy") else None


class Records(logging.Handler):
    """Keeps what minidynamo logs, by the name of the log."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[str, list[str]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.setdefault(record.name.rpartition(".")[2], []).append(record.getMessage())

    def take(self, name: str) -> list[str]:
        return self.texts.pop(name, [])


def main() -> int:
    records = Records()
    logging.getLogger().addHandler(records)
    minidynamo._logging.set_logs(graph_code=True, guards=True, graph_breaks=True)

    rows, labels = read_digits()
    images = minidynamo.tensor(rows)
    layers = load_layers()
    heading("Input")
    say("images", f"{tuple(images.shape)} of {images.dtype}")
    say("layers", ", ".join(f"{tuple(weight.shape)} + {tuple(bias.shape)}" for weight, bias in layers))
    show_image(rows[0], labels[0])

    wrong = classify_all(images, layers, labels)
    show_capture(records)
    wrong += show_break(images, layers, records)
    show_times(images, layers)
    return 1 if wrong else 0


def load_layers() -> Layers:
    weights = safetensors.load_file(WEIGHTS)
    count = len(weights) // 2
    return [(weights[f"layers.{i}.weight"], weights[f"layers.{i}.bias"]) for i in range(count)]


def classify_all(images: Tensor, layers: Layers, labels: list[int]) -> int:
    """Returns how many of the predictions are not those of scikit-learn."""
    compiled = minidynamo.compile(classify)
    start = time.perf_counter()
    classes, confidence = compiled(images, layers)
    first = time.perf_counter() - start
    predictions = classes.tolist()

    expected, held_out = read_expected()
    correct = sum(predictions[index] == labels[index] for index in held_out)
    same = sum(map(int.__eq__, predictions, expected))
    heading("Predictions")
    say("first image", f"a {predictions[0]}, with confidence {confidence[0].item():.3f}")
    say("held out", f"{correct} of {len(held_out)} correct, accuracy {correct / len(held_out):.2%}")
    say("scikit-learn", f"predicts the same for {same} of {len(expected)} images")
    say("first call", f"{first * 1e3:.2f} ms, of which compiling took {count_engine()['capture_ns'] / 1e6:.2f} ms")
    return len(expected) - same


def show_capture(records: Records) -> None:
    counts = count_engine()
    heading("What was captured")
    say("graphs", counts["graphs_captured"])
    say("graph breaks", counts["graph_breaks"])
    show_text(records.take("graph_code"))
    heading("Its guards")
    show_text(records.take("guards"))


def show_break(images: Tensor, layers: Layers, records: Records) -> int:
    """The variant that prints; returns 1 if it computes something else."""
    before = count_engine()
    heading("The same with a print in the middle")
    predictions, _ = minidynamo.compile(classify_aloud)(images, layers)
    counts = {name: count - before[name] for name, count in count_engine().items()}
    say("graphs", counts["graphs_captured"])
    say("graph breaks", counts["graph_breaks"])
    same = predictions.tolist() == classify(images, layers)[0].tolist()
    say("predictions", "the same" if same else "NOT the same")
    print("  the records of the log graph_breaks:\n")
    show_text(records.take("graph_breaks"))
    print("  the graphs on both sides:\n")
    show_text(records.take("graph_code"))
    return 0 if same else 1


def show_times(images: Tensor, layers: Layers) -> None:
    minidynamo._logging.set_logs()
    compiled = minidynamo.compile(classify)
    heading("Time per call, the fastest of many, in microseconds")
    columns = {"1 image": images[0:1], f"{len(images)} images": images}
    runs: dict[str, tuple[Callable[..., Any], dict[str, Any], Any]]
    runs = {"compiled": (compiled, columns, layers), "eager": (classify, columns, layers)}
    if numpy is not None:
        arrays = {name: numpy.asarray(part.tolist(), dtype=numpy.float32) for name, part in columns.items()}
        pairs = [tuple(numpy.asarray(t.tolist(), dtype=numpy.float32) for t in pair) for pair in layers]
        runs[f"NumPy {numpy.__version__}"] = (classify_with_numpy, arrays, pairs)
    print(f"  {'':14}" + "".join(f"{name:>16}" for name in columns))
    for label, (function, parts, weights) in runs.items():
        times = [fastest(function, part, weights) for part in parts.values()]
        print(f"  {label:14}" + "".join(f"{seconds * 1e6:16.1f}" for seconds in times))


def fastest(function: Callable[..., Any], *args: Any, rounds: int = 60) -> float:
    for _ in range(5):
        function(*args)
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        function(*args)
        times.append(time.perf_counter() - start)
    return min(times)


def count_engine() -> dict[str, int]:
    return minidynamo._C.engine_counters()


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


def say(name: str, value: object) -> None:
    print(f"  {name:14}{value}")


def show_text(texts: list[str]) -> None:
    for text in texts:
        print("\n".join(f"    {line}".rstrip() for line in text.strip().split("\n")), end="\n\n")


def show_image(pixels: list[float], label: int) -> None:
    shades = " .:-=+*#%@"
    for row in range(8):
        line = "".join(shades[round(value * 9 / 16)] * 2 for value in pixels[8 * row : 8 * row + 8])
        print(f"  {'first image' if row == 0 else '':14}{line}{f'  is a {label}' if row == 7 else ''}")


if __name__ == "__main__":
    sys.exit(main())
