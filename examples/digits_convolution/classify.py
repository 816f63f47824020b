"""Classifies handwritten digits with a convolutional network that PyTorch trained, in float32 and bfloat16.

    python examples/digits_convolution/classify.py [--threads N]

The network is compiled as one graph. Each dtype is compared with what PyTorch said of the same images in float32.
"""

import argparse
import csv
import gzip
import sys
import time
from pathlib import Path

from model import DigitsNetwork

import minidynamo
from minidynamo import Tensor, safetensors

HERE = Path(__file__).resolve().parent
DIGITS = HERE.parent / "digits" / "digits.csv.gz"
BATCH = 64


def read_images() -> tuple[Tensor, Tensor]:
    """(images [n, 1, 8, 8] of float32, the digits that they show [n])."""
    with gzip.open(DIGITS, "rt", newline="") as lines:
        rows = [[float(cell) for cell in row] for row in csv.reader(lines)]
    table = minidynamo.tensor(rows)
    return table[:, :64].reshape(-1, 1, 8, 8), table[:, 64].long()


def read_expected() -> tuple[Tensor, Tensor]:
    """(the digit, its log probability) that PyTorch gives each image."""
    with open(HERE / "expected.csv", newline="") as lines:
        rows = list(csv.DictReader(lines))
    digits = minidynamo.tensor([int(row["digit"]) for row in rows])
    return digits, minidynamo.tensor([float(row["log_probability"]) for row in rows])


def load_network(dtype: minidynamo.dtype) -> DigitsNetwork:
    network = DigitsNetwork()
    network.load_state_dict(safetensors.load_file(HERE / "weights.safetensors"))
    return network.to(dtype).eval()


def classify(network: DigitsNetwork, images: Tensor) -> tuple[Tensor, Tensor, float]:
    """(digits, their log probabilities, images a second), in batches, by the compiled network."""
    compiled = minidynamo.compile(network, fullgraph=True)
    with minidynamo.inference_mode():
        batches = images.split(BATCH)
        for batch in (batches[0], batches[-1]):  # both sizes that occur
            compiled(batch)
        start = time.perf_counter()
        scores = minidynamo.cat([compiled(batch) for batch in batches]).float()
        seconds = time.perf_counter() - start
    best = scores.max(dim=1)
    return best.indices, best.values, len(images) / seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, help="threads to compute with; all by default")
    arguments = parser.parse_args()
    if arguments.threads:
        minidynamo.set_num_threads(arguments.threads)
    images, labels = read_images()
    expected, probabilities = read_expected()
    agree = True
    for dtype in (minidynamo.float32, minidynamo.bfloat16):
        digits, certain, rate = classify(load_network(dtype), images.to(dtype))
        same = int((digits == expected).sum().item())
        right = (digits == labels).float().mean().item()
        apart = (certain.exp() - probabilities.exp()).abs().max().item()
        name = str(dtype).rpartition(".")[2]
        print(f"{name:<9} {100 * right:.2f} % right, {same} of {len(images)} as PyTorch in float32,")
        print(f"          probabilities apart by {apart:.1e} at most, {rate:,.0f} images a second")
        agree = agree and same >= len(images) * (1 if dtype is minidynamo.float32 else 0.998)
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
