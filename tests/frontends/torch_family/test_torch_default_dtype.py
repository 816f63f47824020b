"""torch.set_default_dtype() while our own default is another: dtypes and values of compiled functions as plain."""

import pytest

import minidynamo

torch = pytest.importorskip("torch")

F = torch.nn.functional
counters = minidynamo._dynamo.utils.counters
COUNTS = torch.arange(1, 5)
SINGLE = torch.tensor([0.5, 1.5, -2.0, 0.25])

CASES = {
    "filled": lambda: [torch.zeros(3), torch.ones(2), torch.full((2,), 1.5), torch.full((2,), 1), torch.eye(2)],
    "spaced": lambda: [torch.arange(3), torch.arange(0.0, 1.0, 0.25), torch.linspace(0, 1, 5), torch.logspace(0, 1, 3)],
    "of numbers": lambda: [torch.tensor([1.0, 2]), torch.tensor(3), torch.scalar_tensor(2.0), torch.as_tensor([1.5])],
    "windows": lambda: [torch.hann_window(4), torch.bartlett_window(4), torch.kaiser_window(4)],
    "with a dtype": lambda: [torch.zeros(2, dtype=torch.float32), torch.linspace(0, 1, 3, dtype=torch.float16)],
    "like": lambda: [SINGLE.new_zeros(2), COUNTS.new_tensor([1.5]), torch.zeros_like(SINGLE), torch.ones_like(COUNTS)],
    "drawn": lambda: [torch.rand(2), torch.randn(2), torch.empty(3).uniform_()],
    "of integers": lambda: [COUNTS / 2, COUNTS / COUNTS, COUNTS.sqrt(), COUNTS * 1.5, COUNTS + 0.5, COUNTS.sigmoid()],
    "powers": lambda: [COUNTS.pow(0.5), 2.5**COUNTS, COUNTS**2],
    "of floats": lambda: [
        SINGLE * 2.5,
        SINGLE / 3,
        SINGLE + COUNTS,
        SINGLE * torch.tensor(2.0),
        SINGLE + torch.ones(4),
    ],
    "selected": lambda: [torch.where(COUNTS > 1, 1.0, 0.0), torch.where(COUNTS > 1, SINGLE, 0.5)],
    "losses": lambda: [F.mse_loss(SINGLE, SINGLE * 2), F.cross_entropy(SINGLE[None], COUNTS[:1])],
}


@pytest.fixture
def default_dtype(request):
    before = torch.get_default_dtype()
    torch.set_default_dtype(request.param)
    minidynamo._dynamo.reset()
    yield request.param
    torch.set_default_dtype(before)


@pytest.mark.parametrize("default_dtype", [torch.float64, torch.bfloat16], indirect=True)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.counts_regions
def test_as_plain(name, default_dtype):
    torch.manual_seed(0)
    expected = CASES[name]()
    compiled = minidynamo.compile(CASES[name])
    for _ in range(2):
        torch.manual_seed(0)
        for one, other in zip(compiled(), expected, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-2 if default_dtype == torch.bfloat16 else 1e-6, atol=1e-6)


@pytest.mark.parametrize("default_dtype", [torch.float64], indirect=True)
@pytest.mark.counts_regions
def test_a_whole_step_is_one_graph(default_dtype):
    def run(compiles):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
        optimizer = torch.optim.Adam(model.parameters())

        def step():
            optimizer.zero_grad()
            x = torch.linspace(0, 1, 12).view(4, 3)
            loss = (model(x) - torch.ones(4, 1)).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        step = minidynamo.compile(step, fullgraph=True) if compiles else step
        return [step() for _ in range(4)]

    torch.testing.assert_close(run(True), run(False), rtol=1e-12, atol=1e-12)
    assert not counters["graph_break"]


@pytest.mark.parametrize("default_dtype", [torch.float32], indirect=True)
def test_changes_between_calls(default_dtype):
    compiled = minidynamo.compile(lambda: (torch.zeros(2), torch.arange(2) / 2))
    for dtype in (torch.float32, torch.float64, torch.float32, torch.float16):
        torch.set_default_dtype(dtype)
        assert [each.dtype for each in compiled()] == [dtype, dtype]


@pytest.mark.parametrize("default_dtype", [torch.float64], indirect=True)
def test_ours_stays(default_dtype):
    def both():
        return torch.zeros(2), minidynamo.zeros(2), minidynamo.arange(3) / 2

    def ours_first():
        return minidynamo.zeros(2), torch.zeros(2)

    for function in (both, ours_first):
        found = minidynamo.compile(function)()
        dtypes = [torch.float64 if isinstance(each, torch.Tensor) else minidynamo.float32 for each in found]
        assert [each.dtype for each in found] == dtypes
