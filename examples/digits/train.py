"""Makes the files that the demo reads: digits.csv.gz, weights.safetensors and expected.csv.

Needs scikit-learn, which the demo itself does not: python examples/digits/train.py
"""

import csv
import gzip
import io
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from files import DATA, EXPECTED, WEIGHTS
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

HELD_OUT = 360
HIDDEN = (64, 32)
SEED = 0


def write_digits(images: Any, labels: Any) -> None:
    text = io.StringIO()
    rows = np.column_stack([images, labels]).astype(int).tolist()
    csv.writer(text, lineterminator="\n").writerows(rows)
    # Without a time stamp the same data is the same file.
    DATA.write_bytes(gzip.compress(text.getvalue().encode(), compresslevel=9, mtime=0))


def write_safetensors(path: Path, arrays: dict[str, Any], metadata: dict[str, str]) -> None:
    header: dict[str, Any] = {"__metadata__": metadata}
    blocks, offset = [], 0
    for name, array in arrays.items():
        block = np.ascontiguousarray(array, dtype="<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [offset, offset + len(block)]}
        blocks.append(block)
        offset += len(block)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blocks))


def write_expected(predictions: Any, held_out: set[int]) -> None:
    with open(EXPECTED, "w", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(["held_out", "prediction"])
        writer.writerows((int(index in held_out), int(digit)) for index, digit in enumerate(predictions))


def main() -> None:
    images, labels = load_digits(return_X_y=True)
    pixels = (images / 16).astype(np.float32)
    train, test = train_test_split(np.arange(len(labels)), test_size=HELD_OUT, random_state=SEED, stratify=labels)
    model = MLPClassifier(HIDDEN, alpha=1e-3, max_iter=400, random_state=SEED)
    model.fit(pixels[train], labels[train])

    arrays = {}
    for layer, (weight, bias) in enumerate(zip(model.coefs_, model.intercepts_)):
        arrays[f"layers.{layer}.weight"] = weight
        arrays[f"layers.{layer}.bias"] = bias
    write_digits(images, labels)
    write_safetensors(WEIGHTS, arrays, {"trained_by": "examples/digits/train.py"})
    write_expected(model.predict(pixels), set(test.tolist()))

    best_two = np.sort(model.predict_proba(pixels), axis=1)[:, -2:]
    print(f"{sum(a.size for a in arrays.values())} weights")
    print(f"accuracy on {len(train)} images of the training set: {model.score(pixels[train], labels[train]):.4f}")
    print(f"accuracy on {len(test)} images held out: {model.score(pixels[test], labels[test]):.4f}")
    print(f"smallest margin between the best two digits: {(best_two[:, 1] - best_two[:, 0]).min():.2e}")


if __name__ == "__main__":
    main()
