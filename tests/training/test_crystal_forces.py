"""The example that trains on forces: double backward, its losses on PyTorch and after a kill, its network beside chgnet's."""

import importlib.util
from pathlib import Path

import pytest

import minidynamo

pytestmark = pytest.mark.counts_regions
EXAMPLE = Path(__file__).parents[2] / "examples" / "crystal_forces"
TINY = "--tiny --batch 2 --examples 8 --lr 0.003 --seed 3".split()
needs_weights = pytest.mark.skipif(importlib.util.find_spec("chgnet") is None, reason="chgnet is not installed")


@pytest.mark.parametrize("dtype, bound", [([], 1e-2), (["--double"], 1e-9)])
def test_losses_are_those_of_plain_code(run, dtype, bound):
    arguments = ["--steps", 30, *dtype]
    compiled, plain = run("compiled.pt", *arguments), run("plain.pt", *arguments, "--eager")
    assert compiled.error() < 0.5 * compiled.before
    assert compiled.losses == pytest.approx(plain.losses, rel=bound)


@pytest.mark.parametrize("dtype, bound", [([], 1e-2), (["--double"], 1e-9)])
def test_losses_are_those_of_torch(run, pytorch, dtype, bound):
    arguments = ["--steps", 30, *dtype]
    compiled, theirs = run("compiled.pt", *arguments), run("torch.pt", *arguments, "--library", "torch")
    assert compiled.losses == pytest.approx(theirs.losses, rel=bound)
    assert [compiled.before, compiled.error()] == pytest.approx([theirs.before, theirs.error()], rel=bound)


@needs_weights
def test_published_weights_give_the_energies_forces_and_losses_of_torch(run, pytorch):
    arguments = ["--double", "--examples", 4, "--batch", 2, "--steps", 4]
    ours, theirs = run("ours.pt", *arguments, model=[]), run("torch.pt", *arguments, "--library", "torch", model=[])
    as_torch = pytorch.from_numpy(ours.targets.numpy())
    assert pytorch.allclose(as_torch, theirs.targets, rtol=1e-9, atol=1e-12)
    with minidynamo.no_grad(), pytorch.no_grad():
        energies = ours.network(ours.positions, ours.topology).tolist()
        assert energies == pytest.approx(theirs.network(theirs.positions, theirs.topology).tolist(), rel=1e-9)
    assert ours.losses == pytest.approx(theirs.losses, rel=1e-9)
    assert ours.losses[-1] < ours.losses[0]


@needs_weights
@pytest.mark.parametrize("version", ["0.3.0", "r2scan"])
@pytest.mark.parametrize("name", ["NaCl", "MgO", "Si", "ZnS"])
def test_energies_and_forces_are_those_of_chgnet(train, pytorch, version, name):
    """chgnet's own network, whose graphs pymatgen makes, in float32."""
    pymatgen = pytest.importorskip("pymatgen.core")
    theirs = pytest.importorskip("chgnet.model").CHGNet.load(model_name=version, use_device="cpu", verbose=False)
    from crystals import CRYSTALS, positions_of, topology_of
    from weights import published_network

    crystal = CRYSTALS[name]
    network, sizes = published_network(minidynamo, version)
    network.double()
    topology = topology_of(minidynamo, crystal, sizes.cutoff, sizes.angle_cutoff, 0.4, minidynamo.float64)
    rest = positions_of(minidynamo, crystal, minidynamo.float64)
    positions = (rest + 0.2 * (minidynamo.rand(3, *rest.shape) - 0.5)).requires_grad_()
    energies = network(positions, topology)
    forces = train.forces_of(minidynamo, network, positions, topology)
    for places, energy, force in zip(positions.tolist(), energies.tolist(), forces.tolist()):
        lattice = pymatgen.Lattice.cubic(crystal.edge)
        structure = pymatgen.Structure(lattice, list(crystal.elements), places, coords_are_cartesian=True)
        expected = theirs.predict_structure(structure, task="ef")
        assert energy == pytest.approx(float(expected["e"]), abs=1e-5)
        assert pytorch.allclose(pytorch.tensor(force), pytorch.from_numpy(expected["f"]), rtol=0, atol=1e-4)


def test_bonds_beyond_the_cutoff_change_nothing(train):
    from crystals import CRYSTALS, positions_of, topology_of
    from network import Sizes, make_network

    sizes = Sizes(width=8, radial=5, angular=5, blocks=3, hidden=1, cutoff=4.5, angle_cutoff=3.0)
    minidynamo.manual_seed(0)
    network = make_network(minidynamo, sizes).double()
    crystal = CRYSTALS["MgO"]
    found = []
    for margin in (0.0, 1.0):
        topology = topology_of(minidynamo, crystal, sizes.cutoff, sizes.angle_cutoff, margin, minidynamo.float64)
        positions = positions_of(minidynamo, crystal, minidynamo.float64).unsqueeze(0).requires_grad_()
        found.append((len(topology.center), len(topology.corner), network(positions, topology)))
    (bonds, angles, energy), (more_bonds, more_angles, same) = found
    assert more_bonds > bonds and more_angles > angles
    assert minidynamo.allclose(energy, same, rtol=1e-13)


def test_forces_are_slopes_of_the_energy(run):
    training = run("run.pt", "--steps", 1, "--double")
    positions = training.positions[:1].clone()
    forces = training.forces(training.network, positions)
    for atom, axis in ((0, 0), (5, 2)):
        energies = []
        for change in (1e-5, -1e-5):
            moved = positions.clone()
            moved[0, atom, axis] += change
            with minidynamo.no_grad():
                energies.append(8 * training.network(moved, training.topology).item())
        slope = (energies[0] - energies[1]) / 2e-5
        assert -slope == pytest.approx(forces[0, atom, axis].item(), rel=1e-5, abs=1e-8)


def test_what_is_captured(run):
    training = run("run.pt", "--steps", 8, "--examples", 8)
    counters = minidynamo._dynamo.utils.counters
    before = counters["stats"]["unique_graphs"]
    # Forces are one graph, and so is a step, with gradients of gradients.
    assert not counters["graph_break"]
    for _ in range(3):
        training.step(*training.batch())
    training.error()
    assert counters["stats"]["unique_graphs"] == before


def test_without_the_weights(train, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit):
        train.main(["--checkpoint", str(tmp_path / "run.pt")])
    assert "chgnet is not installed: pip install --no-deps chgnet" in capsys.readouterr().err


@pytest.mark.parametrize("mode", [[], ["--eager"]], ids=["compiled", "eager"])
def test_a_killed_run_goes_on_with_the_losses_it_would_have_had(kill_and_go_on, mode):
    kill_and_go_on("Path.replace", 35, 10, *mode)


def test_what_cannot_be_used_is_refused(run, refused, tmp_path):
    assert refused("--lr", "nan") == "--lr nan is no rate"
    assert refused("--displacement", "0.5") == "--displacement 0.5 is not between 0 and 0.3 angstrom"
    assert refused("--examples", 1) == "--examples 1 leaves none to train on: 2 at least"
    path = tmp_path / "run.pt"
    run("run.pt", "--steps", 2)
    assert refused("--seed", 4) == f"{path} was made with --seed 3, not 4"
    path.write_bytes(path.read_bytes()[:1000])
    assert refused() == f"{path} is no checkpoint"
