"""The models as modules, for any library that is written like torch."""


def transformer_block(torch, width, heads):
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):
        """Pre-norm, with an erf gelu."""

        def __init__(self):
            super().__init__()
            self.norm1 = nn.LayerNorm(width)
            self.query = nn.Linear(width, width)
            self.key = nn.Linear(width, width)
            self.value = nn.Linear(width, width)
            self.output = nn.Linear(width, width)
            self.norm2 = nn.LayerNorm(width)
            self.expand = nn.Linear(width, 4 * width)
            self.contract = nn.Linear(4 * width, width)

        def forward(self, x):
            batch, length, _ = x.shape

            def split(y):
                return y.view(batch, length, heads, width // heads).transpose(1, 2)

            y = self.norm1(x)
            mixed = functional.scaled_dot_product_attention(
                split(self.query(y)), split(self.key(y)), split(self.value(y))
            )
            x = x + self.output(mixed.transpose(1, 2).reshape(batch, length, width))
            return x + self.contract(functional.gelu(self.expand(self.norm2(x))))

    return Block()


def resnet_block(torch, channels):
    nn, functional = torch.nn, torch.nn.functional

    class BasicBlock(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(channels)
            self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(channels)

        def forward(self, x):
            y = functional.relu(self.bn1(self.conv1(x)))
            return functional.relu(x + self.bn2(self.conv2(y)))

    return BasicBlock()


def lstm_loop(torch, hidden, steps):
    nn = torch.nn

    class Loop(nn.Module):
        def __init__(self):
            super().__init__()
            self.input = nn.Linear(hidden, 4 * hidden)
            self.hidden = nn.Linear(hidden, 4 * hidden, bias=False)

        def forward(self, x):
            h = c = torch.zeros_like(x[0])
            outputs = []
            for step in range(steps):
                i, f, g, o = (self.input(x[step]) + self.hidden(h)).chunk(4, dim=-1)
                c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
                h = torch.sigmoid(o) * torch.tanh(c)
                outputs.append(h)
            return torch.stack(outputs), c

    return Loop()
