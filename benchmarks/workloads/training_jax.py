"""The workloads of `training` in JAX: losses over parameters, which have the order of those of torch's modules."""

from .training import UPDATES, drawn_classes, drawn_numbers, drawn_parameters


class JaxWorkload:
    """parameters: arrays; loss(parameters, *batch): a number."""

    def __init__(self, name, shapes, loss, batch):
        import jax.numpy

        self.loss = loss
        self.parameters = [jax.numpy.asarray(values) for values in drawn_parameters(shapes)]
        self.batch = [jax.numpy.asarray(values) for values in batch]
        self.optimizer, self.options, self.clip = UPDATES[name]


def layer(inputs, outputs):
    return [(outputs, inputs), (outputs,)]


def linear(x, weight, bias):
    return x @ weight.T + bias


def cross_entropy(logits, targets):
    import jax

    rows = jax.nn.log_softmax(logits.reshape(-1, logits.shape[-1]))
    return -jax.numpy.take_along_axis(rows, targets.reshape(-1, 1), 1).mean()


def logistic():
    import jax

    def loss(parameters, x, y):
        logits = linear(x, *parameters)
        return (jax.nn.softplus(logits) - y * logits).mean()

    batch = drawn_numbers(64, 30), drawn_classes(2, 64, 1).astype("float32")
    return JaxWorkload("logistic", layer(30, 1), loss, batch)


def mlp():
    import jax

    def loss(parameters, x, y):
        for place in (0, 2):
            x = jax.nn.relu(linear(x, *parameters[place : place + 2]))
        return cross_entropy(linear(x, *parameters[4:]), y)

    shapes = layer(784, 256) + layer(256, 128) + layer(128, 10)
    return JaxWorkload("mlp", shapes, loss, (drawn_numbers(128, 784), drawn_classes(10, 128)))


def cnn():
    import jax

    def block(x, weight, bias):
        x = jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))
        x = jax.nn.relu(x + bias[:, None, None])
        return jax.lax.reduce_window(x, -jax.numpy.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def loss(parameters, x, y):
        x = block(block(x, *parameters[:2]), *parameters[2:4])
        return cross_entropy(linear(x.reshape(x.shape[0], -1), *parameters[4:]), y)

    shapes = [(16, 1, 3, 3), (16,), (32, 16, 3, 3), (32,), *layer(32 * 7 * 7, 10)]
    return JaxWorkload("cnn", shapes, loss, (drawn_numbers(64, 1, 28, 28), drawn_classes(10, 64)))


def norm(x, weight, bias):
    import jax

    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight + bias


def gpt(layers=4, width=128, heads=4, length=64, vocabulary=65):
    import jax

    def attention(x, parameters):
        split = linear(x, *parameters[:2]).reshape(-1, length, 3, heads, width // heads)
        q, k, v = (split[:, :, part].transpose(0, 2, 1, 3) for part in range(3))
        scores = q @ k.transpose(0, 1, 3, 2) / (width // heads) ** 0.5
        seen = jax.numpy.tril(jax.numpy.ones((length, length), bool))
        y = jax.nn.softmax(jax.numpy.where(seen, scores, -jax.numpy.inf)) @ v
        return linear(y.transpose(0, 2, 1, 3).reshape(x.shape), *parameters[2:])

    def block(x, parameters):
        before, between, rest = parameters[:2], parameters[2:4], parameters[4:]
        x = x + attention(norm(x, *before), rest[:4])
        hidden = jax.nn.gelu(linear(norm(x, *between), *rest[4:6]), approximate=False)
        return x + linear(hidden, *rest[6:])

    def loss(parameters, ids, targets):
        x = parameters[0][ids] + parameters[1]
        for number in range(layers):
            x = block(x, parameters[2 + 12 * number : 14 + 12 * number])
        return cross_entropy(linear(norm(x, *parameters[-4:-2]), *parameters[-2:]), targets)

    projections = layer(width, 3 * width) + layer(width, width) + layer(width, 4 * width) + layer(4 * width, width)
    blocks = [*([(width,)] * 4), *projections] * layers
    shapes = [(vocabulary, width), (length, width), *blocks, (width,), (width,), *layer(width, vocabulary)]
    batch = drawn_classes(vocabulary, 8, length), drawn_classes(vocabulary, 8, length, seed=3)
    return JaxWorkload("gpt", shapes, loss, batch)


def lstm(inputs=64, hidden=128, vocabulary=65):
    import jax

    def loss(parameters, ids, targets):
        tokens, from_input, from_hidden, input_bias, hidden_bias, *head = parameters
        projected = linear(tokens[ids], from_input, input_bias + hidden_bias).swapaxes(0, 1)

        def step(state, x):
            h, c = state
            update, keep, cell, out = jax.numpy.split(x + h @ from_hidden.T, 4, -1)
            c = jax.nn.sigmoid(keep) * c + jax.nn.sigmoid(update) * jax.numpy.tanh(cell)
            h = jax.nn.sigmoid(out) * jax.numpy.tanh(c)
            return (h, c), h

        start = jax.numpy.zeros((ids.shape[0], hidden), "float32")
        outputs = jax.lax.scan(step, (start, start), projected)[1].swapaxes(0, 1)
        return cross_entropy(linear(outputs, *head), targets)

    gates = 4 * hidden
    shapes = [(vocabulary, inputs), (gates, inputs), (gates, hidden), (gates,), (gates,), *layer(hidden, vocabulary)]
    batch = drawn_classes(vocabulary, 16, 32), drawn_classes(vocabulary, 16, 32, seed=3)
    return JaxWorkload("lstm", shapes, loss, batch)


WORKLOADS = {"logistic": logistic, "mlp": mlp, "cnn": cnn, "gpt": gpt, "lstm": lstm}


def compiled_step(workload):
    """One jitted function for gradients, clipping and the update, which takes over the memory of what it replaces."""
    import jax

    parameters, count = list(workload.parameters), 0
    moments = [(0 * values, 0 * values) for values in parameters] if workload.optimizer != "SGD" else None
    options = {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0, **workload.options}

    def whole(parameters, moments, sizes, *batch):
        loss, gradients = jax.value_and_grad(workload.loss)(parameters, *batch)
        if workload.clip is not None:
            gradients = clipped(gradients, workload.clip)
        if moments is None:
            return loss, [p - options["lr"] * g for p, g in zip(parameters, gradients, strict=True)], None
        updated = [adam(p, g, *both, sizes, options) for p, g, both in zip(parameters, gradients, moments, strict=True)]
        return loss, [p for p, _ in updated], [both for _, both in updated]

    jitted = jax.jit(whole, donate_argnums=(0, 1))

    def step(*batch):
        nonlocal parameters, moments, count
        count += 1
        loss, parameters, moments = jitted(parameters, moments, step_sizes(count, options), *batch)
        # Calls return before their results are computed.
        return jax.block_until_ready((loss, parameters))[0]

    return step


def step_sizes(count, options):
    """What Adam's step counter decides, in double as in torch: the rate, and the scale of the second moment's root."""
    first, second = (1 - beta**count for beta in options["betas"])
    return options["lr"] / first, second**0.5


def adam(parameter, gradient, mean, square, sizes, options):
    import jax

    first, second = options["betas"]
    mean = first * mean + (1 - first) * gradient
    square = second * square + (1 - second) * gradient * gradient
    parameter = parameter * (1 - options["lr"] * options["weight_decay"])
    change = sizes[0] * mean / (jax.numpy.sqrt(square) / sizes[1] + options["eps"])
    return parameter - change, (mean, square)


def clipped(gradients, most):
    import jax.numpy as jnp

    total = jnp.sqrt(sum(jnp.sum(gradient * gradient) for gradient in gradients))
    scale = jnp.minimum(most / (total + 1e-6), 1.0)
    return [gradient * scale for gradient in gradients]
