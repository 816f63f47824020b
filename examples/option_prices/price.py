"""Prices and sensitivities of European options on arrays, by the formula of Black and Scholes and by simulation.

    python examples/option_prices/price.py [--options N] [--paths N]

The same functions run as plain NumPy and compiled; the results must agree, and the simulation with the
formula.
"""

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import minidynamo

Array = np.ndarray
RATE = 0.03


def normal_below(x: Array) -> Array:
    """The distribution function of the normal distribution, to 7.5e-8 (Abramowitz and Stegun, 26.2.17)."""
    t = 1 / (1 + 0.2316419 * np.abs(x))
    series = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    above = np.exp(-0.5 * x * x) * series / np.sqrt(2 * np.pi)
    below: Array = np.where(x >= 0, 1 - above, above)
    return below


def black_scholes(spot: Array, strike: Array, years: Array, volatility: Array) -> tuple[Array, Array, Array, Array]:
    """(prices of calls, of puts, deltas of the calls, vegas)."""
    spread = volatility * np.sqrt(years)
    first = (np.log(spot / strike) + (RATE + 0.5 * volatility**2) * years) / spread
    second = first - spread
    discounted = strike * np.exp(-RATE * years)
    delta = normal_below(first)
    call = spot * delta - discounted * normal_below(second)
    vega = spot * np.exp(-0.5 * first**2) / np.sqrt(2 * np.pi) * np.sqrt(years)
    return call, call - spot + discounted, delta, vega


def simulated_call(normals: Array, spot: float, strike: float, years: float, volatility: float) -> tuple[float, float]:
    """(price of one call, its standard error) from the ends of paths, each with its mirror image."""
    drift, spread = (RATE - 0.5 * volatility**2) * years, volatility * np.sqrt(years)
    up = np.maximum(spot * np.exp(drift + spread * normals) - strike, 0)
    down = np.maximum(spot * np.exp(drift - spread * normals) - strike, 0)
    paid = np.exp(-RATE * years) * 0.5 * (up + down)
    return paid.mean(), paid.std() / np.sqrt(len(normals))


def timed(function: Callable[..., Any], *arguments: Any, repeat: int = 5) -> tuple[Any, float, float]:
    """(result, seconds of the first call, the least seconds of some more)."""
    seconds = []
    for _ in range(1 + repeat):
        start = time.perf_counter()
        result = function(*arguments)
        seconds.append(time.perf_counter() - start)
    return result, seconds[0], min(seconds[1:])


def compared(name: str, function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Prints how long plain and compiled calls take; (the compiled result, how far apart both are)."""
    expected, _, before = timed(function, *arguments)
    found, first, after = timed(minidynamo.compile(function), *arguments)
    apart = max(float(np.abs(ours - theirs).max()) for ours, theirs in zip(found, expected, strict=True))
    times = f"NumPy {1e3 * before:8.2f} ms   minidynamo {1e3 * after:8.2f} ms ({1e3 * first:.1f} ms the first call)"
    print(f"{name:<24} {times}")
    print(f"{'':<24} {before / after:.1f} times as fast, results apart by {apart:.1e} at most")
    return found, apart


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--options", type=int, default=100_000)
    parser.add_argument("--paths", type=int, default=1_000_000)
    arguments = parser.parse_args()
    generator = np.random.default_rng(7)
    spot, strike = generator.uniform(50, 150, (2, arguments.options))
    years, volatility = generator.uniform(0.1, 2, arguments.options), generator.uniform(0.1, 0.6, arguments.options)
    _, apart = compared(f"{arguments.options:,} options", black_scholes, spot, strike, years, volatility)

    one = 100.0, 110.0, 1.0, 0.25
    normals = generator.standard_normal(arguments.paths)
    (price, error), apart_too = compared(f"{arguments.paths:,} paths", simulated_call, normals, *one)
    exact = float(black_scholes(*(np.array([number]) for number in one))[0][0])
    print(f"a call at {one}: {price:.4f} +- {error:.4f} by simulation, {exact:.4f} by the formula")
    return 0 if max(apart, apart_too) < 1e-9 and abs(price - exact) < 5 * error else 1


if __name__ == "__main__":
    sys.exit(main())
