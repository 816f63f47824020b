"""Heat that spreads in a plate with a hole, by an explicit scheme over NumPy's arrays, and a picture of it.

    python examples/diffusion/diffuse.py [--size N] [--steps N] [--output FILE]

The same function runs as plain NumPy and compiled; the fields must agree. The picture is a PNG if matplotlib is
installed, else a PGM.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import minidynamo

Field = np.ndarray
Advance = Callable[[Field, Field, float, int], None]


def advance(heat: Field, conductivity: Field, rate: float, steps: int) -> None:
    """`steps` steps in place; the edges keep their temperature."""
    inside = heat[1:-1, 1:-1]
    for _ in range(steps):
        flow = heat[:-2, 1:-1] + heat[2:, 1:-1] + heat[1:-1, :-2] + heat[1:-1, 2:] - 4 * inside
        inside += rate * conductivity[1:-1, 1:-1] * flow


def plate(size: int) -> tuple[Field, Field]:
    """(temperatures, conductivities): one edge is hot, a disc in the middle conducts hardly any heat."""
    heat = np.zeros((size, size))
    heat[0] = 1.0
    rows, columns = np.ogrid[:size, :size]
    disc = (rows - size / 3) ** 2 + (columns - size / 2) ** 2 < (size / 6) ** 2
    return heat, np.where(disc, 0.02, 1.0)


def run(step: Advance, size: int, steps: int, name: str) -> tuple[Field, float]:
    """The last field, and seconds. Shows how far it is, on a terminal."""
    heat, conductivity = plate(size)
    part = max(1, steps // 20)
    start = time.perf_counter()
    for done in range(0, steps, part):
        step(heat, conductivity, 0.2, min(part, steps - done))
        if sys.stderr.isatty():
            print(f"\r{name:<10} {100 * (done + part) // steps:3} %", end="", file=sys.stderr, flush=True)
    seconds = time.perf_counter() - start
    if sys.stderr.isatty():
        print("\r" + 20 * " ", end="\r", file=sys.stderr, flush=True)
    return heat, seconds


def draw(heat: Field, path: Path) -> Path:
    """Writes the picture; returns its path, whose suffix may be another one."""
    try:
        from matplotlib import pyplot
    except ImportError:
        path = path.with_suffix(".pgm")
        grey = (255 * np.clip(heat, 0, 1)).astype(np.uint8)
        path.write_bytes(b"P5 %d %d 255\n" % heat.shape[::-1] + grey.tobytes())
        return path
    pyplot.imsave(path, heat, cmap="inferno", vmin=0, vmax=1)
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=256, help="points along an edge")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--output", type=Path, default=Path("heat.png"))
    arguments = parser.parse_args()
    compiled = minidynamo.compile(advance)
    expected, before = run(advance, arguments.size, arguments.steps, "NumPy")
    heat, after = run(compiled, arguments.size, arguments.steps, "minidynamo")
    apart = float(np.abs(heat - expected).max())
    points = arguments.steps * (arguments.size - 2) ** 2
    print(f"{arguments.size} x {arguments.size} points, {arguments.steps} steps")
    print(f"NumPy       {before:7.2f} s  {points / before / 1e6:7.0f} million points a second")
    print(f"minidynamo  {after:7.2f} s  {points / after / 1e6:7.0f} million points a second, capture included")
    print(f"{before / after:.1f} times as fast; temperatures apart by {apart:.1e} at most")
    print(f"picture: {draw(heat, arguments.output)}")
    return 0 if apart < 1e-12 else 1


if __name__ == "__main__":
    sys.exit(main())
