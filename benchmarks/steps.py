"""The steps of all plans of all programs by the time that they lose against what binds them.

    python benchmarks/steps.py [--rows WORDS] [--threads N] [--batches 1] [--code DIR] [--most N] [--json FILE]

The rows of the table and public models (own_programs.py). A step's bound is what this machine needs for copying its
bytes, by the cache that holds them, or for products of as many operations (explain()'s least_ns). The rule: a step of
at least 20 us takes at most 1 / 0.7 of its bound. Printed: the share of all lost time in steps below the rule, the
kinds of steps with most of it, and the steps themselves.
"""

import json
import sys
import warnings
from collections import defaultdict

import own_programs

RULE = 0.7
FEWEST_NS = 20_000


def steps_of(minidynamo, name, make):
    minidynamo._dynamo.reset()
    minidynamo.empty_cache()
    function, arguments = make()
    minidynamo.compile(function)(*arguments)  # weights are packed at a later call
    minidynamo._dynamo.reset()
    report = minidynamo._dynamo.explain(function)(*arguments)
    return [
        {
            "program": name,
            "text": step.text,
            "kernel": step.kernel,
            "us": step.fastest_ns / 1e3,
            "lost": (step.fastest_ns - step.least_ns) / 1e3,
            "part": step.of_the_bound,
        }
        for region in report.regions
        if region.plan is not None
        for step in region.plan.steps
        if step.fastest_ns
    ]


def is_below(step):
    return step["us"] * 1e3 >= FEWEST_NS and step["part"] < RULE


def kind_of(step):
    """The words of the step's text that name no values: "linear + gelu", "kernel max_pool2d"."""
    return step["text"].split(" -> ")[0].split(" (")[0]


def print_kinds(steps, most):
    by_kind = defaultdict(list)
    for step in steps:
        if is_below(step):
            by_kind[kind_of(step)].append(step)
    total = sum(max(step["lost"], 0) for step in steps) or 1
    below = sum(step["lost"] for part in by_kind.values() for step in part)
    share = f"{100 * below / total:.0f} % of it in steps below the rule"
    print(f"\n{len(steps)} steps lose {total / 1e3:.1f} ms, {share}\n")
    print("| kind of step | steps | programs | lost, us | of the bound, median |\n| --- | ---: | ---: | ---: | ---: |")
    ordered = sorted(by_kind.items(), key=lambda pair: -sum(step["lost"] for step in pair[1]))
    for kind, part in ordered[:most]:
        lost, parts = sum(step["lost"] for step in part), sorted(step["part"] for step in part)
        programs = len({step["program"] for step in part})
        print(f"| {kind} | {len(part)} | {programs} | {lost:.0f} | {100 * parts[len(parts) // 2]:.0f} % |")


def print_steps(steps, most):
    print()
    for step in sorted(filter(is_below, steps), key=lambda step: -step["lost"])[:most]:
        lost = f"{step['lost']:.0f} of {step['us']:.0f} us, {100 * step['part']:.0f} %"
        print(f"- {lost}: {step['text']}; {step['kernel']} [{step['program']}]")


def main(argv):
    parser = own_programs.parser_of(__doc__)
    parser.add_argument("--most", type=int, default=40, help="kinds and steps that are printed")
    arguments = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    steps = []
    for name, found in own_programs.measured(arguments, steps_of):
        steps += found
        lost = sum(step["lost"] for step in found if is_below(step))
        took = sum(step["us"] for step in found)
        print(f"{name}: {len(found)} steps, {took:.0f} us, {lost:.0f} below the rule", flush=True)
    if steps:
        print_kinds(steps, arguments.most)
        print_steps(steps, arguments.most)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(steps, file, indent=1)


if __name__ == "__main__":
    main(sys.argv[1:])
