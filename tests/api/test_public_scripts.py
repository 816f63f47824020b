"""Public scripts, unchanged: `python -m minidynamo run` prints the numbers that they print under torch.

MINIDYNAMO_PUBLIC_SCRIPTS names a folder with checkouts as OWNER+NAME, which the tests skip without: pytorch+examples,
karpathy+minGPT, karpathy+nanoGPT, tkipf+pygcn. torchvision and what the scripts import besides must be importable. Data
are drawn here, in copies of the checkouts.
"""

import os
import random
import re
import shutil
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

FOLDER = os.environ.get("MINIDYNAMO_PUBLIC_SCRIPTS")
pytestmark = [
    pytest.mark.skipif(not FOLDER, reason="MINIDYNAMO_PUBLIC_SCRIPTS is not set"),
    pytest.mark.slow,
]
# torchvision's compiled part does not load beside every torch: its operators are named, as benchmarks do.
UNDER_TORCH = """
import runpy, sys
sys.path.insert(0, {benchmarks!r})
import torch
from torch_models import name_operators
kept = name_operators(torch)
sys.argv = sys.argv[1:]
sys.path[0] = ""
runpy.run_path(sys.argv[0], run_name="__main__")
"""
TIMES = re.compile(r"(time:?\s*|iter_dt\s*|ms/batch\s*|elapsed:\s*)[\d.]+(ms|s)?")
NUMBERS = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")


@dataclass(frozen=True)
class Script:
    repository: str
    folder: str
    command: str
    data: tuple = ()
    least: int = 2  # numbers that it prints


def draw_images(root, data):
    """Pictures and labels in the files of MNIST."""
    draw = random.Random(0)
    for name, count in (("train", 512), ("t10k", 128)):
        folder = root / data / "MNIST" / "raw"
        folder.mkdir(parents=True, exist_ok=True)
        for kind, sizes, most in (("images-idx3", (count, 28, 28), 255), ("labels-idx1", (count,), 9)):
            size = 1
            for each in sizes:
                size *= each
            head = struct.pack(f">I{len(sizes)}I", 0x0800 + len(sizes), *sizes)
            body = bytes(draw.randint(0, most) for _ in range(size))
            (folder / f"{name}-{kind}-ubyte").write_bytes(head + body)


def draw_words(root, data):
    draw = random.Random(1)
    (root / data).mkdir(parents=True, exist_ok=True)
    for name in ("train", "valid", "test"):
        lines = (" ".join(draw.choices("the cat sat on a mat".split(), k=12)) for _ in range(80))
        (root / data / f"{name}.txt").write_text("\n".join(lines))


def draw_letters(root, data):
    (root / data).parent.mkdir(parents=True, exist_ok=True)
    (root / data).write_text("".join(random.Random(2).choices("abcdefgh ijkl\nmnopOG!,d", k=6000)))


def draw_citations(root, data):
    draw = random.Random(3)
    (root / data).mkdir(parents=True, exist_ok=True)
    papers = (
        "\t".join([str(i), *(str(draw.randint(0, 1)) for _ in range(40)), f"L{draw.randint(0, 6)}"])
        for i in range(1600)
    )
    (root / data / "cora.content").write_text("\n".join(papers) + "\n")
    cites = (f"{draw.randrange(1600)}\t{draw.randrange(1600)}" for _ in range(1500))
    (root / data / "cora.cites").write_text("\n".join(cites) + "\n")


EXAMPLES, WORDS = "pytorch+examples", (draw_words, "word_language_model/data/wikitext-2")
SMALL_GPT = "--block_size=32 --batch_size=4 --n_layer=2 --n_head=2 --n_embd=32 --max_iters=10 --lr_decay_iters=10"
SCRIPTS = {
    "vae": Script(EXAMPLES, "vae", "main.py --epochs 1 --no-accel", (draw_images, "data")),
    "mnist": Script(EXAMPLES, "mnist", "main.py --epochs 1 --no-accel", (draw_images, "data")),
    "mnist_rnn": Script(EXAMPLES, "mnist_rnn", "main.py --epochs 1", (draw_images, "data")),
    "dcgan": Script(
        EXAMPLES,
        "dcgan",
        "main.py --dataset fake --dataroot x --niter 1 --ngf 8 --ndf 8 --dry-run --manualSeed 1 --batchSize 4",
        least=6,
    ),
    "lstm": Script(EXAMPLES, "word_language_model", "main.py --epochs 1 --emsize 32 --nhid 32", WORDS),
    "transformer": Script(
        EXAMPLES,
        "word_language_model",
        "main.py --epochs 1 --model Transformer --emsize 32 --nhead 2 --nhid 32 --lr 5",
        WORDS,
    ),
    "pygcn": Script("tkipf+pygcn", "pygcn", "train.py --epochs 8", (draw_citations, "data/cora"), 30),
    "adder": Script("karpathy+minGPT", ".", "projects/adder/adder.py --trainer.max_iters=40", (), 4),
    "chargpt": Script(
        "karpathy+minGPT",
        "projects/chargpt",
        "chargpt.py --trainer.max_iters=10 --model.model_type=gpt-nano --data.block_size=32 --trainer.batch_size=8",
        (draw_letters, "projects/chargpt/input.txt"),
        1,
    ),
    "nanogpt": Script(
        "karpathy+nanoGPT",
        ".",
        "train.py config/train_shakespeare_char.py --device=cpu --compile=False --eval_iters=2 --log_interval=1 "
        f"{SMALL_GPT} --dropout=0.0",
        (draw_letters, "data/shakespeare_char/input.txt"),
        20,
    ),
}


def run(command, folder, root):
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    env["PYTHONPATH"] = os.pathsep.join([str(root), env.get("PYTHONPATH", "")])
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    return [float(number) for number in NUMBERS.findall(TIMES.sub("", done.stdout))]


@pytest.mark.parametrize("name", SCRIPTS)
def test_prints_what_it_prints_under_torch(name, tmp_path):
    pytest.importorskip("torch")
    script = SCRIPTS[name]
    if not (Path(FOLDER) / script.repository).exists():
        pytest.skip(f"no {script.repository}")
    found = []
    for side in ("torch", "minidynamo"):
        root = tmp_path / side
        shutil.copytree(Path(FOLDER) / script.repository, root, ignore=shutil.ignore_patterns(".git"))
        if script.data:
            draw, place = script.data
            draw(root, place)
        if name == "nanogpt":
            run([sys.executable, "data/shakespeare_char/prepare.py"], root, root)
        under = ["-c", UNDER_TORCH.format(benchmarks=str(Path(__file__).parents[2] / "benchmarks"))]
        start = under if side == "torch" else ["-m", "minidynamo", "run"]
        found.append(run([sys.executable, *start, *script.command.split()], root / script.folder, root))
    theirs, ours = found
    assert len(theirs) == len(ours) >= script.least
    assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-4)
