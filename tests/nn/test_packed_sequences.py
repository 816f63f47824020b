"""Sequences of several lengths: packed, padded, and in recurrent layers, compared with torch."""

import pytest

import minidynamo as md

torch = pytest.importorskip("torch")

LENGTHS = [[5, 3, 1], [4, 4, 4], [2], [6, 5, 5, 2]]


def both(values):
    return md.from_dlpack(values.clone()), values


def same(ours, theirs):
    if theirs is None:
        return ours is None
    return list(ours.shape) == list(theirs.shape) and torch.allclose(
        torch.from_dlpack(ours.detach().contiguous()), theirs.detach(), atol=1e-6
    )


def packed(lengths, batch_first, ordered, width=3):
    torch.manual_seed(0)
    if not ordered:
        lengths = lengths[::-1]
    steps = torch.randn(*((len(lengths), max(lengths)) if batch_first else (max(lengths), len(lengths))), width)
    ours, theirs = both(steps)
    return (
        md.nn.utils.rnn.pack_padded_sequence(ours, lengths, batch_first, ordered),
        torch.nn.utils.rnn.pack_padded_sequence(theirs, lengths, batch_first, ordered),
    )


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_packing_and_padding(lengths, batch_first, ordered):
    ours, theirs = packed(lengths, batch_first, ordered)
    for a, b in zip(ours, theirs, strict=True):
        assert same(a, b)
    for total in (None, 9):
        back, counts = md.nn.utils.rnn.pad_packed_sequence(ours, batch_first, -1.0, total)
        expected, expected_counts = torch.nn.utils.rnn.pad_packed_sequence(theirs, batch_first, -1.0, total)
        assert same(back, expected) and counts.tolist() == expected_counts.tolist()
    for a, b in zip(md.nn.utils.rnn.unpack_sequence(ours), torch.nn.utils.rnn.unpack_sequence(theirs), strict=True):
        assert same(a, b)


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("batch_first", [True, False])
def test_pad_sequence(batch_first, side):
    rows = [torch.randn(length, 2) for length in (3, 1, 4)]
    ours = md.nn.utils.rnn.pad_sequence([both(row)[0] for row in rows], batch_first, 0.5, side)
    assert same(ours, torch.nn.utils.rnn.pad_sequence(rows, batch_first, 0.5, side))
    lengths = md.tensor([3, 1, 4])
    if side == "right":
        back = md.nn.utils.rnn.unpad_sequence(ours, lengths, batch_first)
        assert all(same(a, b) for a, b in zip(back, rows, strict=True))
    a = md.nn.utils.rnn.pack_sequence([both(row)[0] for row in rows], enforce_sorted=False)
    b = torch.nn.utils.rnn.pack_sequence(rows, enforce_sorted=False)
    assert all(same(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize(
    "layers, bidirectional, projection", [(1, False, 0), (2, True, 0), (2, False, 2), (1, True, 2)]
)
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers(kind, ordered, layers, bidirectional, projection):
    if projection and kind != "LSTM":
        return
    torch.manual_seed(1)
    keywords = {"num_layers": layers, "bidirectional": bidirectional}
    if projection:
        keywords["proj_size"] = projection
    theirs = getattr(torch.nn, kind)(3, 4, **keywords)
    ours = getattr(md.nn, kind)(3, 4, **keywords)
    ours.load_state_dict(theirs.state_dict())
    count = layers * (2 if bidirectional else 1)
    for lengths in LENGTHS:
        a, b = packed(lengths, False, ordered)
        hidden = torch.randn(count, len(lengths), projection or 4)
        cell = torch.randn(count, len(lengths), 4)
        for given in (None, (hidden, cell) if kind == "LSTM" else hidden):
            mine = None if given is None else tuple(both(x)[0] for x in given) if kind == "LSTM" else both(given)[0]
            (out, state), (expected, expected_state) = ours(a, mine), theirs(b, given)
            assert isinstance(out, md.nn.utils.rnn.PackedSequence)
            assert all(same(x, y) for x, y in zip(out, expected, strict=True))
            pairs = zip(state, expected_state, strict=True) if kind == "LSTM" else [(state, expected_state)]
            assert all(same(x, y) for x, y in pairs)


WRONG = [
    lambda t, rnn: rnn.pack_padded_sequence(t.zeros(3, 2), [1, 2]),
    lambda t, rnn: rnn.pack_padded_sequence(t.zeros(3, 2), [2, 0]),
    lambda t, rnn: rnn.pack_padded_sequence(t.zeros(3, 2), [2]),
    lambda t, rnn: rnn.pack_padded_sequence(t.zeros(0, 2), [2, 1]),
    lambda t, rnn: rnn.pad_sequence([]),
    lambda t, rnn: rnn.pad_sequence(3),
    lambda t, rnn: rnn.pad_sequence([t.zeros(2)], padding_side="up"),
    lambda t, rnn: rnn.pad_packed_sequence(rnn.pack_sequence([t.zeros(3)]), total_length=2),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_calls(number):
    errors = []
    for library in (md, torch):
        with pytest.raises(Exception) as caught:  # noqa: PT011  which one is compared below
            WRONG[number](library, library.nn.utils.rnn)
        errors.append(caught.value)
    assert type(errors[0]) is type(errors[1])
    assert str(errors[0]).split(".")[0][:40] == str(errors[1]).split(".")[0][:40]


@pytest.mark.parametrize("width, batch", [(5, 1), (3, 2)])
def test_other_sizes_are_refused(width, batch):
    sequence = md.nn.utils.rnn.pack_sequence([md.zeros(2, width)])
    with pytest.raises(RuntimeError, match="Expected"):
        md.nn.LSTM(3, 4)(sequence, (md.zeros(1, batch, 4), md.zeros(1, 1, 4)))


def test_conversions():
    sequence = md.nn.utils.rnn.pack_sequence([md.ones(2, 1), md.ones(1, 1)])
    assert sequence.double().data.dtype is md.float64 and sequence.to(md.float32) is sequence
    assert sequence.long().batch_sizes.tolist() == [2, 1] and not sequence.is_cuda
