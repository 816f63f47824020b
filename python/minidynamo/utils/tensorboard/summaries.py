"""The protocol buffers of TensorBoard's plugins, made of values.

The layouts are those of `tensorboard/compat/proto/summary.proto` and of the plugins' `plugin_data.proto`."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

from ... import Tensor, as_tensor, float64, searchsorted, uint8

_STRING = 7  # DataType.DT_STRING
_FLOAT = 1  # DataType.DT_FLOAT


def numbers(values: Any) -> Tensor:
    """A tensor, array, list or number as a float64 tensor on its own."""
    return as_tensor(values).detach().to(float64)


def _metadata(plugin: str) -> SummaryMetadata:
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=plugin))


def scalar(tag: str, value: Any, new_style: bool = False) -> Summary:
    """One number; new_style: as a tensor, which TensorBoard's scalar plugin reads, too."""
    number = numbers(value)
    if number.numel() != 1:
        raise AssertionError("scalar should be 0D")
    if not new_style:
        return Summary(value=[Summary.Value(tag=tag, simple_value=number.item())])
    tensor = TensorProto(dtype=_FLOAT, float_val=[number.item()])
    return Summary(value=[Summary.Value(tag=tag, tensor=tensor, metadata=_metadata("scalars"))])


def text(tag: str, content: str) -> Summary:
    """A text in Markdown."""
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
    tensor = TensorProto(dtype=_STRING, string_val=[content.encode("utf-8")], tensor_shape=shape)
    return Summary(value=[Summary.Value(tag=tag + "/text_summary", tensor=tensor, metadata=_metadata("text"))])


def exponential_edges() -> list[float]:
    """The edges that TensorFlow's histograms have: growing by a tenth from 1e-12 on, below 0 and above."""
    edges = []
    edge = 1e-12
    while edge < 1e20:
        edges.append(edge)
        edge *= 1.1
    return [-edge for edge in reversed(edges)] + [0.0] + edges


def _counts(values: Tensor, bins: str | int) -> tuple[list[float], list[float]]:
    """Upper edges, and how many values lie below each and above the one before it."""
    ordered = values.sort().values
    if bins == "tensorflow":
        edges = as_tensor(exponential_edges(), dtype=float64)
    else:
        count = bins if isinstance(bins, int) else max(1, min(100, round(values.numel() ** 0.5)))
        low, high = ordered[0].item(), ordered[-1].item()
        if low == high:
            low, high = low - 0.5, high + 0.5
        edges = low + (high - low) * as_tensor(range(count + 1), dtype=float64) / count
    below = searchsorted(ordered, edges, right=True)
    counts = below.diff()
    counts[0] += below[0]
    counts[-1] += values.numel() - below[-1]
    return edges[1:].tolist(), counts.tolist()


def histogram(tag: str, values: Any, bins: str | int = "tensorflow", max_bins: int | None = None) -> Summary:
    """The distribution of some numbers."""
    flat = numbers(values).reshape(-1)
    if flat.numel() == 0:
        raise ValueError("The input has no element.")
    edges, counts = _counts(flat, bins)
    used = [i for i, count in enumerate(counts) if count]
    first, last = used[0], used[-1]
    edges, counts = edges[first : last + 1], counts[first : last + 1]
    if max_bins is not None and len(counts) > max_bins:
        step = -(-len(counts) // max_bins)
        counts = [sum(counts[i : i + step]) for i in range(0, len(counts), step)]
        edges = [edges[min(i + step, len(edges)) - 1] for i in range(0, len(edges), step)]
    made = HistogramProto(
        min=flat.amin().item(),
        max=flat.amax().item(),
        num=flat.numel(),
        sum=flat.sum().item(),
        sum_squares=(flat * flat).sum().item(),
        bucket_limit=edges,
        bucket=counts,
    )
    return Summary(value=[Summary.Value(tag=tag, histo=made)])


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(pixels: Tensor) -> bytes:
    """uint8 pixels (height, width, 1 | 3 | 4) as a PNG file (ISO/IEC 15948)."""
    height, width, channels = pixels.shape
    color = {1: 0, 3: 2, 4: 6}[channels]
    rows = pixels.contiguous().numpy().reshape(height, width * channels) if height else []
    raw = b"".join(b"\0" + row.tobytes() for row in rows)
    out = io.BytesIO()
    out.write(b"\x89PNG\r\n\x1a\n")
    out.write(_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)))
    out.write(_chunk(b"IDAT", zlib.compress(raw)))
    out.write(_chunk(b"IEND", b""))
    return out.getvalue()


def image(tag: str, picture: Any, dataformats: str = "CHW") -> Summary:
    """A picture: uint8 from 0 to 255, floats from 0 to 1. dataformats: the order of "C", "H", "W"; "N": a grid."""
    tensor = as_tensor(picture).detach()
    layout = dataformats.upper()
    if tensor.ndim != len(layout):
        raise AssertionError(f"size of input tensor and input format are different. shape: {tuple(tensor.shape)}, "
                             f"input_format: {dataformats}")  # fmt: skip
    if "C" not in layout:
        tensor, layout = tensor.unsqueeze(-1), layout + "C"
    if "N" in layout:
        tensor = _grid(tensor.permute([layout.index(name) for name in "NHWC"]))
    else:
        tensor = tensor.permute([layout.index(name) for name in "HWC"])
    if tensor.dtype != uint8:
        tensor = (tensor.to(float64) * 255).clamp(0, 255).to(uint8)
    height, width, channels = tensor.shape
    shown = Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=png(tensor))
    return Summary(value=[Summary.Value(tag=tag, image=shown)])


def _grid(pictures: Tensor, columns: int = 8) -> Tensor:
    """(N, H, W, C) as one picture, row by row."""
    count, height, width, channels = pictures.shape
    columns = min(count, columns)
    rows = -(-count // columns)
    sheet = pictures.new_zeros(rows * height, columns * width, channels)
    for k in range(count):
        top, left = k // columns * height, k % columns * width
        sheet[top : top + height, left : left + width] = pictures[k]
    return sheet
