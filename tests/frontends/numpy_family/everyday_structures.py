"""Programs with classes, closures, generators, recursion, exceptions and early ends."""

from dataclasses import dataclass, field

import numpy as np
from everyday import constant, ints, normal, program, uniform


@dataclass
class Particles:
    pos: np.ndarray
    vel: np.ndarray
    mass: float = 1.0
    log: list = field(default_factory=list)

    @property
    def energy(self):
        return 0.5 * self.mass * (self.vel**2).sum()

    def step(self, dt):
        self.vel -= dt * self.pos
        self.pos = self.pos + dt * self.vel
        self.log.append(self.energy)
        return self


class Matrix:
    def __init__(self, d):
        self.d = np.array(d)

    def __matmul__(self, o):
        return Matrix(self.d @ o.d)

    def __add__(self, o):
        return Matrix(self.d + (o.d if isinstance(o, Matrix) else o))

    __radd__ = __add__

    def __getitem__(self, k):
        return self.d[k]

    def __len__(self):
        return len(self.d)

    def __iter__(self):
        return iter(self.d)


class Grid:
    __slots__ = ("u", "h")

    def __init__(self, n, h):
        self.u = np.zeros((n, n))
        self.h = h

    def __enter__(self):
        self.u[0] = 1.0
        return self

    def __exit__(self, *a):
        self.u[:] = -1
        return False

    def relax(self, k):
        for _ in range(k):
            self.u[1:-1, 1:-1] = 0.25 * (self.u[2:, 1:-1] + self.u[:-2, 1:-1] + self.u[1:-1, 2:] + self.u[1:-1, :-2])
        return self.u.sum()


@program(normal(100, 2), constant(0.5))
def dbscan(X, eps):
    n = len(X)
    d = np.sqrt(((X[:, None] - X[None]) ** 2).sum(-1))
    nb = d <= eps
    core = nb.sum(1) >= 4
    lab = np.full(n, -1)
    c = 0
    for i in range(n):
        if lab[i] != -1 or not core[i]:
            continue
        stack = [i]
        while stack:
            j = stack.pop()
            if lab[j] != -1:
                continue
            lab[j] = c
            if core[j]:
                stack.extend(np.flatnonzero(nb[j] & (lab == -1)).tolist())
        c += 1
    return lab, c


@program(normal(6, 6))
def row_echelon(A):
    A = A.astype(np.float64)
    r = 0
    rows, cols = A.shape
    piv = []
    for c in range(cols):
        if r >= rows:
            break
        p = r + int(np.argmax(np.abs(A[r:, c])))
        if abs(A[p, c]) < 1e-9:
            continue
        A[[r, p]] = A[[p, r]]
        A[r] /= A[r, c]
        for i in range(rows):
            if i != r:
                A[i] -= A[i, c] * A[r]
        piv.append(c)
        r += 1
    return np.round(A, 9) + 0.0, piv


@program(normal(16, 16))
def haar(img):
    out = img.copy()
    n = img.shape[0]
    while n > 1:
        h = n // 2
        blk = out[:n, :n].copy()
        out[:n, :h] = (blk[:, ::2] + blk[:, 1::2]) / 2
        out[:n, h:n] = (blk[:, ::2] - blk[:, 1::2]) / 2
        blk = out[:n, :n].copy()
        out[:h, :n] = (blk[::2] + blk[1::2]) / 2
        out[h:n, :n] = (blk[::2] - blk[1::2]) / 2
        n = h
    return out


@program(uniform(50), constant(20))
def waiting_queue(u, n):
    arrive = np.cumsum(-np.log1p(-u))
    serve = np.full(u.size, 0.8)
    start = np.empty_like(arrive)
    end = np.empty_like(arrive)
    last = 0.0
    for i in range(u.size):
        start[i] = max(arrive[i], last)
        last = end[i] = start[i] + serve[i]
    wait = start - arrive
    return wait.mean(), (wait > 0).mean(), np.histogram(wait, bins=n)[0], end


@program(ints(0, 4, 12, 12))
def components(img):
    lab = np.arange(1, img.size + 1).reshape(img.shape) * (img > 0)
    while True:
        p = np.pad(lab, 1)
        m = np.maximum.reduce([p[1:-1, 1:-1], p[:-2, 1:-1], p[2:, 1:-1], p[1:-1, :-2], p[1:-1, 2:]])
        m[img == 0] = 0
        if np.array_equal(m, lab):
            break
        lab = m
    u, inv = np.unique(lab, return_inverse=True)
    return inv.reshape(lab.shape), len(u) - (0 in u)


@program(normal(8))
def generator_pipeline(x):
    def src():
        for v in x:
            yield v * 2

    def keep(it):
        for v in it:
            if v > 0:
                yield v

    a = np.fromiter(keep(src()), dtype=float)
    b = np.array([v for v in src()])
    return a, b, sum(keep(src())), list(map(float, src()))[:2]


@program(normal(4, 4), constant(2))
def memo_recursion(A, k):
    memo = {}

    def power(n):
        if n in memo:
            return memo[n]
        if n == 0:
            r = np.eye(len(A))
        elif n % 2:
            r = power(n - 1) @ A
        else:
            h = power(n // 2)
            r = h @ h
        memo[n] = r
        return r

    return power(5 * k), sorted(memo)


@program(normal(5, 3), normal(5, 3))
def quaternions(a, b):
    c = np.cross(a, b)
    d = (a * b).sum(-1, keepdims=True)
    na = np.linalg.norm(a, axis=-1)
    q = np.concatenate([d, c], axis=-1)
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    return q, np.degrees(np.arccos(np.clip(d[:, 0] / (na * np.linalg.norm(b, axis=-1)), -1, 1)))


@program(normal(5, 5))
def in_place_chain(a):
    a[1:] -= a[:-1]
    a[:, 0] = a[:, -1]
    a[a < 0] **= 2
    a.T[:] = a
    a[::-1][0] = 1
    a[[0, 1]] = a[[1, 0]]
    np.add(a, 1, out=a)
    np.multiply(a, a, out=a[::-1])
    return a.sum()


@program(normal(100, 3), constant(4), constant(0))
def gmm(X, k, seed):
    rng = np.random.default_rng(seed)
    mu = X[rng.choice(len(X), k, replace=False)]
    var = np.full(k, X.var())
    pi = np.full(k, 1.0 / k)
    ll_old = -np.inf
    for it in range(15):
        d2 = ((X[:, None] - mu) ** 2).sum(-1)
        lp = np.log(pi) - 0.5 * d2 / var - 0.5 * X.shape[1] * np.log(2 * np.pi * var)
        mx = lp.max(1, keepdims=True)
        lse = mx[:, 0] + np.log(np.exp(lp - mx).sum(1))
        r = np.exp(lp - lse[:, None])
        ll = lse.sum()
        if abs(ll - ll_old) < 1e-4:
            break
        ll_old = ll
        nk = r.sum(0) + 1e-12
        mu = r.T @ X / nk[:, None]
        var = (r * d2).sum(0) / (nk * X.shape[1]) + 1e-6
        pi = nk / len(X)
    return it, ll / len(X), np.sort(nk)


@program(uniform(10, 10), constant(5))
def ising(u, steps):
    s = np.where(u < 0.5, -1, 1).astype(np.int8)
    E = []
    for k in range(steps):
        nb = np.roll(s, 1, 0) + np.roll(s, -1, 0) + np.roll(s, 1, 1) + np.roll(s, -1, 1)
        dE = 2 * s * nb
        mask = (np.indices(s.shape).sum(0) + k) % 2 == 0
        flip = mask & ((dE <= 0) | (u < np.exp(-dE / 2.0)))
        s[flip] *= -1
        E.append(-(s * nb).sum() / 2)
    return s, E, s.dtype


@program(normal(100), constant(3))
def lag_matrix(x, p):
    n = x.size - p
    X = np.column_stack([x[p - k - 1 : p - k - 1 + n] for k in range(p)])
    y = x[p:]
    G = X.T @ X + 1e-6 * np.eye(p)
    phi = np.linalg.solve(G, X.T @ y)
    res = y - X @ phi
    return phi, res.var(), np.abs(res).argmax()


@program(ints(0, 10, 50), normal(50))
def scatter_ops(idx, v):
    a = np.zeros(10, v.dtype)
    b = np.ones(10)
    c = np.full(10, np.inf)
    d = np.zeros(10, int)
    np.add.at(a, idx, v)
    np.multiply.at(b, idx, 1 + v)
    np.minimum.at(c, idx, v)
    np.add.at(d, idx, 1)
    np.subtract.at(a, idx[:5], 1)
    return a, b, c, d


@program(normal(40))
def reduceat_segments(x):
    starts = np.arange(0, x.size, 5)
    s = np.add.reduceat(x, starts)
    m = np.maximum.reduceat(x, starts)
    p = np.multiply.reduceat(x, [0, 2, 5])
    lens = np.diff(np.append(starts, x.size))
    return s / lens, m, p, np.logical_or.reduceat(x > 1, starts)


@program(normal(6, 4), normal(6, 4))
def out_and_where(a, b):
    out = np.zeros_like(a)
    r = np.divide(a, b, out=out, where=np.abs(b) > 0.5, casting="unsafe")
    np.sqrt(np.abs(a), out=a)
    q = np.add(a, 1, where=a > 0.5, out=a)
    s = np.sum(b, where=b > 0, initial=10)
    m = np.max(b, where=b < 0, initial=-5)
    return r is out, out, q is a, s, m


@program(normal(20, 20), constant(1e-3))
def sor(f, tol):
    u = np.zeros_like(f)
    it = 0
    while True:
        old = u.copy()
        u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - f[1:-1, 1:-1])
        it += 1
        if np.linalg.norm(u - old) < tol or it >= 60:
            break
    else:
        it = -1
    return u, it


@program(normal(20), normal(25))
def dtw_path(a, b):
    n, m = len(a), len(b)
    D = np.full((n + 1, m + 1), np.inf)
    D[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            D[i, j] = abs(a[i - 1] - b[j - 1]) + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    i, j = n, m
    path = []
    while i > 0 or j > 0:
        path.append((i - 1, j - 1))
        step = np.argmin([D[i - 1, j - 1], D[i - 1, j], D[i, j - 1]]) if i and j else (1 if j == 0 else 2)
        if step == 0:
            i -= 1
            j -= 1
        elif step == 1:
            i -= 1
        else:
            j -= 1
    return D[n, m], path[::-1]


@program(ints(0, 50, 15))
def longest_increasing(x):
    tails = np.empty_like(x)
    size = 0
    for v in x:
        k = np.searchsorted(tails[:size], v)
        tails[k] = v
        size = max(size, k + 1)
    return size, tails[:size]


@program(constant(11), constant(100))
def metropolis(seed, n):
    rng = np.random.default_rng(seed)
    x = np.zeros(2)
    cov = np.array([[1.0, 0.6], [0.6, 1.0]])
    inv = np.linalg.inv(cov)
    chain = np.empty((n, 2))
    accepted = 0
    logp = -0.5 * x @ inv @ x
    for i in range(n):
        prop = x + 0.7 * rng.normal(size=2)
        lp = -0.5 * prop @ inv @ prop
        if np.log(rng.random()) < lp - logp:
            x, logp = prop, lp
            accepted += 1
        chain[i] = x
    return chain, accepted, chain.mean(axis=0)


@program(normal(10, 2), normal(10, 2), constant(0.01), constant(10))
def dataclass_particles(p, v, dt, n):
    s = Particles(p, v, mass=2.0)
    for _ in range(n):
        s.step(dt)
    return s.pos, s.vel, s.log, s.energy, s.pos is p, s.vel is v


@program(normal(4, 4))
def class_matrix(a):
    m = Matrix(a)
    r = m @ m + 1
    s = 2 + r
    t = sum(row.sum() for row in s)
    return s.d, len(s), t, s[0], [float(x[0]) for x in s]


@program(constant(8), constant(5))
def context_grid(n, k):
    g = Grid(n, 1 / n)
    with g as h:
        s = h.relax(k)
        c = h.u.copy()
    return s, c, g.u


@program(normal(20), constant(1e-2))
def errstate_nested(x, t):
    out = []
    with np.errstate(all="ignore"):
        out.append(np.log(x))
        with np.errstate(divide="warn", invalid="warn"):
            out.append(np.sqrt(x) / (x * 0))
        out.append(x / 0)
    old = np.seterr(all="ignore")
    out.append(np.log(-np.abs(x)))
    np.seterr(**old)
    out.append(np.exp(x * 400))
    return out


@program(normal(100), constant(20))
def early_exit(x, limit):
    total, steps = 0.0, []
    for i, v in enumerate(x):
        if v < -1.5:
            continue
        total += v
        steps.append(total)
        if i >= limit or total > 3:
            break
    else:
        total = np.nan
    return total, steps, i


@program(normal(50), uniform(9))
def kde(x, grid):
    h = 1.06 * x.std() * x.size ** (-1 / 5)
    u = (grid[:, None] - x) / h
    k = np.exp(-0.5 * u * u) / np.sqrt(2 * np.pi)
    return k.sum(1) / (x.size * h), h


@program(normal(30, 4), ints(0, 3, 30))
def lda(X, y):
    classes = np.unique(y)
    means = np.array([X[y == c].mean(0) for c in classes])
    Sw = np.zeros((X.shape[1],) * 2)
    for c, m in zip(classes, means):
        d = X[y == c] - m
        Sw += d.T @ d
    W = np.linalg.inv(Sw + np.eye(len(Sw)))
    scores = X @ W @ means.T - 0.5 * np.einsum("ij,jk,ik->i", means, W, means)
    return scores.argmax(1), (classes[scores.argmax(1)] == y).mean()


@program(ints(0, 255, 16, 16, dtype="u1"), constant(3))
def median_window(img, k):
    p = np.pad(img, k // 2, mode="edge")
    w = np.lib.stride_tricks.sliding_window_view(p, (k, k))
    return np.median(w, axis=(2, 3)).astype(img.dtype), w.max((2, 3)) - w.min((2, 3)), w.mean((-1, -2))


@program(normal(16))
def recursive_fft(x):
    def fft(a):
        n = len(a)
        if n == 1:
            return a.astype(complex)
        e, o = fft(a[::2]), fft(a[1::2])
        w = np.exp(-2j * np.pi * np.arange(n // 2) / n) * o
        return np.concatenate([e + w, e - w])

    X = fft(x)
    return np.abs(X), np.allclose(X, np.fft.fft(x))


@program(normal(5, 5))
def try_solve(A):
    try:
        inv = np.linalg.inv(A)
    except np.linalg.LinAlgError as e:
        return "singular", str(e)
    finally:
        A[0, 0] = 42
    return inv, np.linalg.det(A)


@program(normal(512))
def zero_crossings(x):
    s = np.sign(x)
    s[s == 0] = 1
    idx = np.where(np.diff(s) != 0)[0]
    rate = len(idx) / len(x)
    gaps = np.diff(idx)
    return idx, rate, gaps.mean() if gaps.size else np.nan, np.bincount(gaps, minlength=5)[:5]


@program(normal(64), constant(0.1), constant(40))
def burgers(u, dt, steps):
    u = u.copy()
    for _ in range(steps):
        up = np.roll(u, -1)
        um = np.roll(u, 1)
        flux = np.where(u > 0, u * (u - um), u * (up - u))
        u -= dt * flux - 0.05 * (up - 2 * u + um)
        if not np.isfinite(u).all():
            raise FloatingPointError("blew up")
    return u


@program(normal(30))
def closures(x):
    count = 0

    def scale(k):
        def inner(a):
            nonlocal count
            count += 1
            return a * k

        return inner

    fs = [scale(k) for k in (1.0, 2, np.float32(3))]
    y = x
    for f in fs:
        y = f(y)
    return y, count


@program(normal(10), normal(10))
def alias_outputs(a, b):
    v = a[2:]
    w = v[::-1]
    u = w.reshape(1, -1)
    b[:2] = v[:2] if v.size >= 2 else 0
    d = {"v": v, "w": w, "u": u, "b": b, "a2": a.T, "aa": a[...], "s": a.squeeze()}
    return d, [a, b], (v, v)
