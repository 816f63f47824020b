"""Fine-tunes the network of CHGNet on forces between the atoms of a crystal, as other weights of it have them.

    python examples/crystal_forces/train.py [--crystal NaCl] [--steps N] [--library torch] [--eager] [--tiny]

Forces are gradients of the energy; a step on forces needs the gradients of gradients. Published weights were trained on
energies and forces of two approximations of quantum mechanics: 0.3.0 (PBE) learns here the forces of r2scan (r2SCAN).
A run that was killed goes on from its checkpoint, with the losses that it would have had. The weights come from a
package, which is not imported; --tiny trains a small network of random weights without it:

    pip install --no-deps chgnet
"""

import argparse
import math
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
import checkpoint  # noqa: E402
from checkpoint import InputError  # noqa: E402
from command_line import make_parser, positive, require_rate, set_up  # noqa: E402
from crystals import CRYSTALS, positions_of, topology_of  # noqa: E402
from progress import draw_curve, say, with_bar  # noqa: E402
from weights import published_network, random_network  # noqa: E402

# What a run's losses depend on: a checkpoint goes on with the same ones only.
SETTINGS = ("crystal", "steps", "batch", "examples", "displacement", "lr", "seed", "double", "tiny")
HELD_OUT = 0.25  # of the displaced crystals


class Training:
    """A network, the forces that it is to learn, its optimizer, the batches still to come and the losses so far."""

    def __init__(self, lib: Any, options: argparse.Namespace) -> None:
        self.lib, self.options = lib, options
        self.settings = {name: getattr(options, name) for name in SETTINGS}
        self.kind = lib.float64 if options.double else lib.float32
        self.generator = lib.Generator().manual_seed(options.seed)
        self.network, teacher, sizes = self.networks()
        crystal = CRYSTALS[options.crystal]
        # Two atoms that both move change their distance by no more than this.
        margin = 2 * math.sqrt(3) * options.displacement
        self.topology = topology_of(lib, crystal, sizes.cutoff, sizes.angle_cutoff, margin, self.kind)
        compiles = options.library == "minidynamo" and not options.eager
        self.step = lib.compile(self.take_step, fullgraph=True) if compiles else self.take_step
        self.measure = lib.compile(forces_of, fullgraph=True) if compiles else forces_of
        self.positions = self.displaced(crystal)
        self.targets = self.forces(teacher, self.positions)
        self.held_out = max(1, int(HELD_OUT * options.examples))
        parameters = [each for each in self.network.parameters() if each.requires_grad]
        self.optimizer = lib.optim.Adam(parameters, lr=options.lr)
        self.losses: list[float] = []
        self.before = 0.0

    def networks(self) -> tuple[Any, Any, Any]:
        """The one that learns, the one that it learns from, and their sizes."""
        if self.options.tiny:
            network, sizes = random_network(self.lib, self.options.seed)
            teacher, _ = random_network(self.lib, self.options.seed + 1)
        else:
            network, sizes = published_network(self.lib, "0.3.0")
            teacher, found = published_network(self.lib, "r2scan")
            if found != sizes:
                raise InputError("the weights 0.3.0 and r2scan of the installed chgnet differ in their sizes")
        return network.to(self.kind), teacher.to(self.kind).requires_grad_(False), sizes

    def displaced(self, crystal: Any) -> Any:
        """[examples, atoms, 3]: each atom somewhere in a small cube around its place."""
        rest = positions_of(self.lib, crystal, self.kind)
        drawn = self.lib.rand((self.options.examples, *rest.shape), generator=self.generator)
        return rest + (2 * drawn.to(self.kind) - 1) * self.options.displacement

    def forces(self, network: Any, positions: Any) -> Any:
        """In eV per angstrom, a batch at a time: the last one may be smaller."""
        parts = [part.clone().requires_grad_() for part in positions.split(self.options.batch)]
        return self.lib.cat([self.measure(self.lib, network, part, self.topology) for part in parts])

    def take_step(self, positions: Any, targets: Any) -> Any:
        self.optimizer.zero_grad()
        energy = self.network(positions, self.topology).sum() * positions.shape[1]
        (slope,) = self.lib.autograd.grad(energy, positions, create_graph=True)
        loss = self.lib.nn.functional.mse_loss(-slope, targets)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def error(self) -> float:
        """Of the held-out forces: the mean deviation of their components, in meV per angstrom."""
        forces = self.forces(self.network, self.positions[: self.held_out])
        deviation: float = (forces - self.targets[: self.held_out]).abs().double().mean().item()
        return 1000 * deviation

    def batch(self) -> tuple[Any, Any]:
        count = self.options.examples - self.held_out
        drawn = self.held_out + self.lib.randperm(count, generator=self.generator)[: self.options.batch]
        return self.positions[drawn].requires_grad_(), self.targets[drawn]

    def run(self) -> None:
        steps, every = self.options.steps, self.options.every
        if not self.losses:
            self.before = self.error()
        say(f"before: {self.before:.2f} meV/A of the held-out forces")
        for step in with_bar(range(len(self.losses), steps), steps, "step"):
            self.losses.append(self.step(*self.batch()).item())
            if (step + 1) % every == 0 or step + 1 == steps:
                self.save()
                say(f"step {step + 1}: loss {self.losses[-1]:.3g}; {self.error():.2f} meV/A")

    def parts(self) -> dict[str, Any]:
        return {"network": self.network, "optimizer": self.optimizer}

    def save(self) -> None:
        checkpoint.save(self, before=self.before)

    def go_on(self) -> None:
        """From the checkpoint, if there is one."""
        if state := checkpoint.restore(self, {"before"}):
            self.before = state["before"]


def forces_of(lib: Any, network: Any, positions: Any, topology: Any) -> Any:
    """As they are measured: without a history."""
    energy = network(positions, topology).sum() * positions.shape[1]
    return -lib.autograd.grad(energy, positions)[0]


def own_parser() -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = make_parser("Fine-tunes the network of CHGNet on forces.", "crystal_forces", 10)
    parser.add_argument("--crystal", choices=sorted(CRYSTALS), default="NaCl", help="in cubic cells of 8 atoms")
    parser.add_argument("--steps", type=positive, default=60)
    parser.add_argument("--batch", type=positive, default=4, help="displaced crystals of a step")
    parser.add_argument("--examples", type=positive, default=32, help="displaced crystals, a quarter of them held out")
    parser.add_argument("--displacement", type=float, default=0.1, help="of an atom along each axis, in angstrom")
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--tiny", action="store_true", help="small networks with random weights")
    return parser


def make_training(lib: Any, options: argparse.Namespace) -> Training:
    require_rate(options, "lr")
    if not 0 < options.displacement <= 0.3:
        raise InputError(f"--displacement {options.displacement} is not between 0 and 0.3 angstrom")
    if options.examples < 2:
        raise InputError("--examples 1 leaves none to train on: 2 at least")
    return Training(lib, options)


def main(arguments: list[str] | None = None) -> Training:
    training: Training = set_up(own_parser(), arguments, make_training)
    start = time.perf_counter()
    training.run()
    curve = training.options.checkpoint.with_suffix(".svg")
    draw_curve(training.losses, curve)
    seconds = time.perf_counter() - start
    print(f"after: {training.error():.2f} meV/A of the held-out forces; {seconds:.1f} s; the curve is in {curve}")
    return training


if __name__ == "__main__":
    main()
