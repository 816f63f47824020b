"""Crystals, and which of their atoms are bonded to which: what of it the network reads."""

import itertools
import math
from dataclasses import dataclass
from typing import Any

Vector = tuple[float, float, float]
FACES: tuple[Vector, ...] = ((0, 0, 0), (0, 0.5, 0.5), (0.5, 0, 0.5), (0.5, 0.5, 0))


@dataclass(frozen=True)
class Crystal:
    """A cubic cell of `edge` angstrom; places are fractions of it."""

    edge: float
    elements: tuple[int, ...]
    places: tuple[Vector, ...]


def cubic(edge: float, first: int, second: int, shift: float) -> Crystal:
    """Two elements, each at the corners and faces of the cell, one of them shifted along its diagonal."""
    shifted = tuple((x + shift, y + shift, z + shift) for x, y, z in FACES)
    return Crystal(edge, (first,) * 4 + (second,) * 4, FACES + shifted)


CRYSTALS = {
    "NaCl": cubic(5.69, 11, 17, 0.5),
    "MgO": cubic(4.25, 12, 8, 0.5),
    "Si": cubic(5.47, 14, 14, 0.25),
    "ZnS": cubic(5.44, 30, 16, 0.25),
}


@dataclass(frozen=True)
class Bond:
    """As seen from `center`; offset: where the neighbour's cell is, in cells."""

    center: int
    neighbour: int
    offset: tuple[int, int, int]
    length: float

    def reversed(self) -> tuple[int, int, tuple[int, int, int]]:
        x, y, z = self.offset
        return self.neighbour, self.center, (-x, -y, -z)


@dataclass
class Topology:
    """Indices as tensors. For each direction of each bond: its atoms, offset (in angstrom), and the bond itself.

    direction: of each bond, one of the two. For each angle: the atom at its corner, its two bonds and their directions.
    """

    elements: Any
    composition: Any
    center: Any
    neighbour: Any
    offset: Any
    bond: Any
    direction: Any
    corner: Any
    first_bond: Any
    second_bond: Any
    first_direction: Any
    second_direction: Any


def bonds_within(crystal: Crystal, cutoff: float) -> list[Bond]:
    cells = range(-math.ceil(cutoff / crystal.edge) - 1, math.ceil(cutoff / crystal.edge) + 2)
    found = []
    for center, neighbour in itertools.product(range(len(crystal.places)), repeat=2):
        for x, y, z in itertools.product(cells, repeat=3):
            difference = [
                crystal.edge * (there + cell - here)
                for here, there, cell in zip(crystal.places[center], crystal.places[neighbour], (x, y, z), strict=True)
            ]
            length = math.hypot(*difference)
            if 0 < length < cutoff:
                found.append(Bond(center, neighbour, (x, y, z), length))
    return found


def angles_of(directions: list[Bond], cutoff: float) -> list[tuple[int, int]]:
    """Pairs of directions that begin at one atom, both short."""
    short = [number for number, bond in enumerate(directions) if bond.length < cutoff]
    return [
        (first, second)
        for first, second in itertools.permutations(short, 2)
        if directions[first].center == directions[second].center
    ]


def topology_of(lib: Any, crystal: Crystal, cutoff: float, angle_cutoff: float, margin: float, kind: Any) -> Topology:
    """Of the crystal at rest. Bonds up to `margin` longer than the cutoffs are listed too, and weigh 0 while they are.

    So one list serves all positions by which no distance changes by more than the margin.
    """
    directions = bonds_within(crystal, cutoff + margin)
    numbers: dict[tuple[int, int, tuple[int, int, int]], int] = {}
    bonds: list[int] = []
    one_direction: list[int] = []
    for number, bond in enumerate(directions):
        key = bond.reversed()
        if key not in numbers:
            numbers[bond.center, bond.neighbour, bond.offset] = len(one_direction)
            bonds.append(len(one_direction))
            one_direction.append(number)
        else:
            bonds.append(numbers[key])
    angles = angles_of(directions, angle_cutoff + margin)
    composition = [0.0] * 94
    for element in crystal.elements:
        composition[element - 1] += 1 / len(crystal.elements)
    offsets = [[crystal.edge * cell for cell in bond.offset] for bond in directions]
    return Topology(
        elements=lib.tensor([element - 1 for element in crystal.elements]),
        composition=lib.tensor(composition, dtype=kind),
        center=lib.tensor([bond.center for bond in directions]),
        neighbour=lib.tensor([bond.neighbour for bond in directions]),
        offset=lib.tensor(offsets, dtype=kind),
        bond=lib.tensor(bonds),
        direction=lib.tensor(one_direction),
        corner=lib.tensor([directions[first].center for first, _ in angles]),
        first_bond=lib.tensor([bonds[first] for first, _ in angles]),
        second_bond=lib.tensor([bonds[second] for _, second in angles]),
        first_direction=lib.tensor([first for first, _ in angles]),
        second_direction=lib.tensor([second for _, second in angles]),
    )


def positions_of(lib: Any, crystal: Crystal, kind: Any) -> Any:
    """[atoms, 3], in angstrom."""
    return lib.tensor(crystal.places, dtype=kind) * crystal.edge
