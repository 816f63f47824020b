"""A small GPT over characters, in the layers of the library that is given: minidynamo or torch."""

from typing import Any


def make_gpt(lib: Any, characters: int, context: int, layers: int, heads: int, width: int) -> Any:
    """From ids [batch, length] to logits [batch, length, characters]; a row sees what stands before it, and itself."""
    nn, F = lib.nn, lib.nn.functional
    Module: Any = nn.Module

    class Attention(Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x: Any) -> Any:
            batch, length, _ = x.shape
            parts = self.project(x).view(batch, length, 3, heads, width // heads)
            q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out(y.transpose(1, 2).reshape(batch, length, width))

    class Block(Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attention = Attention()
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x: Any) -> Any:
            x = x + self.attention(self.before(x))
            return x + self.mlp(self.between(x))

    class GPT(Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.characters, self.places = nn.Embedding(characters, width), nn.Embedding(context, width)
            self.blocks = nn.Sequential(*[Block() for _ in range(layers)])
            self.norm = nn.LayerNorm(width)

        def forward(self, ids: Any) -> Any:
            x = self.characters(ids) + self.places(lib.arange(ids.shape[1]))
            # The embedding of a character is also its row of the last layer.
            return F.linear(self.norm(self.blocks(x)), self.characters.weight)

    return GPT()


def draw_weights(lib: Any, model: Any, layers: int, seed: int) -> None:
    """Normal numbers from a seed, the same in both libraries; biases are 0 and scales 1."""
    lib.manual_seed(seed)
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1:
            # What is added to the rows, twice a layer, starts small, so that their sum does.
            added = name.endswith(("out.weight", "mlp.2.weight"))
            lib.nn.init.normal_(parameter, std=0.02 / (2 * layers) ** 0.5 if added else 0.02)
        elif name.endswith("bias"):
            lib.nn.init.zeros_(parameter)


def parameter_groups(model: Any) -> list[dict[str, Any]]:
    """For AdamW: matrices decay, biases and scales do not."""
    parameters = list(model.parameters())
    return [
        {"params": [each for each in parameters if each.dim() > 1], "weight_decay": 0.1},
        {"params": [each for each in parameters if each.dim() == 1], "weight_decay": 0.0},
    ]
