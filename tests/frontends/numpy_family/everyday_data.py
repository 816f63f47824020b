"""Reports, learning and random experiments."""

import numpy as np
from everyday import constant, ints, normal, program, uniform


@program(normal(600, 2), normal(5, 2), constant(10))
def kmeans(X, centers, iters):
    for _ in range(iters):
        d = ((X[:, None, :] - centers[None, :, :]) ** 2).sum(axis=-1)
        labels = d.argmin(axis=1)
        new = np.array(
            [X[labels == k].mean(axis=0) if np.any(labels == k) else centers[k] for k in range(len(centers))]
        )
        if np.allclose(new, centers):
            break
        centers = new
    return labels, centers, d.min(axis=1).sum()


@program(normal(600, 2), normal(5, 2), constant(10))
def kmeans_bincount(X, centers, iters):
    k = centers.shape[0]
    for _ in range(iters):
        d = np.linalg.norm(X[:, np.newaxis] - centers, axis=2)
        lab = np.argmin(d, axis=1)
        cnt = np.bincount(lab, minlength=k)
        new = np.zeros_like(centers)
        np.add.at(new, lab, X)
        new /= np.maximum(cnt, 1)[:, None]
        if np.abs(new - centers).max() < 1e-8:
            break
        centers = new
    return lab, centers


@program(ints(0, 300, 2000), ints(0, 300, 2000), constant(300), constant(0.85))
def pagerank(src, dst, n, d):
    deg = np.bincount(src, minlength=n)
    r = np.full(n, 1.0 / n)
    for it in range(100):
        share = r[src] / deg[src]
        new = np.full(n, (1 - d) / n)
        new += d * np.bincount(dst, weights=share, minlength=n)
        new += d * r[deg == 0].sum() / n
        err = np.abs(new - r).sum()
        r = new
        if err < 1e-10:
            break
    return r, it, np.argsort(-r)[:10]


@program(constant(7), constant(20000))
def mc_pi(seed, n):
    rng = np.random.default_rng(seed)
    x = rng.random(n)
    y = rng.random(n)
    inside = x * x + y * y <= 1.0
    est = 4 * inside.mean()
    return est, 1.96 * 4 * inside.std(ddof=1) / np.sqrt(n)


@program(constant(3), constant(2000), constant(50))
def mc_asian(seed, paths, steps):
    rng = np.random.default_rng(seed)
    S = np.full(paths, 100.0)
    acc = np.zeros(paths)
    dt = 1.0 / steps
    for _ in range(steps):
        S *= np.exp((0.05 - 0.5 * 0.04) * dt + 0.2 * np.sqrt(dt) * rng.standard_normal(paths))
        acc += S
    pay = np.maximum(acc / steps - 100.0, 0)
    return np.exp(-0.05) * pay.mean(), pay.std() / np.sqrt(paths)


@program(normal(5000), constant(20))
def report(x, bins):
    h, e = np.histogram(x, bins=bins)
    q = np.percentile(x, [5, 25, 50, 75, 95])
    iqr = q[3] - q[1]
    out = x[(x < q[1] - 1.5 * iqr) | (x > q[3] + 1.5 * iqr)]
    return {
        "hist": h,
        "edges": e,
        "q": q,
        "outliers": len(out),
        "mean": x.mean(),
        "std": x.std(),
        "mode": e[h.argmax()],
    }


@program(normal(200, 10), ints(0, 2, 200), constant(30))
def logistic(X, y, epochs):
    w = np.zeros(X.shape[1])
    b = 0.0
    losses = []
    for _ in range(epochs):
        p = 1 / (1 + np.exp(-(X @ w + b)))
        g = p - y
        w -= 0.1 * X.T @ g / len(y)
        b -= 0.1 * g.mean()
        losses.append(-np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)))
    acc = ((p > 0.5) == y).mean()
    return w, b, losses, acc


@program(normal(64, 20), ints(0, 5, 64), normal(20, 32), normal(32, 5))
def mlp_step(X, y, W1, W2):
    h = np.maximum(X @ W1, 0)
    z = h @ W2
    z -= z.max(axis=1, keepdims=True)
    e = np.exp(z)
    p = e / e.sum(axis=1, keepdims=True)
    loss = -np.log(p[np.arange(len(y)), y]).mean()
    d = p.copy()
    d[np.arange(len(y)), y] -= 1
    d /= len(y)
    gW2 = h.T @ d
    dh = d @ W2.T
    dh[h <= 0] = 0
    gW1 = X.T @ dh
    return loss, W1 - 0.1 * gW1, W2 - 0.1 * gW2


@program(normal(100, 6), constant(2))
def pca(X, k):
    Xc = X - X.mean(axis=0)
    C = Xc.T @ Xc / (len(X) - 1)
    w, V = np.linalg.eigh(C)
    order = np.argsort(w)[::-1]
    V = V[:, order[:k]]
    scores = Xc @ V
    return w[order] / w.sum(), np.abs(scores), np.abs(scores @ V.T)


@program(ints(0, 20, 500), normal(500))
def groupby(keys, vals):
    order = np.argsort(keys, kind="stable")
    k, v = keys[order], vals[order]
    uniq, start = np.unique(k, return_index=True)
    sums = np.add.reduceat(v, start)
    cnt = np.diff(np.append(start, len(v)))
    mx = np.maximum.reduceat(v, start)
    return uniq, sums / cnt, mx, cnt


@program(normal(100), constant(200), constant(5))
def bootstrap(x, reps, seed):
    rng = np.random.default_rng(seed)
    means = np.empty(reps)
    for k in range(reps):
        means[k] = rng.choice(x, size=len(x), replace=True).mean()
    return np.percentile(means, [2.5, 97.5]), means.std()


@program(uniform(300, 2), uniform(40, 2), constant(5))
def knn(X, Q, k):
    d = np.sqrt(((Q[:, None] - X[None]) ** 2).sum(-1))
    idx = np.argsort(d, axis=1, kind="stable")[:, :k]
    return idx, np.take_along_axis(d, idx, axis=1).mean(axis=1)


@program(uniform(500), uniform(500), uniform(500), uniform(500))
def haversine(lat1, lon1, lat2, lon2):
    p1, p2 = np.radians(90 * lat1), np.radians(90 * lat2)
    a = np.sin((p2 - p1) / 2) ** 2 + np.cos(p1) * np.cos(p2) * np.sin(np.radians(180 * (lon2 - lon1)) / 2) ** 2
    d = 2 * 6371.0 * np.arcsin(np.sqrt(a))
    return d, d.sum(), d[d > d.mean()].size


@program(ints(0, 4, 500), ints(0, 4, 500), uniform(500))
def classification_report(t, p, score):
    k = 4
    cm = np.zeros((k, k), dtype=int)
    np.add.at(cm, (t, p), 1)
    prec = np.diag(cm) / cm.sum(axis=0)
    rec = cm.diagonal() / cm.sum(axis=1)
    f1 = 2 * prec * rec / (prec + rec)
    y = t == 1
    order = np.argsort(-score, kind="stable")
    tp = np.cumsum(y[order])
    fp = np.cumsum(~y[order])
    auc = np.trapezoid(tp / tp[-1], fp / fp[-1])
    return cm, prec, rec, f1.mean(), auc


@program(uniform(5, 5), constant(300), constant(2))
def markov(P, steps, seed):
    P = P / P.sum(axis=1, keepdims=True)
    cum = np.cumsum(P, axis=1)
    rng = np.random.default_rng(seed)
    s = 0
    visits = np.zeros(5, dtype=int)
    for r in rng.random(steps):
        s = np.searchsorted(cum[s], r)
        visits[s] += 1
    return visits / steps, np.linalg.matrix_power(P, 50)[0]


@program(normal(8, 50), constant(0.0))
def missing_data(x, fill):
    x = x.copy()
    x[x > 1.5] = np.nan
    m = np.isnan(x)
    col = np.nanmean(x, axis=0)
    x[m] = np.take(col, np.where(m)[1])
    z = (x - np.nanmean(x, axis=0)) / np.nanstd(x, axis=0)
    return z, m.sum(axis=1), np.nan_to_num(col, nan=fill)


@program(ints(0, 2, 6, 40, dtype="i8"))
def perceptron(bits):
    X = bits[:, :8].astype(float)
    t = np.where(bits[:, 8] > 0, 1, -1)
    w = np.zeros(8)
    errors = 0
    for epoch in range(10):
        errors = 0
        for xi, ti in zip(X, t):
            if ti * (w @ xi) <= 0:
                w += ti * xi
                errors += 1
        if errors == 0:
            break
    return w, epoch, errors


@program(constant(12), constant(5))
def card_shuffle(k, seed):
    rng = np.random.default_rng(seed)
    deck = np.arange(52)
    rng.shuffle(deck)
    hands = deck[: k * 4].reshape(4, k)
    suits, ranks = hands // 13, hands % 13
    pairs = [len(r) - len(np.unique(r)) for r in ranks]
    return hands, np.sort(ranks, axis=1), pairs, np.bincount(suits.ravel(), minlength=4)


@program(ints(0, 100, 600), ints(0, 100, 600), uniform(600))
def bellman_ford(src, dst, w):
    dist = np.full(100, np.inf)
    dist[0] = 0
    for k in range(100):
        before = dist.copy()
        np.minimum.at(dist, dst, before[src] + w)
        if np.array_equal(before, dist):
            break
    return dist, k


@program(uniform(30, 2), constant(11))
def two_opt(pts, seed):
    d = np.hypot(pts[:, 0][:, None] - pts[:, 0], pts[:, 1][:, None] - pts[:, 1])
    tour = np.arange(len(pts))
    improved = True
    while improved:
        improved = False
        for a in range(1, len(tour) - 1):
            for b in range(a + 1, len(tour)):
                p, q, r, s = tour[a - 1], tour[a], tour[b], tour[(b + 1) % len(tour)]
                if d[p, r] + d[q, s] < d[p, q] + d[r, s] - 1e-12:
                    tour[a : b + 1] = tour[a : b + 1][::-1].copy()
                    improved = True
    return tour, d[tour, np.roll(tour, -1)].sum()
