"""NPBench's kernels, sources unchanged: NumPy and minidynamo.compile side by side, on results and time.

python benchmarks/npbench.py --npbench DIR [--peers] [--kernels NAME,...] [--seconds S] [--json FILE]

DIR is a checkout of https://github.com/spcl/npbench; without one the benchmark says "skipped". Each kernel runs at size
S as numpy_contest.py says. --peers adds Numba and JAX, where they are installed, on NPBench's own variants for them;
what these compile is not timed.
"""

import importlib
import importlib.util
import json
import sys

from numpy_contest import Contender, compete, contest, parse

# Relative tolerances where rounding grows.
CHAOTIC = {"nbody": 1e-5}

# NPBench's suffixes of the variants of each peer.
VARIANTS = {"numba": ("numba_n", "numba_np", "numba_o", "numba_op"), "jax": ("jax", "jax_lib")}


def kernels(folder):
    return sorted(path.stem for path in (folder / "bench_info").glob("*.json"))


def package_of(info):
    return "npbench.benchmarks." + info["relative_path"].replace("/", ".")


def load(folder, name, size="S"):
    """The kernel, its arguments and what NPBench says of it."""
    sys.path.insert(0, str(folder))
    info = json.loads((folder / "bench_info" / f"{name}.json").read_text())["benchmark"]
    data = dict(info["parameters"][size])
    if info.get("init"):
        init = info["init"]
        module = importlib.import_module(f"{package_of(info)}.{info['module_name']}")
        values = getattr(module, init["func_name"])(*[data[each] for each in init["input_args"]])
        data.update(zip(init["output_args"], values if isinstance(values, tuple) else (values,), strict=True))
    module = importlib.import_module(f"{package_of(info)}.{info['module_name']}_numpy")
    return getattr(module, info["func_name"]), [data[each] for each in info["input_args"]], info


def for_jax(arguments):
    import jax
    import numpy

    return [jax.numpy.array(each) if isinstance(each, numpy.ndarray) else each for each in arguments]


def peers(info):
    """A contender for each variant of a peer that is installed."""
    for peer, variants in VARIANTS.items():
        if importlib.util.find_spec(peer) is None:
            continue
        if peer == "jax":
            import jax

            jax.config.update("jax_platforms", "cpu")
            jax.config.update("jax_enable_x64", True)
        for variant in variants:
            name = f"{package_of(info)}.{info['module_name']}_{variant}"
            if importlib.util.find_spec(name) is None:
                continue
            run = getattr(importlib.import_module(name), info["func_name"])
            if peer == "jax":
                yield Contender(variant, run, for_jax, jax.block_until_ready)
            else:
                yield Contender(variant, run)


def best_of_each_peer(row):
    best = {}
    for variant, ratio in row["peers"].items():
        peer = variant.split("_")[0]
        best[peer] = max(ratio, best.get(peer, 0.0))
    return {**row, "peers": best}


def main():
    arguments = parse(__doc__, "npbench")
    if arguments.npbench is None:
        print("skipped: --npbench DIR is not given")
        return
    if arguments.one:
        function, given, info = load(arguments.npbench, arguments.one)
        others = list(peers(info)) if arguments.peers else []
        row = compete(function, given, arguments.seconds, CHAOTIC.get(arguments.one, 0.0), others)
        print(json.dumps(best_of_each_peer(row)))
        return
    chosen = arguments.kernels.split(",") if arguments.kernels else kernels(arguments.npbench)
    contest(chosen, arguments.json)


if __name__ == "__main__":
    main()
