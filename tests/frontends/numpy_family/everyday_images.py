"""Images: morphology, edges, colours, transforms, cellular automata."""

import numpy as np
from everyday import constant, ints, normal, program, uniform


@program(ints(0, 256, 120, 160, dtype="u1"))
def erode_dilate(img):
    p = np.pad(img, 1, mode="edge")
    h, w = img.shape
    shifted = [p[a : a + h, b : b + w] for a in range(3) for b in range(3)]
    er = shifted[0].copy()
    di = shifted[0].copy()
    for s in shifted[1:]:
        np.minimum(er, s, out=er)
        np.maximum(di, s, out=di)
    return er, di, di - er


@program(ints(0, 256, 120, 160, dtype="u1"))
def sobel(img):
    f = img.astype(np.int32)
    gx = (f[:-2, 2:] + 2 * f[1:-1, 2:] + f[2:, 2:]) - (f[:-2, :-2] + 2 * f[1:-1, :-2] + f[2:, :-2])
    gy = (f[2:, :-2] + 2 * f[2:, 1:-1] + f[2:, 2:]) - (f[:-2, :-2] + 2 * f[:-2, 1:-1] + f[:-2, 2:])
    mag = np.hypot(gx, gy)
    out = np.zeros(img.shape, dtype=np.uint8)
    out[1:-1, 1:-1] = np.clip(mag, 0, 255).astype(np.uint8)
    return out, mag.max()


@program(ints(0, 2, 64, 64, dtype="u1"), constant(20))
def life_roll(board, gens):
    for _ in range(gens):
        nb = sum(np.roll(np.roll(board, dy, 0), dx, 1) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0))
        board = ((nb == 3) | ((board == 1) & (nb == 2))).astype(np.uint8)
    return board, int(board.sum())


@program(ints(0, 2, 40, 40))
def label_propagation(img):
    lab = np.where(img > 0, np.arange(1, img.size + 1).reshape(img.shape), 0)
    while True:
        p = np.pad(lab, 1)
        new = np.maximum.reduce([p[1:-1, 1:-1], p[:-2, 1:-1], p[2:, 1:-1], p[1:-1, :-2], p[1:-1, 2:]])
        new[img == 0] = 0
        if (new == lab).all():
            break
        lab = new
    ids, counts = np.unique(lab[lab > 0], return_counts=True)
    return lab, len(ids), counts.max()


@program(ints(0, 256, 60, 80, 3, dtype="u1"))
def rgb_to_hsv(img):
    f = img / 255.0
    r, g, b = f[..., 0], f[..., 1], f[..., 2]
    mx = f.max(axis=-1)
    mn = f.min(axis=-1)
    d = mx - mn
    h = np.zeros_like(mx)
    m = d > 0
    sel = m & (mx == r)
    h[sel] = ((g - b)[sel] / d[sel]) % 6
    sel = m & (mx == g) & (mx != r)
    h[sel] = (b - r)[sel] / d[sel] + 2
    sel = m & (mx == b) & (mx != r) & (mx != g)
    h[sel] = (r - g)[sel] / d[sel] + 4
    s = np.where(mx > 0, d / np.where(mx > 0, mx, 1), 0)
    return np.stack([h * 60, s, mx], axis=-1)


@program(ints(0, 256, 60, 80, dtype="u1"), constant(90), constant(100))
def bilinear(img, H, W):
    h, w = img.shape
    y = np.linspace(0, h - 1, H)
    x = np.linspace(0, w - 1, W)
    y0 = np.floor(y).astype(int)
    x0 = np.floor(x).astype(int)
    y1 = np.minimum(y0 + 1, h - 1)
    x1 = np.minimum(x0 + 1, w - 1)
    wy = (y - y0)[:, None]
    wx = (x - x0)[None, :]
    a = img[y0][:, x0] * (1 - wx) + img[y0][:, x1] * wx
    b = img[y1][:, x0] * (1 - wx) + img[y1][:, x1] * wx
    return np.rint(a * (1 - wy) + b * wy).astype(np.uint8)


@program(ints(0, 50, 40), ints(0, 50, 40))
def hough(ys, xs):
    theta = np.deg2rad(np.arange(-90, 90))
    diag = 71
    acc = np.zeros((2 * diag, 180), dtype=np.uint64)
    for k in range(len(xs)):
        rho = np.round(xs[k] * np.cos(theta) + ys[k] * np.sin(theta)).astype(int) + diag
        acc[rho, np.arange(180)] += 1
    return acc, np.unravel_index(acc.argmax(), acc.shape)


@program(uniform(80, 100), constant(3))
def box_blur(img, r):
    p = np.pad(img, r, mode="edge")
    I = np.zeros((p.shape[0] + 1, p.shape[1] + 1))
    I[1:, 1:] = p.cumsum(0).cumsum(1)
    k = 2 * r + 1
    return (I[k:, k:] - I[:-k, k:] - I[k:, :-k] + I[:-k, :-k]) / k**2


@program(ints(0, 256, 64, 64, dtype="u1"))
def jpeg_blocks(img):
    n = 8
    k = np.arange(n)
    D = np.sqrt(2 / n) * np.cos(np.pi * (2 * k[None, :] + 1) * k[:, None] / (2 * n))
    D[0] /= np.sqrt(2)
    blocks = (img.astype(float) - 128).reshape(8, 8, 8, 8).swapaxes(1, 2)
    coef = np.einsum("ij,abjk,lk->abil", D, blocks, D)
    q = 1 + 2 * (k[:, None] + k)
    quant = np.round(coef / q).astype(np.int16)
    back = D.T @ (quant * q) @ D
    out = np.clip(back.swapaxes(1, 2).reshape(64, 64) + 128, 0, 255).astype(np.uint8)
    return quant, out, np.mean((out.astype(float) - img) ** 2)


@program(uniform(24, 24))
def floyd_steinberg(img):
    f = img.copy()
    h, w = f.shape
    for y in range(h):
        for x in range(w):
            old = f[y, x]
            new = np.round(old)
            f[y, x] = new
            err = old - new
            if x + 1 < w:
                f[y, x + 1] += err * 7 / 16
            if y + 1 < h:
                if x > 0:
                    f[y + 1, x - 1] += err * 3 / 16
                f[y + 1, x] += err * 5 / 16
                if x + 1 < w:
                    f[y + 1, x + 1] += err * 1 / 16
    return f


@program(uniform(40, 40), constant(30))
def sandpile(z, steps):
    z = (z * 10).astype(int)
    for _ in range(steps):
        over = z >= 4
        if not over.any():
            break
        z[over] -= 4
        z[1:] += over[:-1]
        z[:-1] += over[1:]
        z[:, 1:] += over[:, :-1]
        z[:, :-1] += over[:, 1:]
    return z


@program(constant(101), constant(50), constant(30))
def rule30(width, gens, rule):
    row = np.zeros(width, dtype=np.uint8)
    row[width // 2] = 1
    rows = [row]
    table = np.array([(rule >> k) & 1 for k in range(8)], dtype=np.uint8)
    for _ in range(gens):
        code = 4 * np.roll(row, 1) + 2 * row + np.roll(row, -1)
        row = table[code]
        rows.append(row)
    return np.array(rows)


@program(normal(64, 64))
def spectral_filter(img):
    F = np.fft.fftshift(np.fft.fft2(img))
    yy, xx = np.mgrid[-32:32, -32:32]
    mask = np.exp(-(xx**2 + yy**2) / (2 * 8.0**2))
    out = np.fft.ifft2(np.fft.ifftshift(F * mask)).real
    return out, np.abs(F).max(), np.angle(F)[32, 33:36]


@program(ints(0, 2, 12, 12))
def flood_fill(g):
    seen = np.zeros(g.shape, dtype=bool)
    sizes = []
    for y in range(g.shape[0]):
        for x in range(g.shape[1]):
            if g[y, x] and not seen[y, x]:
                stack = [(y, x)]
                seen[y, x] = True
                size = 0
                while stack:
                    a, b = stack.pop()
                    size += 1
                    for da, db in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                        p, q = a + da, b + db
                        if 0 <= p < g.shape[0] and 0 <= q < g.shape[1] and g[p, q] and not seen[p, q]:
                            seen[p, q] = True
                            stack.append((p, q))
                sizes.append(size)
    return sorted(sizes, reverse=True), seen.sum()


@program(uniform(200, 2), uniform(30, 2))
def point_in_polygon(pts, poly):
    x, y = pts[:, 0], pts[:, 1]
    inside = np.zeros(len(pts), dtype=bool)
    j = len(poly) - 1
    for k in range(len(poly)):
        xi, yi = poly[k]
        xj, yj = poly[j]
        cond = ((yi > y) != (yj > y)) & (x < (xj - xi) * (y - yi) / (yj - yi + 1e-300) + xi)
        inside ^= cond
        j = k
    return inside, 0.5 * np.abs(np.dot(poly[:, 0], np.roll(poly[:, 1], 1)) - np.dot(poly[:, 1], np.roll(poly[:, 0], 1)))
