"""Transforms of overlapping stretches of a signal, and the signal of such transforms."""

from __future__ import annotations

import warnings

import minidynamo

from .._C import Tensor
from .._composites.autocast import full_precision, is_autocasting
from .._composites.registry import is_inexact, require_data, require_tensor
from .transforms import fft, ifft, irfft, rfft


def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The transforms of stretches of n_fft elements that begin hop_length apart: (B?, L) gives (B?, N, stretches).

    center: stretches are centred, the signal is padded by pad_mode. normalized: divided by the root of n_fft.
    onesided: N is n_fft // 2 + 1, by default for real signals. return_complex=False: both parts in a last dim.
    RuntimeError for arguments that do not fit.
    """
    if is_autocasting():
        return full_precision(
            stft,
            input,
            n_fft,
            hop_length,
            win_length,
            window,
            center,
            pad_mode,
            normalized,
            onesided,
            return_complex,
            align_to_window,
        )
    require_tensor("stft", input)
    if center:
        if align_to_window is not None:
            raise RuntimeError("stft only supports align_to_window for center = False.")
        input = _padded(input, n_fft // 2, pad_mode)
    elif align_to_window:
        raise RuntimeError("[stft] minidynamo has no align_to_window")
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    is_complex = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None:
        if not is_complex:
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will further require that "
                "return_complex=True in a future PyTorch release."
            )
        return_complex = True
    if not return_complex:
        warnings.warn(
            "stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex "
            "tensors for all inputs, and return_complex=False will raise an error.\nNote: you can still call "
            "torch.view_as_real on the complex output to recover the old return format.",
            stacklevel=2,
        )
    signal = input.unsqueeze(0) if input.dim() == 1 else input
    _check_stretches(input, signal, n_fft, hop, length, window)
    weights = _filled_window(window, length, n_fft, signal)
    stretches = signal.unfold(-1, n_fft, hop)
    stretches = stretches if weights is None else stretches * weights
    half = not is_complex if onesided is None else onesided
    if half and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    norm = "ortho" if normalized else None
    found = (rfft if half else fft)(stretches, None, -1, norm).transpose(-1, -2)
    found = found.squeeze(0) if input.dim() == 1 else found
    return found if return_complex else minidynamo.view_as_real(found.contiguous())


def _padded(input: Tensor, width: int, mode: str) -> Tensor:
    batch = input.reshape([1] * (3 - input.dim()) + list(input.shape))
    padded: Tensor = minidynamo.nn.functional.pad(batch, [width, width], mode)
    return padded.reshape([*input.shape[:-1], padded.shape[-1]])


def _check_stretches(input: Tensor, signal: Tensor, n_fft: int, hop: int, length: int, window: Tensor | None) -> None:
    if not is_inexact(input):
        raise RuntimeError(f"[stft] expected a tensor of floating point or complex values, got {input.dtype}")
    if not 1 <= input.dim() <= 2:
        raise RuntimeError(f"[stft] expected a 1D or 2D tensor, got {input.dim()}D")
    if not 0 < n_fft <= signal.shape[1]:
        raise RuntimeError(f"[stft] expected 0 < n_fft < {signal.shape[1]}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"[stft] expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"[stft] expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is not None and (window.dim() != 1 or window.shape[0] != length):
        raise RuntimeError(
            f"[stft] expected a 1D window tensor of size equal to win_length={length}, but got window with size "
            f"{list(window.shape)}"
        )


def _filled_window(window: Tensor | None, length: int, n_fft: int, like: Tensor) -> Tensor | None:
    """The window between zeros; None where all weights are 1."""
    if length == n_fft:
        return window
    left = (n_fft - length) // 2
    weights = minidynamo.ones(length, dtype=like.real.dtype) if window is None else window
    filled = weights.new_zeros(n_fft)
    return minidynamo.slice_scatter(filled, weights, 0, left, left + length)


def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal of which stft() gives the input, in least squares: (B?, frequencies, stretches) gives (B?, length).

    RuntimeError for arguments that do not fit, and where windows leave a part of the signal without weight.
    """
    require_tensor("istft", input)
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    half = _is_half(input, n_fft) if onesided is None else onesided
    _check_transforms(input, n_fft, hop, width, window, half, return_complex)
    frames = (input.unsqueeze(0) if input.dim() == 2 else input).transpose(1, 2)
    weights = _filled_window(window, width, n_fft, frames)
    if weights is None:
        weights = minidynamo.ones(n_fft, dtype=frames.real.dtype)
    norm = "ortho" if normalized else None
    if return_complex:
        stretches = ifft(frames, None, -1, norm)
    elif half:
        stretches = irfft(frames, n_fft, -1, norm)
    else:
        stretches = irfft(frames[..., : n_fft // 2 + 1], n_fft, -1, norm)
    signal = _overlapped(stretches * weights, hop)
    envelope = _overlapped((weights * weights).expand([1, *stretches.shape[1:]]), hop)
    start = n_fft // 2 if center else 0
    whole = n_fft + hop * (stretches.shape[1] - 1)
    end = start + length if length is not None else whole - n_fft // 2 if center else whole
    signal, envelope = signal[:, start:end], envelope[:, start:end]
    require_data((envelope.abs() > 1e-11).all(), "istft(...) window overlap add min: 1")
    signal = signal / envelope
    missing = end - whole
    if missing > 0:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail.",
            stacklevel=2,
        )
        signal = minidynamo.cat([signal, signal.new_zeros([signal.shape[0], missing])], 1)
    return signal.squeeze(0) if input.dim() == 2 else signal


def _is_half(input: Tensor, n_fft: int) -> bool:
    return input.dim() >= 2 and input.shape[-2] != n_fft


def _check_transforms(
    input: Tensor, n_fft: int, hop: int, width: int, window: Tensor | None, half: bool, return_complex: bool
) -> None:
    if not input.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    if input.numel() == 0:
        raise RuntimeError("[istft] input tensor cannot be empty.")
    if input.dim() not in (2, 3):
        raise RuntimeError(f"[istft] expected a tensor with 2 or 3 dimensions, but got {input.dim()}")
    wanted = n_fft // 2 + 1 if half else n_fft
    if input.shape[-2] != wanted:
        raise RuntimeError(
            f"[istft] expected the frequency dimension (3rd to the last) of the input tensor to match "
            f"{'n_fft / 2 + 1 when onesided=True' if half else 'n_fft when onesided=False'}, but got {input.shape[-2]}"
        )
    if not 0 < hop <= width:
        raise RuntimeError("[istft] expected 0 < hop_length <= win_length")
    if not 0 < width <= n_fft:
        raise RuntimeError("[istft] expected 0 < win_length <= n_fft")
    if window is not None and (window.dim() != 1 or window.shape[0] != width):
        raise RuntimeError(f"[istft] Invalid window shape. window has to be 1D and length of `win_length`={width}")
    if return_complex and half:
        raise RuntimeError("[istft] cannot have onesided output if window or input is complex")
    if not return_complex and window is not None and window.is_complex():
        raise RuntimeError("[istft] Complex windows are incompatible with return_complex=False")


def _overlapped(stretches: Tensor, hop: int) -> Tensor:
    """(B, n, width), added at places hop apart."""
    batch, count, width = stretches.shape
    places = (minidynamo.arange(count) * hop).unsqueeze(-1) + minidynamo.arange(width)
    total = stretches.new_zeros([batch, width + hop * (count - 1)])
    return total.index_add(1, places.reshape(-1), stretches.reshape([batch, count * width]))
