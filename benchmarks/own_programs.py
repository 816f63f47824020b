"""What compiled and eager minidynamo are compared on, and whose steps are listed: the table's rows and public models.

A program is called without arguments: (name, make), where make(torch) returns the function and its arguments; torch is
minidynamo. Public models (public_models.py) take part where minidynamo stands in torch's place and their packages are
installed.
"""

import argparse
import sys

import numpy
from peers import Minidynamo
from workloads import ROWS


class Uncompiled(Minidynamo):
    def compile(self, function):
        return function


def of_table(row):
    def make():
        from steady import rounded
        from workloads.table import map_arrays

        rng = numpy.random.default_rng(0)
        inputs = map_arrays(lambda values: rounded(values, row.dtype), row.inputs(rng))
        weights = row.weights and map_arrays(lambda values: rounded(values, row.dtype), row.weights(rng))
        return Uncompiled().prepare(row, inputs, weights)

    return row.name, make


def of_public(row, batch):
    def make():
        from public_models import made

        return made(row, batch)

    return f"{row.name}, batch {batch}", make


def programs(batches, code=None):
    """[(name, make)]; minidynamo must stand in torch's place."""
    from public_models import public_models

    found = [of_table(row) for row in ROWS.values() if "torch" in row.forms and not row.is_eager and not row.is_curve]
    for row in public_models(code):
        if row.is_here:
            found += [of_public(row, batch) for batch in batches]
    return found


def parser_of(description):
    """A parser of the flags that say which programs are measured, and how."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="", help="only those whose name contains one of these words, with semicolons")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batches", default="1")
    parser.add_argument("--code", help="a directory of files with more models")
    parser.add_argument("--json", help="file to write all results to")
    return parser


def measured(arguments, measure):
    """(name, measure(minidynamo, name, make)) of each program that parser_of()'s flags name, under no_grad()."""
    import minidynamo
    import minidynamo.compat.torch  # noqa: F401

    minidynamo.set_num_threads(arguments.threads)
    for name, make in programs([int(each) for each in arguments.batches.split(",")], arguments.code):
        if arguments.rows and not any(word in name for word in arguments.rows.split(";")):
            continue
        try:
            with minidynamo.no_grad():
                found = measure(minidynamo, name, make)
        except Exception as error:  # a model of another version of its package, or a name that is not here
            print(f"{name}: not measured: {type(error).__name__}: {str(error)[:120]}", file=sys.stderr, flush=True)
            continue
        yield name, found
