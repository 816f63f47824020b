"""minidynamo.utils.tensorboard: what its event files say, as the package tensorboard reads them."""

import io
import subprocess
import sys

import pytest

import minidynamo as md

pytest.importorskip("tensorboard", reason="tensorboard is not installed")
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # noqa: E402

from minidynamo.utils.tensorboard import SummaryWriter  # noqa: E402


def read(folder):
    return EventAccumulator(str(folder), size_guidance={"images": 0, "histograms": 0, "scalars": 0}).Reload()


def test_scalars(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        for step in range(5):
            writer.add_scalar("loss", md.tensor(0.5) * step, step)
        writer.add_scalar("time", 3, 7, walltime=12.5)
        writer.add_scalar("tensor", 0.25, 1, new_style=True)
    events = read(tmp_path)
    assert [(event.step, event.value) for event in events.Scalars("loss")] == [(k, 0.5 * k) for k in range(5)]
    assert events.Scalars("time")[0].wall_time == 12.5
    assert events.Tensors("tensor")[0].tensor_proto.float_val[0] == 0.25


def test_curves_of_one_plot(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalars("runs/loss", {"a": 1.0, "b": md.tensor([2.0])}, 3)
    assert read(tmp_path / "runs_loss_a").Scalars("runs/loss")[0].value == 1.0
    assert read(tmp_path / "runs_loss_b").Scalars("runs/loss")[0].value == 2.0


@pytest.mark.parametrize("bins", ["tensorflow", "auto", 10])
def test_histograms(tmp_path, bins):
    values = md.randn(1000)
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("h", values, 2, bins=bins)
        writer.add_histogram("few", md.tensor([1, 1, 2]), 2, bins=bins, max_bins=2)
        with pytest.raises(ValueError, match="no element"):
            writer.add_histogram("none", md.empty(0))
    events = read(tmp_path)
    shown = events.Histograms("h")[0].histogram_value
    edges, counts = shown.bucket_limit, shown.bucket
    assert shown.num == 1000 and sum(counts) == 1000 and abs(shown.sum - values.sum().item()) < 1e-2
    assert (shown.min, shown.max) == (values.min().item(), values.max().item())
    middle = len(edges) // 2
    assert sum(counts[: middle + 1]) == (values.double() <= edges[middle]).sum().item()
    assert sum(events.Histograms("few")[0].histogram_value.bucket) == 3


FORMATS = [((3, 4, 5), "CHW"), ((4, 5, 3), "HWC"), ((4, 5), "HW"), ((1, 4, 5), "CHW")]


@pytest.mark.parametrize(("shape", "layout"), FORMATS)
@pytest.mark.parametrize("dtype", [md.uint8, md.float32])
def test_images(tmp_path, shape, layout, dtype):
    pixels = md.randint(256, shape, dtype=md.uint8)
    given = pixels if dtype == md.uint8 else pixels / 255
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("i", given, 0, dataformats=layout)
        with pytest.raises(AssertionError, match="size of input tensor and input format are different"):
            writer.add_image("wrong", md.zeros(2, 2, 2, 2))
    shown = read(tmp_path).Images("i")[0]
    assert (shown.height, shown.width) == (4, 5)
    picture = pytest.importorskip("PIL.Image").open(io.BytesIO(shown.encoded_image_string))
    found = md.tensor(list(picture.tobytes())).reshape(4, 5, -1)
    order = "HWC" if "C" in layout else "HW"
    expected = pixels.permute([layout.index(name) for name in order]).reshape(4, 5, -1)
    assert (found - expected.long()).abs().max() <= (0 if dtype == md.uint8 else 1)


def test_a_grid_of_images_and_a_text(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_images("is", md.rand(11, 1, 6, 7), 0)
        writer.add_text("note", "**bold**", 4)
    events = read(tmp_path)
    assert (events.Images("is")[0].height, events.Images("is")[0].width) == (12, 56)
    assert events.Tensors("note/text_summary")[0].tensor_proto.string_val == [b"**bold**"]


def test_without_the_package():
    program = "import sys; sys.modules['tensorboard'] = None; import minidynamo.utils.tensorboard"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "pip install tensorboard" in done.stderr
