"""The sentence encoder all-MiniLM-L6-v2: BERT (Devlin et al. 2018) with 6 layers, the mean of its outputs, normalised.

Modules and parameters have the names of the checkpoint, so that its weights load by name.
"""

import minidynamo as torch
from minidynamo import Tensor, nn
from minidynamo.nn import functional

HIDDEN, LAYERS, HEADS, INTERMEDIATE = 384, 6, 12, 1536
WORDS, POSITIONS, TOKEN_TYPES, EPSILON = 30522, 512, 2, 1e-12


class Embeddings(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(WORDS, HIDDEN, padding_idx=0)
        self.position_embeddings = nn.Embedding(POSITIONS, HIDDEN)
        self.token_type_embeddings = nn.Embedding(TOKEN_TYPES, HIDDEN)
        self.LayerNorm = nn.LayerNorm(HIDDEN, eps=EPSILON)
        self.register_buffer("position_ids", torch.arange(POSITIONS).reshape(1, -1))

    def forward(self, ids: Tensor) -> Tensor:
        positions = self.position_embeddings(self.position_ids[:, : ids.shape[1]])
        # Every token is of type 0: there are no pairs of sentences.
        x: Tensor = self.LayerNorm(self.word_embeddings(ids) + self.token_type_embeddings.weight[0] + positions)
        return x


class SelfAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(HIDDEN, HIDDEN)
        self.key = nn.Linear(HIDDEN, HIDDEN)
        self.value = nn.Linear(HIDDEN, HIDDEN)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, length, _ = x.shape

        def heads(y: Tensor) -> Tensor:
            return y.view(batch, length, HEADS, HIDDEN // HEADS).transpose(1, 2)

        query, key, value = heads(self.query(x)), heads(self.key(x)), heads(self.value(x))
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None, :])
        return mixed.transpose(1, 2).reshape(batch, length, HIDDEN)


class AddAndNorm(nn.Module):
    """A projection, added to what came in before, and normalised."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.dense = nn.Linear(inputs, HIDDEN)
        self.LayerNorm = nn.LayerNorm(HIDDEN, eps=EPSILON)

    def forward(self, x: Tensor, before: Tensor) -> Tensor:
        y: Tensor = self.LayerNorm(self.dense(x) + before)
        return y


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.self = SelfAttention()
        self.output = AddAndNorm(HIDDEN)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        y: Tensor = self.output(self.self(x, mask), x)
        return y


class Intermediate(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Linear(HIDDEN, INTERMEDIATE)

    def forward(self, x: Tensor) -> Tensor:
        return functional.gelu(self.dense(x))


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = Attention()
        self.intermediate = Intermediate()
        self.output = AddAndNorm(INTERMEDIATE)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = self.attention(x, mask)
        y: Tensor = self.output(self.intermediate(x), x)
        return y


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        for layer in self.layer:
            x = layer(x, mask)
        return x


class SentenceEncoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embeddings = Embeddings()
        self.encoder = Encoder()

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """ids: [batch, length] int64; mask: the same, bool, False for padding. Gives [batch, 384], rows of length 1."""
        x = self.encoder(self.embeddings(ids), mask)
        weights = mask.unsqueeze(-1).to(x.dtype)
        mean = (x * weights).sum(dim=1) / weights.sum(dim=1)
        return functional.normalize(mean, dim=1)
