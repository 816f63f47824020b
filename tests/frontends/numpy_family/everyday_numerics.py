"""Equations, matrices and motion."""

import numpy as np
from everyday import constant, ints, normal, program, uniform


@program(constant(60), constant(1.0))
def fem_1d(n, L):
    h = L / n
    ke = np.array([[1.0, -1.0], [-1.0, 1.0]]) / h
    fe = np.full(2, h / 2)
    K = np.zeros((n + 1, n + 1))
    F = np.zeros(n + 1)
    for e in range(n):
        idx = np.array([e, e + 1])
        K[np.ix_(idx, idx)] += ke
        F[idx] += fe
    K[0, :] = 0
    K[0, 0] = 1
    F[0] = 0
    return np.linalg.solve(K, F)


@program(uniform(81, 2), ints(0, 81, 128, 3))
def fem_2d(nodes, tris):
    n = len(nodes)
    K = np.zeros((n, n))
    x = nodes[tris, 0]
    y = nodes[tris, 1]
    b = np.stack([y[:, 1] - y[:, 2], y[:, 2] - y[:, 0], y[:, 0] - y[:, 1]], axis=1)
    cc = np.stack([x[:, 2] - x[:, 1], x[:, 0] - x[:, 2], x[:, 1] - x[:, 0]], axis=1)
    area = 0.5 * np.abs(b[:, 0] * cc[:, 1] - b[:, 1] * cc[:, 0]) + 1e-3
    ke = (b[:, :, None] * b[:, None, :] + cc[:, :, None] * cc[:, None, :]) / (4 * area)[:, None, None]
    rows = np.repeat(tris, 3, axis=1).ravel()
    cols = np.tile(tris, (1, 3)).ravel()
    np.add.at(K, (rows, cols), ke.ravel())
    return K, area.sum()


@program(normal(3))
def newton_system(x):
    for k in range(20):
        F = np.array([x[0] ** 2 + x[1] ** 2 - 4, x[0] * x[1] - 1, x[2] - x[0] - x[1]])
        J = np.array([[2 * x[0], 2 * x[1], 0], [x[1], x[0], 0], [-1, -1, 1]])
        dx = np.linalg.solve(J, -F)
        x = x + dx
        if np.linalg.norm(dx) < 1e-12:
            break
    return x, k


@program(normal(30, 30), normal(30), constant(50))
def gauss_seidel(A, b, iters):
    A = A @ A.T + 60 * np.eye(len(b))
    x = np.zeros_like(b)
    for _ in range(iters):
        old = x.copy()
        for i in range(len(b)):
            x[i] = (b[i] - A[i, :i] @ x[:i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
        if np.max(np.abs(x - old)) < 1e-10:
            break
    return x


@program(normal(100, 2))
def kalman(z):
    F = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=float)
    H = np.eye(2, 4)
    Q = 0.01 * np.eye(4)
    R = np.eye(2)
    x = np.zeros(4)
    Pm = np.eye(4) * 10
    out = np.empty((len(z), 4))
    for k in range(len(z)):
        x = F @ x
        Pm = F @ Pm @ F.T + Q
        S = H @ Pm @ H.T + R
        K = Pm @ H.T @ np.linalg.inv(S)
        x = x + K @ (z[k] - H @ x)
        Pm = (np.eye(4) - K @ H) @ Pm
        out[k] = x
    return out, np.trace(Pm)


@program(constant(200), constant(0.01))
def lorenz_rk4(steps, dt):
    def f(s):
        return np.array([10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]])

    s = np.array([1.0, 1.0, 1.0])
    traj = np.zeros((steps, 3))
    for k in range(steps):
        k1 = f(s)
        k2 = f(s + dt / 2 * k1)
        k3 = f(s + dt / 2 * k2)
        k4 = f(s + dt * k3)
        s = s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        traj[k] = s
    return traj


@program(uniform(1000))
def bisect_vec(y):
    lo = np.zeros_like(y)
    hi = np.full_like(y, 2.0)
    for _ in range(50):
        mid = 0.5 * (lo + hi)
        too_low = mid**3 + mid < y
        lo = np.where(too_low, mid, lo)
        hi = np.where(too_low, hi, mid)
    return 0.5 * (lo + hi)


@program(normal(25, 25))
def lu_pivot(A):
    A = A.copy()
    nn = len(A)
    piv = np.arange(nn)
    for k in range(nn - 1):
        p = k + np.argmax(np.abs(A[k:, k]))
        if p != k:
            A[[k, p]] = A[[p, k]]
            piv[[k, p]] = piv[[p, k]]
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    return A, piv


@program(normal(30, 12))
def gram_schmidt(A):
    Q = np.zeros_like(A)
    R = np.zeros((A.shape[1], A.shape[1]))
    for j in range(A.shape[1]):
        v = A[:, j].copy()
        for k in range(j):
            R[k, j] = Q[:, k] @ v
            v -= R[k, j] * Q[:, k]
        R[j, j] = np.sqrt(v @ v)
        Q[:, j] = v / R[j, j]
    return Q, R


@program(normal(40, 40), constant(100))
def power_iteration(A, iters):
    A = A + A.T
    v = np.ones(len(A))
    lam = 0.0
    for k in range(iters):
        w = A @ v
        v = w / np.linalg.norm(w)
        new = v @ A @ v
        if abs(new - lam) < 1e-9 * abs(new):
            break
        lam = new
    return new, np.abs(v)


@program(uniform(200), uniform(200), uniform(200), normal(200))
def thomas(a, b, c, d):
    b = b + 3
    m = len(d)
    cp = np.zeros(m)
    dp = np.zeros(m)
    cp[0] = c[0] / b[0]
    dp[0] = d[0] / b[0]
    for k in range(1, m):
        den = b[k] - a[k] * cp[k - 1]
        cp[k] = c[k] / den
        dp[k] = (d[k] - a[k] * dp[k - 1]) / den
    x = np.zeros(m)
    x[-1] = dp[-1]
    for k in range(m - 2, -1, -1):
        x[k] = dp[k] - cp[k] * x[k + 1]
    return x


@program(constant(50), constant(40))
def crank_nicolson(n, steps):
    x = np.linspace(0, 1, n)
    u = np.sin(np.pi * x)
    r = 0.5
    A = np.diag((1 + 2 * r) * np.ones(n)) + np.diag(-r * np.ones(n - 1), 1) + np.diag(-r * np.ones(n - 1), -1)
    B = 2 * np.eye(n) - A
    A[0] = A[-1] = 0
    A[0, 0] = A[-1, -1] = 1
    for _ in range(steps):
        rhs = B @ u
        rhs[0] = rhs[-1] = 0
        u = np.linalg.solve(A, rhs)
    return u


@program(normal(50, 3), normal(50, 3), constant(20))
def nbody_small(pos, vel, steps):
    mass = np.linspace(1, 2, len(pos))
    pos, vel = pos.copy(), vel.copy()
    for _ in range(steps):
        r = pos[None] - pos[:, None]
        d2 = (r**2).sum(-1) + 0.01
        acc = (mass[None, :, None] * r / d2[..., None] ** 1.5).sum(axis=1)
        vel += 0.001 * acc
        pos += 0.001 * vel
    ke = 0.5 * (mass * (vel**2).sum(axis=1)).sum()
    return pos, ke


@program(uniform(200), normal(200), constant(3))
def fit_poly(x, y, deg):
    coef = np.polyfit(x, y, deg)
    r = y - np.polyval(coef, x)
    ss = (r**2).sum()
    r2 = 1 - ss / ((y - y.mean()) ** 2).sum()
    return coef, r2, np.sqrt(ss / (len(x) - deg - 1))


@program(normal(50, 3), normal(50))
def least_squares(X, y):
    A = np.column_stack([np.ones(len(X)), X])
    beta, res, rank, sv = np.linalg.lstsq(A, y, rcond=None)
    yhat = A @ beta
    r = y - yhat
    s2 = r @ r / (len(y) - A.shape[1])
    se = np.sqrt(s2 * np.diag(np.linalg.inv(A.T @ A)))
    return beta, res, rank, beta / se, 1 - (r @ r) / ((y - y.mean()) ** 2).sum()


@program(normal(6, 6))
def diag_views(m):
    d = np.diag(m)
    e = m.diagonal(1)
    f = np.diagonal(m)
    tr = d.sum()
    try:
        d[0] = 5
    except ValueError as err:
        msg = str(err)
    return d, e, f, tr, msg, d.flags.writeable, d.copy(), np.diag(d), np.diag(m, -2), m - np.diag(np.diag(m))


@program(normal(6, 6))
def diag_scaled(m):
    s = 1 / np.sqrt(np.abs(np.diag(m)))
    corr = m * s[:, None] * s[None, :]
    m[np.diag_indices(6)] = 1
    np.fill_diagonal(corr, 1)
    return corr, m, np.triu(corr, 1).sum(), corr[np.triu_indices(6, 1)]


@program(normal(10), normal(10))
def broadcast_views(a, b):
    A = np.broadcast_to(a, (10, 10))
    B = np.broadcast_to(b[:, None], (10, 10))
    X, Y = np.broadcast_arrays(a[:, None], b)
    C = np.broadcast_to(a, (10,))
    return A * B, A, B.T, C, X + Y, A.flags.writeable, C.flags.writeable


@program(normal(24))
def strided_blocks(a):
    m = np.lib.stride_tricks.as_strided(a, (4, 3), (a.strides[0] * 6, a.strides[0] * 2))
    t = np.lib.stride_tricks.as_strided(a, shape=(10, 4), strides=(16, 8))
    return m, m.sum(axis=0), t @ np.arange(4.0), t[2:4]


@program(normal(24))
def strided_write(a):
    t = np.lib.stride_tricks.as_strided(a, shape=(10, 4), strides=(16, 8))
    t += 1
    return a, t


@program(normal(6, 8))
def layout_zoo(a):
    t = a.T
    f = np.asfortranarray(a)
    return (
        t + 1,
        f * 2,
        t.copy(),
        f.T.copy("K"),
        np.exp(t),
        t.sum(axis=0),
        np.concatenate([t, t]),
        t[::2].copy(),
        np.where(t > 0, t, -t),
        np.stack([t, t]),
        t.reshape(-1),
        f.ravel("K"),
        t.astype(np.float32),
        np.zeros_like(t),
        np.maximum(t, 0),
    )


@program(uniform(60, 60))
def floyd_warshall(d):
    d = d.copy()
    np.fill_diagonal(d, 0)
    for k in range(len(d)):
        d = np.minimum(d, d[:, k : k + 1] + d[k])
    return d
