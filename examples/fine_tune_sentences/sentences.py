"""Sentences, each with one of the same meaning and one that says the contrary in nearly the same words."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from checkpoint import InputError

HELD_OUT = 4  # each fourth line of the file


def read_sentences(path: Path) -> list[list[str]]:
    """Lines of three sentences, separated by `|`; those that begin with `#` are left out."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is no text in UTF-8") from None
    found = []
    for number, line in enumerate(lines, 1):
        if line.startswith("#") or not line.strip():
            continue
        found.append([sentence.strip() for sentence in line.split("|")])
        if len(found[-1]) != 3 or not all(found[-1]):
            raise InputError(f"{path}:{number}: three sentences, separated by |, are expected")
    if len(found) < HELD_OUT:
        raise InputError(f"{path} has {len(found)} lines; at least {HELD_OUT} are needed")
    return found


class Triples:
    """ids: [sentences, 3, tokens] int64, padded to the longest; mask: the same, False for padding."""

    def __init__(self, lib: Any, sentences: list[list[str]], tokenize: Callable[[str], list[int]]) -> None:
        rows = [tokenize(text) for triple in sentences for text in triple]
        longest = max(map(len, rows))
        ids = lib.tensor([row + [0] * (longest - len(row)) for row in rows])
        mask = lib.arange(longest) < lib.tensor([len(row) for row in rows]).unsqueeze(1)
        self.ids, self.mask = ids.view(-1, 3, longest), mask.view(-1, 3, longest)
        numbers = lib.arange(len(sentences))
        self.to_train = numbers[(numbers + 1) % HELD_OUT != 0]
        self.held_out = numbers[(numbers + 1) % HELD_OUT == 0]

    def pick(self, numbers: Any) -> tuple[Any, Any]:
        return self.ids[numbers], self.mask[numbers]
