"""Filters, windows, spectra and statistics of signals."""

import numpy as np
from everyday import constant, ints, normal, program
from numpy.lib.stride_tricks import sliding_window_view


@program(normal(4000), constant(0.2), constant(0.3), constant(0.2), constant(-0.4), constant(0.1))
def biquad(x, b0, b1, b2, a1, a2):
    y = np.zeros_like(x)
    x1 = x2 = y1 = y2 = 0.0
    for k in range(len(x)):
        y[k] = b0 * x[k] + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2
        x2, x1 = x1, x[k]
        y2, y1 = y1, y[k]
    return y


@program(normal(2000), normal(33))
def fir(x, h):
    h = h / h.sum()
    y = np.convolve(x, h, mode="same")
    return y - y.mean(), np.abs(np.fft.rfft(y * np.hanning(len(y))))


@program(normal(500), constant(7), constant(2))
def savgol(x, width, order):
    half = width // 2
    A = np.vander(np.arange(-half, half + 1), order + 1)
    w = np.linalg.pinv(A)[-1]
    padded = np.pad(x, half, mode="reflect")
    return np.convolve(padded, w[::-1], mode="valid")


@program(normal(3000), constant(9))
def median_filter(x, k):
    win = sliding_window_view(np.pad(x, k // 2, mode="edge"), k)
    return np.median(win, axis=-1)


@program(normal(3000), constant(20))
def rolling_stats(x, k):
    win = np.lib.stride_tricks.sliding_window_view(x, k)
    m = win.mean(axis=1)
    s = win.std(axis=1, ddof=1)
    z = (x[k - 1 :] - m) / s
    return m, s, z, win.max(axis=1), win.min(axis=1)


@program(normal(2000), constant(0.5))
def peaks(x, thr):
    m = (x[1:-1] > x[:-2]) & (x[1:-1] > x[2:]) & (x[1:-1] > thr)
    at = np.where(m)[0] + 1
    return at, x[at], np.diff(at).mean()


@program(ints(-30000, 30000, 4000, dtype="i2"), ints(-30000, 30000, 4000, dtype="i2"))
def mix_audio(a, b):
    s = a.astype(np.int32) + b
    clipped = np.count_nonzero(np.abs(s) > 32767)
    out = np.clip(s, -32768, 32767).astype(np.int16)
    wrap = a + b
    rms = np.sqrt(np.mean(out.astype(np.float64) ** 2))
    zc = np.sum(np.diff(np.signbit(out)))
    mu = np.sign(out) * np.log1p(255 * np.abs(out / 32768.0)) / np.log(256)
    return out, wrap, clipped, rms, zc, mu


@program(normal(4096), constant(256), constant(128))
def stft(x, size, hop):
    frames = np.lib.stride_tricks.as_strided(
        x, shape=((len(x) - size) // hop + 1, size), strides=(x.strides[0] * hop, x.strides[0])
    )
    S = np.fft.rfft(frames * np.hanning(size), axis=1)
    return 20 * np.log10(np.abs(S) + 1e-10)


@program(normal(750, 4))
def portfolio(ret):
    ret = 0.01 * ret
    wealth = np.cumprod(1 + ret, axis=0)
    peak = np.maximum.accumulate(wealth, axis=0)
    dd = wealth / peak - 1
    sharpe = ret.mean(axis=0) / ret.std(axis=0, ddof=1) * np.sqrt(252)
    corr = np.corrcoef(ret, rowvar=False)
    w = np.linalg.solve(np.cov(ret.T), np.ones(4))
    return wealth[-1], dd.min(axis=0), sharpe, corr, w / w.sum()


@program(normal(4, 100))
def autocorr(x):
    x = x - x.mean(axis=1, keepdims=True)
    full = np.array([np.correlate(r, r, mode="full") for r in x])
    ac = full[:, 99:] / full[:, 99:100]
    return ac[:, :20], np.argmax(ac[:, 1:], axis=1) + 1


@program(normal(300), constant(0.1))
def online_stats(x, alpha):
    mean = 0.0
    m2 = 0.0
    ema = x[0]
    for k, v in enumerate(x, 1):
        d = v - mean
        mean += d / k
        m2 += d * (v - mean)
        ema = alpha * v + (1 - alpha) * ema
    return mean, m2 / (len(x) - 1), ema


@program(normal(5, 6), constant(3))
def windows_2d(a, k):
    w = sliding_window_view(a, (k, k))
    v = sliding_window_view(a, k, axis=1)
    return w.sum(axis=(2, 3)), w.max(axis=(-1, -2)), v.mean(-1), w[1, 2], v[:, ::2], w, v


@program(normal(20), constant(4))
def window_returned(a, k):
    w = sliding_window_view(a, k)
    return w, w[::k], w[0], w.T, w.flags.writeable, w.copy().flags.writeable, w.shape, w.strides


@program(normal(20), constant(4))
def window_write(a, k):
    w = sliding_window_view(a, k)
    try:
        w[0] = 1
    except ValueError as e:
        return str(e), a
    return w


@program(normal(20), constant(4))
def window_of_new(a, k):
    b = a * 2
    w = sliding_window_view(b, k)
    b[3] = 100
    return w.sum(axis=1), w


@program(normal(20), constant(4))
def window_write_through(a, k):
    w = sliding_window_view(a, k, writeable=True)
    w[1] = 5
    return w, a


@program(normal(6), constant(0))
def window_errors(a, k):
    out = []
    for bad in (7, -1, (2, 2)):
        try:
            out.append(sliding_window_view(a, bad).shape)
        except ValueError as e:
            out.append(str(e))
    return out


@program(ints(-1000, 1000, 500))
def delta_zigzag(x):
    d = np.diff(x, prepend=0)
    z = (d << 1) ^ (d >> 63)
    bits = np.ceil(np.log2(z + 1.0)).astype(int)
    back = (z >> 1) ^ -(z & 1)
    return z, bits.max(), np.cumsum(back)


@program(ints(0, 3, 500))
def rle(x):
    change = np.flatnonzero(np.diff(x)) + 1
    starts = np.concatenate(([0], change))
    lengths = np.diff(np.append(starts, len(x)))
    return x[starts], lengths, np.repeat(x[starts], lengths)


@program(normal(200), normal(200))
def spearman(x, y):
    rx = np.argsort(np.argsort(x, kind="stable"), kind="stable")
    ry = np.argsort(np.argsort(y, kind="stable"), kind="stable")
    return np.corrcoef(rx, ry)[0, 1], 1 - 6 * np.sum((rx - ry) ** 2) / (200 * (200**2 - 1))
