"""Reads the files of this example with the standard library alone."""

import csv
import gzip
from pathlib import Path

HERE = Path(__file__).parent
DATA = HERE / "digits.csv.gz"
WEIGHTS = HERE / "weights.safetensors"
EXPECTED = HERE / "expected.csv"


def read_digits() -> tuple[list[list[float]], list[int]]:
    """Returns the images, 64 pixels of 0 to 16 each, row by row, and their labels."""
    images: list[list[float]] = []
    labels: list[int] = []
    with gzip.open(DATA, "rt", newline="") as lines:
        for *pixels, label in csv.reader(lines):
            images.append([float(pixel) for pixel in pixels])
            labels.append(int(label))
    return images, labels


def read_expected() -> tuple[list[int], list[int]]:
    """Returns what scikit-learn predicts for each image, and the positions of the images that it was not trained on."""
    with open(EXPECTED, newline="") as lines:
        rows = list(csv.DictReader(lines))
    predictions = [int(row["prediction"]) for row in rows]
    held_out = [index for index, row in enumerate(rows) if row["held_out"] == "1"]
    return predictions, held_out
