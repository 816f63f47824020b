"""A text as numbers of its characters, in a part to train on and one held out."""

import hashlib
from pathlib import Path
from typing import Any

from checkpoint import InputError

ROOT = Path(__file__).resolve().parents[2]
HELD_OUT = 0.1  # of the text, at its end


def read_text(path: Path | None) -> str:
    """Of a file, or of this project's documentation."""
    if path is None:
        return read_documentation()
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is no text in UTF-8") from None


def read_documentation() -> str:
    """README.md and the prose of docs/: lists of names, and tables, most of which are such lists, are left out."""
    files = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    files = [file for file in files if file.exists() and not file.stem.endswith("_names")]
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return "".join(line + "\n" for line in lines if not line.startswith("|"))


class Characters:
    def __init__(self, lib: Any, text: str, context: int) -> None:
        # Each part has at least one window: `context` characters and the one after them.
        held_out = max(int(len(text) * HELD_OUT), context + 1)
        if len(text) < held_out + context + 1:
            raise InputError(f"{len(text)} characters are too few for --context {context}: {2 * context + 2} at least")
        self.alphabet = "".join(sorted(set(text)))
        self.digest = hashlib.sha256(text.encode()).hexdigest()
        self._numbers = {character: number for number, character in enumerate(self.alphabet)}
        ids = self.encode(lib, text)
        self.to_train, self.held_out = ids[:-held_out], ids[-held_out:]
        self._lib, self._window = lib, lib.arange(context + 1)

    def encode(self, lib: Any, text: str) -> Any:
        return lib.tensor([self._numbers[character] for character in text])

    def decode(self, ids: list[int]) -> str:
        return "".join(self.alphabet[number] for number in ids)

    def batch(self, part: Any, size: int, generator: Any) -> Any:
        """[size, context + 1]: windows at places that are drawn."""
        starts = self._lib.randint(len(part) - len(self._window) + 1, (size, 1), generator=generator)
        return part[starts + self._window]
