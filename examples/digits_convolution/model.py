"""A small convolutional network, with the names of its checkpoint."""

import minidynamo
from minidynamo import Tensor, nn


class DigitsNetwork(nn.Module):
    """Images [n, 1, 8, 8], pixels of 0 to 16, to the scores [n, 10] of the digits."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
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
        self.classifier = nn.Sequential(nn.Flatten(), nn.Dropout(0.2), nn.Linear(48 * 4, 10))

    def forward(self, images: Tensor) -> Tensor:
        scores: Tensor = self.classifier(self.features(images / 16))
        return minidynamo.log_softmax(scores, dim=1)
