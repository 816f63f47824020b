"""What the examples that train show: a bar while they run, and the curve of the losses as a picture."""

import importlib
import importlib.util
from collections.abc import Iterable
from pathlib import Path

WIDTH, HEIGHT, MARGIN = 640, 320, 40
TEXT = 'font-family="sans-serif" font-size="12"'


def with_bar(numbers: range, total: int, unit: str) -> Iterable[int]:
    """The numbers, with a bar that is full at the total, where tqdm is installed."""
    if importlib.util.find_spec("tqdm") is None:
        return numbers
    tqdm = importlib.import_module("tqdm").tqdm
    bar: Iterable[int] = tqdm(numbers, initial=numbers.start, total=total, unit=unit)
    return bar


def say(line: str) -> None:
    """A line that does not tear the bar."""
    if importlib.util.find_spec("tqdm") is None:
        print(line, flush=True)
    else:
        importlib.import_module("tqdm").tqdm.write(line)


def draw_curve(losses: list[float], path: Path, held_out: list[tuple[int, float]] | None = None) -> None:
    """The losses by step as an SVG picture, and above them those on held-out data as (after how many steps, loss)."""
    held_out = held_out or []
    top = max(losses + [loss for _, loss in held_out]) or 1.0
    axes = f"M{MARGIN},{MARGIN} V{HEIGHT - MARGIN} H{WIDTH - MARGIN}"
    caption = f"loss, from {losses[0]:.3f} to {losses[-1]:.4f}"
    lines = polyline(list(enumerate(losses)), len(losses), top, "steelblue")
    if held_out:
        lines += polyline([(after - 1, loss) for after, loss in held_out], len(losses), top, "darkorange")
        caption += f'; <tspan fill="darkorange">held out, to {held_out[-1][1]:.4f}</tspan>'
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}">'
        f'<rect width="100%" height="100%" fill="white"/><path d="{axes}" fill="none" stroke="gray"/>{lines}'
        f'<text x="{MARGIN}" y="{MARGIN - 8}" {TEXT}>{caption}</text>'
        f'<text x="{WIDTH - MARGIN}" y="{HEIGHT - 12}" text-anchor="end" {TEXT}>{len(losses)} steps</text></svg>\n'
    )


def polyline(points: list[tuple[int, float]], steps: int, top: float, color: str) -> str:
    places = []
    for step, loss in points:
        x = MARGIN + (WIDTH - 2 * MARGIN) * step / max(steps - 1, 1)
        y = HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * loss / top
        places.append(f"{x:.1f},{y:.1f}")
    return f'<polyline points="{" ".join(places)}" fill="none" stroke="{color}" stroke-width="1.5"/>'
