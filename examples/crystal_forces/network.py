"""The energy of a crystal by the network of CHGNet (Deng et al. 2023), in the layers of the library that is given.

Modules and parameters have the names of the published checkpoints, so that their weights load by name. Atoms send
messages along bonds; bonds, where they are short, along the angles between them. What the checkpoints have for magnetic
moments is left out.
"""

import math
from dataclasses import dataclass
from typing import Any

from crystals import Topology

ELEMENTS = 94


@dataclass(frozen=True)
class Sizes:
    """Cutoffs in angstrom: of bonds that carry messages between atoms, and of those that form angles."""

    width: int = 64
    radial: int = 31
    angular: int = 31
    blocks: int = 4
    hidden: int = 3
    cutoff: float = 6.0
    angle_cutoff: float = 3.0
    smoothness: int = 8


def make_network(lib: Any, sizes: Sizes) -> Any:
    """From positions [batch, atoms, 3] and the topology to energies per atom [batch], in eV."""
    nn = lib.nn
    Module: Any = nn.Module
    width = sizes.width

    class RadialBessel(Module):  # type: ignore[misc]
        """Waves of a distance, that end smoothly at the cutoff: exactly 0 from there on, as are their slopes."""

        def __init__(self, cutoff: float) -> None:
            super().__init__()
            self.frequencies = nn.Parameter(math.pi * lib.arange(1.0, sizes.radial + 1))
            self.cutoff = cutoff

        def forward(self, distance: Any) -> Any:
            distance = distance.unsqueeze(-1)
            x, p = distance / self.cutoff, sizes.smoothness
            end = 1 - (p + 1) * (p + 2) / 2 * x**p + p * (p + 2) * x ** (p + 1) - p * (p + 1) / 2 * x ** (p + 2)
            end = lib.where(x < 1, end, lib.zeros_like(end))
            return end * math.sqrt(2 / self.cutoff) * lib.sin(self.frequencies * x) / distance

    class Fourier(Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.frequencies = nn.Parameter(lib.arange(1.0, sizes.angular // 2 + 1))

        def forward(self, angle: Any) -> Any:
            angle = angle.unsqueeze(-1)
            waves = angle * self.frequencies
            constant = lib.full_like(angle, math.sqrt(0.5))
            return lib.cat([constant, lib.sin(waves), lib.cos(waves)], -1) / math.sqrt(math.pi)

    class Layers(Module):  # type: ignore[misc]
        """The checkpoints count dropout, which does nothing here, and activations among the layers."""

        def __init__(self, *layers: Any) -> None:
            super().__init__()
            self.layers = nn.Sequential(*layers)

        def forward(self, x: Any) -> Any:
            return self.layers(x)

    def one_layer(inputs: int, bias: bool = True) -> Any:
        return Layers(nn.Identity(), nn.Linear(inputs, width, bias=bias))

    def two_layers(inputs: int) -> Any:
        return Layers(nn.Linear(inputs, width), nn.SiLU(), nn.Identity(), nn.Linear(width, width))

    class Gated(Module):  # type: ignore[misc]
        def __init__(self, layers: Any, inputs: int) -> None:
            super().__init__()
            self.mlp_core, self.mlp_gate = layers(inputs), layers(inputs)
            self.bn1, self.bn2 = nn.LayerNorm(width), nn.LayerNorm(width)

        def forward(self, x: Any) -> Any:
            core = nn.functional.silu(self.bn1(self.mlp_core(x)))
            return core * lib.sigmoid(self.bn2(self.mlp_gate(x)))

    def gathered(rows: Any, owners: Any, like: Any) -> Any:
        """Sums, at each row of `like`, of the rows that it owns."""
        return lib.zeros_like(like).index_add(1, owners, rows)

    class AtomConv(Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.twoBody_atom = Gated(two_layers, 3 * width)
            self.mlp_out = one_layer(width, bias=False)

        def forward(self, atoms: Any, bonds: Any, weights: Any, at: Topology) -> Any:
            messages = lib.cat([atoms[:, at.center], bonds[:, at.bond], atoms[:, at.neighbour]], -1)
            messages = self.twoBody_atom(messages) * weights[:, at.bond]
            return atoms + self.mlp_out(gathered(messages, at.center, atoms))

    class BondConv(Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.twoBody_bond = Gated(two_layers, 4 * width)
            self.mlp_out = one_layer(width, bias=False)

        def forward(self, atoms: Any, bonds: Any, weights: Any, angles: Any, at: Topology) -> Any:
            messages = self.twoBody_bond(around_angles(atoms, bonds, angles, at))
            messages = messages * weights[:, at.first_bond] * weights[:, at.second_bond]
            return bonds + self.mlp_out(gathered(messages, at.first_bond, bonds))

    class AngleUpdate(Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.twoBody_bond = Gated(one_layer, 4 * width)

        def forward(self, atoms: Any, bonds: Any, angles: Any, at: Topology) -> Any:
            return angles + self.twoBody_bond(around_angles(atoms, bonds, angles, at))

    def around_angles(atoms: Any, bonds: Any, angles: Any, at: Topology) -> Any:
        return lib.cat([bonds[:, at.first_bond], bonds[:, at.second_bond], angles, atoms[:, at.corner]], -1)

    def under(**modules: Any) -> Any:
        """A module that only holds others, for a name with a dot."""
        return nn.ModuleDict(modules)

    class Network(Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.composition_model = under(fc=nn.Linear(ELEMENTS, 1, bias=False))
            self.atom_embedding = under(embedding=nn.Embedding(ELEMENTS, width))
            self.bond_basis_expansion = under(
                rbf_expansion_ag=RadialBessel(sizes.cutoff), rbf_expansion_bg=RadialBessel(sizes.angle_cutoff)
            )
            self.bond_embedding = nn.Linear(sizes.radial, width, bias=False)
            self.bond_weights_ag = nn.Linear(sizes.radial, width, bias=False)
            self.bond_weights_bg = nn.Linear(sizes.radial, width, bias=False)
            self.angle_basis_expansion = under(fourier_expansion=Fourier())
            self.angle_embedding = nn.Linear(sizes.angular, width, bias=False)
            self.atom_conv_layers = nn.ModuleList([AtomConv() for _ in range(sizes.blocks)])
            self.bond_conv_layers = nn.ModuleList([BondConv() for _ in range(sizes.blocks - 1)])
            self.angle_layers = nn.ModuleList([AngleUpdate() for _ in range(sizes.blocks - 1)])
            self.readout_norm = nn.LayerNorm(width)
            hidden = [layer for _ in range(sizes.hidden) for layer in (nn.Linear(width, width), nn.SiLU())]
            self.mlp = Layers(*hidden, nn.Identity(), nn.Linear(width, 1))
            # The energies of single atoms are a fit of their own.
            self.composition_model.requires_grad_(False)

        def forward(self, positions: Any, at: Topology) -> Any:
            vectors = positions[:, at.center] - positions[:, at.neighbour] - at.offset
            lengths = lib.sqrt((vectors * vectors).sum(-1))
            directions = vectors / lengths.unsqueeze(-1)
            # A bond has two directions, and one of them speaks for it.
            near = self.bond_basis_expansion["rbf_expansion_ag"](lengths[:, at.direction])
            close = self.bond_basis_expansion["rbf_expansion_bg"](lengths[:, at.direction])
            cosine = (directions[:, at.first_direction] * directions[:, at.second_direction]).sum(-1)
            # Of straight angles, too, the arc cosine has a slope.
            waves = self.angle_basis_expansion["fourier_expansion"](lib.acos(cosine * (1 - 1e-6)))

            atoms = self.atom_embedding["embedding"](at.elements).expand(positions.shape[0], -1, -1)
            bonds, angles = self.bond_embedding(near), self.angle_embedding(waves)
            near, close = self.bond_weights_ag(near), self.bond_weights_bg(close)
            for block in range(sizes.blocks - 1):
                atoms = self.atom_conv_layers[block](atoms, bonds, near, at)
                bonds = self.bond_conv_layers[block](atoms, bonds, close, angles, at)
                angles = self.angle_layers[block](atoms, bonds, angles, at)
            atoms = self.atom_conv_layers[-1](atoms, bonds, near, at)
            energies = self.mlp(self.readout_norm(atoms)).squeeze(-1)
            return energies.mean(-1) + self.composition_model["fc"](at.composition)

    return Network()
