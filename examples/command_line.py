"""Command lines of the examples that train: options that all of them have, and the training that is made by them."""

import argparse
import importlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import checkpoint
from checkpoint import InputError


class GoesOn(Protocol):
    def go_on(self) -> None:
        """From the checkpoint, if there is one."""


Training = TypeVar("Training", bound=GoesOn)


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def make_parser(description: str, folder: str, every: int) -> argparse.ArgumentParser:
    """folder: where the checkpoint is, if no other place is asked for."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.set_defaults(folder=Path(folder))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--double", action="store_true", help="train in float64")
    parser.add_argument("--every", type=positive, default=every, help="steps between two checkpoints")
    parser.add_argument("--checkpoint", type=Path, help=f"{folder}/LIBRARY.pt; the curve is drawn beside it")
    parser.add_argument("--library", choices=("minidynamo", "torch"), default="minidynamo")
    parser.add_argument("--eager", action="store_true", help="without compile()")
    return parser


def require_rate(options: argparse.Namespace, name: str, kind: str = "rate") -> None:
    value = getattr(options, name)
    if not 0 < value < math.inf:
        raise InputError(f"--{name} {value} is no {kind}")


def set_up(
    parser: argparse.ArgumentParser,
    arguments: list[str] | None,
    make: Callable[[Any, argparse.Namespace], Training],
) -> Training:
    """What make(lib, options) returns, gone on from its checkpoint; input that cannot be used ends the program."""
    options = parser.parse_args(arguments)
    lib = importlib.import_module(options.library)
    options.checkpoint = options.checkpoint or options.folder / f"{options.library}.pt"
    try:
        training = make(lib, options)
        training.go_on()
        checkpoint.make_folder(options.checkpoint)
    except InputError as error:
        parser.error(str(error))
    return training
