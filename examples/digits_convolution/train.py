"""Trains the network with PyTorch: weights.safetensors and expected.csv.

Needs torch and safetensors, which classify.py does not: python examples/digits_convolution/train.py
"""

import csv
import gzip
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn

HERE = Path(__file__).parent
DIGITS = HERE.parent / "digits"
EPOCHS = 60


def network() -> nn.Module:
    """The layers of model.py, as torch has them."""
    features = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1, groups=2, bias=False),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 48, 3, padding=1),
        nn.SiLU(),
        nn.AdaptiveAvgPool2d(2),
    )
    classifier = nn.Sequential(nn.Flatten(), nn.Dropout(0.2), nn.Linear(48 * 4, 10))
    return nn.ModuleDict({"features": features, "classifier": classifier})


def scores_of(model: nn.Module, images: torch.Tensor) -> torch.Tensor:
    return model["classifier"](model["features"](images / 16)).log_softmax(1)


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    with gzip.open(DIGITS / "digits.csv.gz", "rt", newline="") as lines:
        rows = torch.tensor([[float(cell) for cell in row] for row in csv.reader(lines)])
    with open(DIGITS / "expected.csv", newline="") as lines:
        held_out = torch.tensor([row["held_out"] == "1" for row in csv.DictReader(lines)])
    images, labels = rows[:, :64].reshape(-1, 1, 8, 8), rows[:, 64].long()
    x, y = images[~held_out], labels[~held_out]
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(x)).split(64):
            optimizer.zero_grad()
            nn.functional.nll_loss(scores_of(model, x[batch]), y[batch]).backward()
            optimizer.step()
        schedule.step()
    model.eval()
    with torch.inference_mode():
        scores = scores_of(model, images)
    save_file(model.state_dict(), HERE / "weights.safetensors", {"trained_by": "examples/digits_convolution/train.py"})
    with open(HERE / "expected.csv", "w", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(["digit", "log_probability"])
        writer.writerows([int(row.argmax()), f"{row.max():.6f}"] for row in scores)
    right = scores.argmax(1) == labels
    print(f"{sum(p.numel() for p in model.parameters())} weights")
    print(f"right of the images of the training: {right[~held_out].float().mean():.4f}")
    print(f"right of those held out: {right[held_out].float().mean():.4f}")


if __name__ == "__main__":
    main()
