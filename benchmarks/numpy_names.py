"""How many uses of NumPy's names in given programs are captured: each name is called once, compiled whole.

python benchmarks/numpy_names.py DIR[:PATTERN] [...] [--list]

Every numpy.NAME that a Python file below a DIR reads counts once for each place. Of NPBench the pattern is
"*_numpy.py". Without a DIR the tool says "skipped".
A name is captured if a plain call of it, CALLS below, is one graph; classes count as dtypes, other constants as read.
Names that this NumPy no longer has are left out, and those without a call count as not captured.
"""

import argparse
import ast
import collections
import warnings
from pathlib import Path

CALLS = """
abs(x) absolute(x) add(x, x) add.at(x.copy(), k, 1.0) add.outer(v, v) add.reduce(x) add.reduceat(v, [0, 2]) all(x)
allclose(x, x) amax(x) amin(x) any(x) append(x, x) arange(5) arccos(x) arcsin(x) arctan(x) arctan2(x, x) argmax(x)
argmin(x) argsort(v) argwhere(x) around(x) array([1.0, 2.0]) array_equal(x, x) asarray(x) atleast_2d(x) average(x)
bincount(k) bitwise_and(k, k) cbrt(x) bitwise_or(k, k) bitwise_xor(k, k) broadcast_to(v, (2, 6)) c_[v, v] ceil(x)
clip(x, 0, 1) column_stack([v, v]) concatenate([x, x]) conj(x) conjugate(x) convolve(v, v) copy(x)
copyto(x.copy(), x) corrcoef(x) correlate(v, v) cos(x) cosh(x) count_nonzero(x) cov(x) cross(x[:, :3], x[:, :3])
cumprod(x) cumsum(x) deg2rad(x) degrees(x) delete(v, 1) diag(v) diagonal(x) diff(x) digitize(x, v) divide(x, x)
divmod(x, x) dot(x, x.T) dstack([x, x]) einsum("ij->i", x) empty(3) empty_like(x) equal(x, x) exp(x)
expand_dims(x, 0) expm1(x) extract(x > 0.5, x) eye(3) fabs(x) fill_diagonal(x.copy(), 0.0) flatnonzero(x) flip(x)
floor(x) floor_divide(x, x) fmax(x, x) fmin(x, x) fmod(x, x) fromfunction(lambda i, j: i + j, (2, 3))
full((2, 3), 1.0) full_like(x, 1.0) gradient(x) greater(x, x) greater_equal(x, x) histogram(v, 4) hsplit(x, 2)
hstack([x, x]) hypot(x, x) identity(3) indices((2, 3)) inner(v, v) insert(v, 1, 2.0) interp(x, v, v) isclose(x, x)
isfinite(x) isfortran(x) isin(k, [1]) isinf(x) isnan(x) isscalar(1.0) ix_(k, k) kron(x, x) left_shift(k, k)
less(x, x) less_equal(x, x) linalg.cholesky(s) linalg.det(s) linalg.eig(s) linalg.eigh(s)
linalg.eigvalsh(s) linalg.inv(s) linalg.lstsq(x.T, s[0]) linalg.matrix_rank(s) linalg.norm(x) linalg.pinv(s)
linalg.qr(s) linalg.slogdet(s)
linalg.solve(s, s) linalg.svd(s) linspace(0, 1, 5) log(x) log10(x) log1p(x) log2(x) logaddexp(x, x) logical_and(x, x)
logical_not(x) logical_or(x, x) logical_xor(x, x) matmul(x, x.T) max(x) maximum(x, x) maximum.reduce(x) mean(x)
median(x) meshgrid(v, v) mgrid[0:3, 0:4] min(x) minimum(x, x) minimum.reduce(x) mod(x, x) moveaxis(x, 0, 1)
multiply(x, x) multiply.outer(v, v) nan_to_num(x) nanmax(x) nanmean(x) nanmin(x) nanstd(x) nansum(x) ndim(x)
negative(x) nonzero(x) not_equal(x, x) ogrid[0:3, 0:4] ones(3) ones_like(x) outer(v, v) pad(x, 1) partition(v, 2)
percentile(x, 30) piecewise(v, [v < 0.5], [0, 1]) place(x.copy(), x > 0.5, [0.0]) polyfit(v, v, 1)
polyval([1.0, 2.0], x) positive(x) power(x, x) prod(x) ptp(x) put(x.copy(), [0], 1.0)
putmask(x.copy(), x > 0.5, 0.0) quantile(x, 0.5) r_[v, v] radians(x) random.choice(k) random.exponential(1.0, 3)
random.normal(size=3)
random.permutation(5) random.poisson(2.0, 3)
random.rand(3) random.randint(0, 3, 4) random.randn(3) random.random(3) random.random_sample(3)
random.seed(1) random.standard_normal(3) random.uniform(0, 1, 3) ravel(x) real(x)
reciprocal(x) remainder(x, x) repeat(x, 2) reshape(x, (2, 6)) resize(x, (2, 2)) right_shift(k, k) rint(x) roll(x, 1)
rollaxis(x, 1) rot90(x) round(x) searchsorted(v, x) select([x > 0.5], [x]) shape(x) sign(x) sin(x) sinc(x) sinh(x)
size(x) sort(x) split(x, 2, 1) sqrt(x) square(x) squeeze(x[:1]) stack([x, x]) std(x) subtract(x, x)
subtract.outer(v, v) sum(x) swapaxes(x, 0, 1) take(x, k) tan(x) tanh(x) tensordot(x, x.T, 1) tile(x, 2) trace(s)
transpose(x) trapezoid(v) tri(3) tril(x) tril_indices(3) triu(x) triu_indices(3) true_divide(x, x) trunc(x)
unique(k) unravel_index(k, (3, 4)) var(x) vdot(v, v) vsplit(s, 2) vstack([x, x]) where(x > 0.5, x, 0) zeros(3)
zeros_like(x)
"""
# Of objects that the program never sees whole.
USES = {"ndindex": "[each for each in np.ndindex(2, 2)]"}


def calls():
    """By name, the text of its call: one expression after the other, up to each top-level space."""
    found, text, depth = dict(USES), "", 0
    for character in CALLS:
        depth += (character in "([{") - (character in ")]}")
        if character.isspace() and depth == 0:
            if text:
                found[text.split("(")[0].split("[")[0]] = f"np.{text}"
            text = ""
        else:
            text += character
    return found


def names_in(path):
    """numpy.NAME of each place of a file, the longest of each chain of attributes."""
    try:
        tree = ast.parse(path.read_text())
    except (SyntaxError, UnicodeDecodeError):
        return []
    modules = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            plain = [each for each in node.names if each.name.split(".")[0] == "numpy"]
            modules.update({each.asname or "numpy": each.name if each.asname else "numpy" for each in plain})
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "numpy":
            modules.update({each.asname or each.name: f"{node.module}.{each.name}" for each in node.names})

    def full_name(node):
        if isinstance(node, ast.Name):
            return modules.get(node.id)
        outer = full_name(node.value) if isinstance(node, ast.Attribute) else None
        return outer and f"{outer}.{node.attr}"

    found, inner = [], set()
    for node in ast.walk(tree):
        name = full_name(node) if id(node) not in inner else None
        if name:
            inner.update(id(each) for each in ast.walk(node))
            found.append(name.removeprefix("numpy").removeprefix("."))
    return [name for name in found if name]


def files_of(folder):
    path, _, pattern = folder.partition(":")
    return sorted(Path(path).rglob(pattern or "*.py"))


def verdict(name, known):
    """captured, broken, or gone: what this NumPy has not."""
    import numpy

    import minidynamo

    value = numpy
    for part in name.split("."):
        value = getattr(value, part, None)
    if value is None and name != "newaxis":
        return "gone"
    if name in known:
        text = known[name]
    elif isinstance(value, type) and issubclass(value, numpy.generic):
        text = f"np.zeros(2, np.{name})"
    elif not callable(value) or value is numpy.ndarray:
        return "captured"
    else:
        return "broken"
    x, v = numpy.linspace(0.1, 0.9, 12).reshape(3, 4), numpy.linspace(0.1, 0.9, 6)
    k, s = numpy.array([1, 0, 2, 1]), numpy.eye(4) * 2 + 0.1
    function = eval(f"lambda x, v, k, s: {text}", {"np": numpy})
    minidynamo._dynamo.reset()
    try:
        minidynamo.compile(function, fullgraph=True)(x, v, k, s)
    except minidynamo._dynamo.exc.Unsupported:
        return "broken"
    return "captured"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", help="folders with programs, and which files there")
    parser.add_argument("--list", action="store_true", help="list the names that are not captured")
    given = parser.parse_args()
    if not given.folders:
        return print("skipped: no folder of programs is given")
    warnings.simplefilter("ignore")
    import numpy.random  # noqa: F401

    known, verdicts = calls(), {}
    whole = collections.Counter()
    print("| programs | names | uses | captured |\n| --- | --- | --- | --- |")
    for folder in [*given.folders, None]:
        uses = whole
        if folder is not None:
            uses = collections.Counter(name for path in files_of(folder) for name in names_in(path))
            whole.update(uses)
        for name in uses:
            if name not in verdicts:
                verdicts[name] = verdict(name, known)
        count = {word: sum(n for name, n in uses.items() if verdicts[name] == word) for word in ("captured", "broken")}
        total = max(sum(count.values()), 1)
        names = len([name for name in uses if verdicts[name] != "gone"])
        name = Path(folder.partition(":")[0]).name if folder else "all"
        print(f"| {name} | {names} | {total} | {count['captured'] / total:.1%} |")
    if given.list:
        print(", ".join(f"{name} {n}" for name, n in whole.most_common() if verdicts[name] == "broken"))
    return None


if __name__ == "__main__":
    main()
