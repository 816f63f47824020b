"""A training step without a stock optimizer: under the setting `trace_autograd_ops` one graph of torch.compile."""


def hand_written_step(torch, workload):
    """The updates of SGD, Adam and AdamW, written out over the parameters; gradients by autograd.grad."""
    parameters = list(workload.model.parameters())
    options = {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0, **workload.options}
    is_adam = workload.optimizer != "SGD"
    moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in parameters] if is_adam else None
    # Of one dim: torch.compile (2.13) takes a 0-d tensor of float64 for a number, and loses what is written to it.
    count = torch.zeros(1, dtype=torch.float64)

    def step(*batch):
        loss = workload.loss(workload.model, *batch)
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            if workload.clip is not None:
                gradients = clipped(torch, gradients, workload.clip)
            if moments is None:
                for parameter, gradient in zip(parameters, gradients, strict=True):
                    parameter.sub_(gradient, alpha=options["lr"])
            else:
                count.add_(1)
                sizes = step_sizes(torch, count, options)
                for parameter, gradient, both in zip(parameters, gradients, moments, strict=True):
                    adam(parameter, gradient, *both, *sizes, options)
        return loss.detach()

    return step


def step_sizes(torch, count, options):
    """What Adam's step counter decides: the rate, and the scale of the second moment's root."""
    first, second = (1 - beta**count for beta in options["betas"])
    return (options["lr"] / first).to(torch.float32), second.sqrt().to(torch.float32)


def adam(parameter, gradient, mean, square, size, scale, options):
    first, second = options["betas"]
    mean.lerp_(gradient, 1 - first)
    square.mul_(second).addcmul_(gradient, gradient, value=1 - second)
    if options["weight_decay"]:
        parameter.mul_(1 - options["lr"] * options["weight_decay"])
    parameter.sub_(size * mean / (square.sqrt() / scale + options["eps"]))


def clipped(torch, gradients, most):
    total = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(gradient) for gradient in gradients]))
    scale = torch.clamp(most / (total + 1e-6), max=1.0)
    return [gradient * scale for gradient in gradients]
