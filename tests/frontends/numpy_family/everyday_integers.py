"""Tables, searches, arithmetic of ints, and warnings."""

import warnings

import numpy as np
from everyday import constant, ints, normal, program, uniform


@program(constant("kitten sitting on the mat"), constant("sitting kitten at the cat"))
def levenshtein(a, b):
    prev = np.arange(len(b) + 1)
    for i, ca in enumerate(a):
        cur = np.empty_like(prev)
        cur[0] = i + 1
        for j, cb in enumerate(b):
            cur[j + 1] = min(prev[j + 1] + 1, cur[j] + 1, prev[j] + (ca != cb))
        prev = cur
    return int(prev[-1])


@program(ints(1, 30, 40), ints(1, 100, 40), constant(300))
def knapsack(w, v, cap):
    best = np.zeros(cap + 1, dtype=np.int64)
    for i in range(len(w)):
        k = w[i]
        best[k:] = np.maximum(best[k:], best[:-k] + v[i])
    return best, best[-1]


@program(ints(0, 4, 60), ints(0, 4, 70))
def lcs(a, b):
    T = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]:
                T[i, j] = T[i - 1, j - 1] + 1
            else:
                T[i, j] = max(T[i - 1, j], T[i, j - 1])
    return T[-1, -1], T


@program(ints(-200000, 200000, 1000))
def civil_from_days(z):
    z = z + 719468
    era = np.where(z >= 0, z, z - 146096) // 146097
    doe = z - era * 146097
    yoe = (doe - doe // 1460 + doe // 36524 - doe // 146096) // 365
    y = yoe + era * 400
    doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
    mp = (5 * doy + 2) // 153
    d = doy - (153 * mp + 2) // 5 + 1
    m = np.where(mp < 10, mp + 3, mp - 9)
    y = y + (m <= 2)
    wd = (z - 719468 + 4) % 7
    leap = (y % 4 == 0) & ((y % 100 != 0) | (y % 400 == 0))
    return y, m, d, wd, leap


@program(ints(0, 256, 200, dtype="u1"))
def fnv1a(data):
    h = np.uint32(2166136261)
    out = np.full(8, 2166136261, dtype=np.uint32)
    p = np.uint32(16777619)
    for byte in data[:64]:
        out ^= byte
        out *= p
        out += np.arange(8, dtype=np.uint32)
    return out, (out.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)


@program(ints(1, 2**40, 500, dtype="u8"), constant(50))
def xorshift(s, rounds):
    acc = np.zeros(s.shape)
    for _ in range(rounds):
        s = s ^ (s << np.uint64(13))
        s = s ^ (s >> np.uint64(7))
        s = s ^ (s << np.uint64(17))
        acc += (s >> np.uint64(11)) * (1.0 / 9007199254740992.0)
    return s, acc / rounds


@program(ints(0, 26, 500, dtype="u1"), constant(3))
def caesar(t, k):
    enc = (t + np.uint8(k)) % np.uint8(26)
    counts = np.bincount(enc, minlength=26)
    freq = counts / counts.sum()
    ent = -np.sum(freq[freq > 0] * np.log2(freq[freq > 0]))
    return enc, counts.argsort(kind="stable")[::-1][:5], ent


@program(constant(5000))
def sieve(n):
    is_p = np.ones(n + 1, dtype=bool)
    is_p[:2] = False
    for k in range(2, int(n**0.5) + 1):
        if is_p[k]:
            is_p[k * k :: k] = False
    return np.nonzero(is_p)[0]


@program(ints(1, 1000, 400))
def collatz(x):
    steps = np.zeros_like(x)
    x = x.copy()
    while np.any(x != 1):
        act = x != 1
        odd = act & (x % 2 == 1)
        even = act & ~odd
        x[odd] = 3 * x[odd] + 1
        x[even] //= 2
        steps[act] += 1
    return steps


@program(normal(20, 20), constant(np.float32(0.5)))
def mixed_dtypes(a, s):
    a32 = a.astype(np.float32)
    b = a32 * s + 1
    k = np.int8(100)
    ints = np.arange(20, dtype=np.int8)
    w = ints + np.int16(300)
    with np.errstate(over="ignore"):
        over = ints * k
    return (
        b,
        w,
        over,
        a32.sum(),
        a32.mean(dtype=np.float64),
        (a32 > 0).sum(),
        ints / 3,
        ints.sum(),
        ints.prod(dtype=np.int8),
    )


@program(ints(0, 10, 9, 9))
def sudoku_check(g):
    ok = np.zeros((3, 9), dtype=bool)
    for k in range(9):
        ok[0, k] = len(np.unique(g[k])) == 9
        ok[1, k] = len(np.unique(g[:, k])) == 9
        b = g[3 * (k // 3) : 3 * (k // 3) + 3, 3 * (k % 3) : 3 * (k % 3) + 3]
        ok[2, k] = set(b.ravel()) == set(range(1, 10))
    return ok, ok.all(), np.argwhere(g == 0)


@program(ints(-3, 4, 50), ints(-3, 4, 50))
def safe_ratio(a, b):
    r = a / b
    bad = ~np.isfinite(r)
    r[bad] = 0
    try:
        with np.errstate(divide="raise", invalid="raise"):
            s = a / b
    except FloatingPointError as e:
        s = str(e)
    return r, bad.sum(), s


@program(ints(-5, 6, 40), ints(-3, 4, 40))
def int_division_report(a, b):
    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        q = a // b
        m = a % b
    return q, m, [str(x.message) for x in w]


@program(ints(-5, 6, 40), ints(-3, 4, 40))
def int_division_plain(a, b):
    q = a // b
    m = a % b
    return q, m, q * b + m == a


@program(ints(0, 256, 30, dtype="u1"), ints(0, 256, 30, dtype="u1"))
def uint8_arith(a, b):
    s = a + b
    d = a - b
    p = a * b
    avg = (a.astype(np.uint16) + b) // 2
    ab = np.abs(a - b)
    neg = -a
    inv = ~a
    sh = a << 3
    return (
        s,
        d,
        p,
        avg.astype(np.uint8),
        ab,
        neg,
        inv,
        sh,
        a.sum(),
        a.mean(),
        (a > b).sum(),
        a.max() - a.min(),
        np.bitwise_xor.reduce(a),
    )


@program(ints(-128, 128, 30, dtype="i1"))
def int8_edges(a):
    return (
        np.abs(a),
        -a,
        a // np.int8(-1) if False else a // 3,
        a % 7,
        a >> 1,
        a * 2,
        a + np.int8(100),
        a.cumsum(),
        a.prod(),
        np.square(a),
        a**2,
        a.astype(np.uint8),
    )


@program(normal(30), normal(30))
def log_warns(a, b):
    x = np.log(a)
    y = np.sqrt(b)
    z = np.where(a > 0, x, 0)
    return x, y, z, np.nansum(z)


@program(normal(30))
def overflow_exp(a):
    big = np.exp(a * 1000)
    s = 1 / (1 + big)
    f = (a * 1e30).astype(np.float32) ** 2
    return big, s, f


@program(normal(12))
def scalar_loop_warn(a):
    out = []
    for x in a:
        out.append(np.sqrt(x))
    return out


@program(normal(40))
def state_machine(x):
    state = 0
    count = np.zeros(3, dtype=int)
    out = []
    for v in x:
        if state == 0 and v > 0.5:
            state = 1
        elif state == 1 and v < -0.5:
            state = 2
        elif state == 2:
            state = 0
        count[state] += 1
        out.append(state)
    return np.array(out), count


@program(ints(0, 100, 30))
def bubble_sort(a):
    a = a.copy()
    for j in range(len(a)):
        swapped = False
        for k in range(len(a) - j - 1):
            if a[k] > a[k + 1]:
                a[k], a[k + 1] = a[k + 1], a[k]
                swapped = True
        if not swapped:
            break
    return a, j


@program(ints(0, 100, 30), constant(17))
def binary_search(a, x):
    a = np.sort(a)
    lo, hi = 0, len(a)
    while lo < hi:
        mid = (lo + hi) // 2
        if a[mid] < x:
            lo = mid + 1
        else:
            hi = mid
    return lo, np.searchsorted(a, x), a[lo] if lo < len(a) else None


@program(uniform(20), uniform(20))
def dtw(a, b):
    D = np.full((len(a) + 1, len(b) + 1), np.inf)
    D[0, 0] = 0
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            D[i, j] = abs(a[i - 1] - b[j - 1]) + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return D[-1, -1], D
