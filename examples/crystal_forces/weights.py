"""Networks with published weights, of the package chgnet, and small ones with random weights."""

import importlib.util
from pathlib import Path
from typing import Any

from checkpoint import InputError
from network import Sizes, make_network

INSTALL = "pip install --no-deps chgnet"
TINY = Sizes(width=8, radial=5, angular=5, blocks=2, hidden=1)
# As the checkpoints call them; what else a network of theirs may have is another network.
NAMES = {
    "width": "atom_fea_dim",
    "radial": "num_radial",
    "angular": "num_angular",
    "blocks": "n_conv",
    "cutoff": "atom_graph_cutoff",
    "angle_cutoff": "bond_graph_cutoff",
    "smoothness": "cutoff_coeff",
}


def published_network(lib: Any, version: str) -> tuple[Any, Sizes]:
    """The file is read without importing the package, which needs more than its weights do."""
    package = importlib.util.find_spec("chgnet")
    folders = package.submodule_search_locations if package else None
    if not folders:
        raise InputError(f"chgnet is not installed: {INSTALL}, or train the --tiny network")
    files = sorted((Path(folders[0]) / "pretrained" / version).glob("*.pth.tar"))
    if not files:
        raise InputError(f"the installed chgnet has no weights {version}")
    saved = lib.load(files[0], map_location="cpu")["model"]
    found = saved["model_args"]
    sizes = Sizes(**{ours: found[theirs] for ours, theirs in NAMES.items()}, hidden=len(found["mlp_hidden_dims"]))
    network = make_network(lib, sizes)
    state = {name: value for name, value in saved["state_dict"].items() if not name.startswith("site_wise.")}
    network.load_state_dict(state)
    return network, sizes


def random_network(lib: Any, seed: int) -> tuple[Any, Sizes]:
    """With numbers from the seed, the same in both libraries: uniform ones, in float32."""
    network = make_network(lib, TINY)
    generator = lib.Generator().manual_seed(seed)
    with lib.no_grad():
        for name, parameter in network.named_parameters():
            if parameter.dim() > 1:
                drawn = lib.rand(parameter.shape, generator=generator)
                parameter.copy_((2 * drawn - 1) * (3 / parameter.shape[-1]) ** 0.5)
            elif name.endswith("bias"):
                parameter.zero_()
    return network, TINY
