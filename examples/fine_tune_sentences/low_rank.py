"""LoRA (Hu et al. 2021): what is learned is added to projections as a product of two thin matrices."""

from typing import Any

PROJECTIONS = ("query", "value")


def add_adapters(lib: Any, encoder: Any, rank: int, alpha: float, seed: int) -> None:
    """To the projections of all attentions; the encoder's own weights are frozen."""
    nn = lib.nn
    Module: Any = nn.Module

    class LowRank(Module):  # type: ignore[misc]
        """base(x) + scale * up(down(x)); `up` starts at 0, so that nothing changes before the first step."""

        def __init__(self, base: Any) -> None:
            super().__init__()
            kind = base.weight.dtype
            self.base, self.scale = base, alpha / rank
            self.down = nn.Linear(base.in_features, rank, bias=False, dtype=kind)
            self.up = nn.Linear(rank, base.out_features, bias=False, dtype=kind)
            nn.init.normal_(self.down.weight, std=base.in_features**-0.5)
            nn.init.zeros_(self.up.weight)

        def forward(self, x: Any) -> Any:
            return self.base(x) + self.scale * self.up(self.down(x))

    encoder.requires_grad_(False)
    lib.manual_seed(seed)
    for layer in encoder.encoder.layer:
        attention = layer.attention.self
        for name in PROJECTIONS:
            setattr(attention, name, LowRank(getattr(attention, name)))


def learned(encoder: Any) -> dict[str, Any]:
    """The parameters of the adapters by name."""
    return {name: parameter for name, parameter in encoder.named_parameters() if parameter.requires_grad}


def merged(lib: Any, encoder: Any) -> dict[str, Any]:
    """The weights of an encoder without adapters that computes the same."""
    weights = {name.replace(".base.", "."): value for name, value in encoder.state_dict().items()}
    with lib.no_grad():
        for layer, block in enumerate(encoder.encoder.layer):
            for name in PROJECTIONS:
                adapter = getattr(block.attention.self, name)
                prefix = f"encoder.layer.{layer}.attention.self.{name}"
                change = adapter.up.weight @ adapter.down.weight
                weights[f"{prefix}.weight"] = adapter.base.weight + adapter.scale * change
                del weights[f"{prefix}.up.weight"], weights[f"{prefix}.down.weight"]
    return weights
