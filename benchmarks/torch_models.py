"""torch's own models, unchanged, under minidynamo.compile(): right, breaks, and time against torch eager, in turns.

    python benchmarks/torch_models.py [torchvision] [timm] [--models NAME,...] [--freeze] [--compile] [--rounds N]
                                      [--json FILE]

Models have random weights and run in eval mode under no_grad. A package that is not installed is skipped. With
--compile torch.compile takes turns as well: a minute a model; with --freeze also each of the two with parameters that
stay as they are. Ratios are eager's least time over the other's.
"""

import argparse
import copy
import json
import statistics
import sys
import time
import warnings
from collections import Counter

TORCHVISION = """
    resnet18 resnet50 resnext50_32x4d wide_resnet50_2 vgg11 vgg16_bn alexnet squeezenet1_0 squeezenet1_1
    densenet121 googlenet inception_v3 mobilenet_v2 mobilenet_v3_small mobilenet_v3_large mnasnet0_5 mnasnet1_0
    shufflenet_v2_x0_5 shufflenet_v2_x1_0 efficientnet_b0 efficientnet_b1 efficientnet_v2_s regnet_x_400mf
    regnet_y_400mf convnext_tiny vit_b_32 swin_t swin_v2_t maxvit_t deeplabv3_mobilenet_v3_large
    lraspp_mobilenet_v3_large fcn_resnet50
""".split()
TIMM = """
    resnet18 resnet26d resnetv2_50 seresnet18 res2net50_26w_4s resnest14d ecaresnet26t densenet121 vgg11
    mobilenetv2_050 mobilenetv3_small_050 mobilenetv4_conv_small efficientnet_b0 tf_efficientnet_lite0 mixnet_s
    ghostnet_100 regnetx_002 regnety_002 convnext_atto convnextv2_atto vit_tiny_patch16_224
    deit_tiny_patch16_224 swin_tiny_patch4_window7_224 mixer_s32_224 resmlp_12_224 gmlp_s16_224 levit_128s
    poolformer_s12 edgenext_xx_small mobilevit_xxs xcit_nano_12_p16_224 pit_ti_224 cspresnet50 repvgg_a0
    fastvit_t8 efficientformer_l1
""".split()
# Sizes that a model demands; the others take 96.
SIZES = {"inception_v3": 299, "googlenet": 128, "maxvit_t": 224, "vit_b_32": 224}


def import_torchvision(torch):
    """Where torchvision's compiled part does not load, as it may need CUDA's libraries, its operators are named.

    Returns what keeps the names.
    """
    try:
        import torchvision  # noqa: F401
    except ImportError:
        return None
    except RuntimeError:
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        return name_operators(torch)
    return None


def name_operators(torch):
    library = torch.library.Library("torchvision", "FRAGMENT")
    for text in (
        "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
        "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
        "roi_align(Tensor input, Tensor rois, float scale, int height, int width, int ratio, bool aligned) -> Tensor",
    ):
        try:
            library.define(text)
        except RuntimeError:
            pass  # the compiled part is there
    return library


def torchvision_model(name):
    """The model, and pixels that it takes."""
    import torchvision

    options = {"weights": None}
    if name in ("googlenet", "inception_v3"):
        options |= {"aux_logits": False, "init_weights": False}
    if "deeplab" in name or "lraspp" in name or "fcn" in name:
        return torchvision.models.get_model(name, weights=None, weights_backbone=None), SIZES.get(name, 96)
    return torchvision.models.get_model(name, **options), SIZES.get(name, 96)


def timm_model(name):
    """As torchvision_model()."""
    import timm

    model = timm.create_model(name, pretrained=False)
    return model, model.default_cfg["input_size"][-1] if model.default_cfg.get("fixed_input_size") else 96


def spread_norms(torch, model):
    """With random weights activations grow or vanish with depth: a batch norm's statistics are its initial ones."""
    for module in model.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.running_var.fill_(1.0)
            module.running_mean.fill_(0.0)


def tensors_of(torch, value):
    if isinstance(value, torch.Tensor):
        return [value]
    parts = value.values() if isinstance(value, dict) else value
    return [each for part in parts for each in tensors_of(torch, part)]


def difference(torch, expected, given):
    """The largest, relative to the largest number; infinite where the results are of another kind."""
    one, other = tensors_of(torch, expected), tensors_of(torch, given)
    if [(each.shape, each.dtype) for each in one] != [(each.shape, each.dtype) for each in other]:
        return float("inf")
    return max(float((a - b).abs().max() / a.abs().max().clamp_min(1e-6)) for a, b in zip(one, other))


def reasons(explained):
    def where(reason):
        frame = reason.user_stack[-1] if getattr(reason, "user_stack", None) else None
        return f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}" if frame else ""

    lines = (str(each.reason).replace("\n", " ") for each in explained.break_reasons)
    short = (line.split("Explanation:")[0].strip() for line in lines)
    return Counter(f"{text} @ {where(each)}" for text, each in zip(short, explained.break_reasons))


def measure(torch, minidynamo, model, size, options):
    minidynamo._dynamo.reset()
    model.eval()
    spread_norms(torch, model)
    image = torch.randn(1, 3, size, size)
    row = {}
    expected = model(image)
    contenders = {"eager": model, "minidynamo": minidynamo.compile(model)}
    if options.freeze:
        contenders["minidynamo frozen"] = minidynamo.compile(model, options={"freeze": True})
    if options.compile:
        contenders["torch.compile"] = torch.compile(model)
    if options.compile and options.freeze:
        contenders["torch.compile frozen"] = torch.compile(copy.deepcopy(model), options={"freezing": True})
    for name, contender in contenders.items():
        start = time.perf_counter()
        contender(image)
        row[f"first {name}"] = time.perf_counter() - start
    frozen = contenders.get("minidynamo frozen", contenders["minidynamo"])
    row["difference frozen"] = difference(torch, expected, frozen(image))
    row["difference"] = max(difference(torch, expected, contenders["minidynamo"](image)) for _ in range(2))
    explained = minidynamo._dynamo.explain(model)(image)
    row["breaks"], row["reasons"] = explained.graph_break_count, dict(reasons(explained))
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(options.rounds):
        for name, contender in contenders.items():
            start = time.perf_counter()
            contender(image)
            best[name] = min(best[name], time.perf_counter() - start)
    return (
        row
        | {f"ratio {name}": best["eager"] / best[name] for name in contenders if name != "eager"}
        | {"eager": best["eager"]}
    )


def run(torch, minidynamo, package, names, make, options):
    rows = {}
    for name in names:
        if options.models and name not in options.models.split(","):
            continue
        torch.manual_seed(0)
        try:
            model, size = make(name)
        except Exception as error:  # a model of another version of the package
            print(f"{package} {name}: not made: {str(error)[:100]}", flush=True)
            continue
        try:
            with torch.no_grad():
                row = measure(torch, minidynamo, model, size, options)
        except Exception as error:
            row = {"error": f"{type(error).__name__}: {str(error)[:300]}"}
        rows[name] = row
        print(f"{package} {name}: {describe(row)}", flush=True)
    return rows


def is_right(row):
    return max(row["difference"], row["difference frozen"]) < 1e-4


def describe(row):
    if "error" in row:
        return f"FAILED {row['error']}"
    right = "right" if is_right(row) else f"WRONG by {max(row['difference'], row['difference frozen']):.1e}"
    shown = [f"{key[6:]} {value:.2f}" for key, value in row.items() if key.startswith("ratio ")]
    times = f"first {row['first minidynamo']:.2f} s, eager {row['eager'] * 1e3:.1f} ms, ratios: {', '.join(shown)}"
    return f"{right}, breaks {row['breaks']}, {times}"


def summary(package, rows):
    done = [row for row in rows.values() if "error" not in row]
    if not done:
        return f"{package}: nothing measured"
    right = sum(map(is_right, done))
    breaks = statistics.median(row["breaks"] for row in done)
    lines = [f"{package}: {right} of {len(rows)} right, breaks median {breaks}; ratios to eager:"]
    for name in (key for key in done[0] if key.startswith("ratio ")):
        ratios = [row[name] for row in done if name in row]
        lines.append(f"    {name[6:]}: mean {statistics.geometric_mean(ratios):.2f}, least {min(ratios):.2f}")
    return "\n".join(lines)


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", default=["torchvision", "timm"])
    parser.add_argument("--models", default="")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--freeze", action="store_true")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json")
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    try:
        import torch
    except ImportError:
        return print("skipped: torch is not installed")
    import minidynamo

    library = import_torchvision(torch)
    results = {}
    for package, names, make in (("torchvision", TORCHVISION, torchvision_model), ("timm", TIMM, timm_model)):
        if package not in options.packages:
            continue
        try:
            __import__(package)
        except ImportError as error:
            print(f"{package}: skipped: {error}")
            continue
        results[package] = run(torch, minidynamo, package, names, make, options)
    del library
    for package, rows in results.items():
        print(summary(package, rows))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main(sys.argv[1:])
