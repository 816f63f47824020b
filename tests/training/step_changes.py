"""What may change between two training steps of a perceptron, over minidynamo and over torch.

`run` has lib, model, optimizer, loss and take_some(first, count), which takes steps.
"""

import copy

import pytest

CHANGES = []


def change(function):
    CHANGES.append(function)
    return function


@change
def add_a_hook(run):
    run.model[0].weight.register_hook(lambda gradient: gradient * 3)


@change
def add_a_step_hook(run):
    run.optimizer.register_step_post_hook(lambda optimizer, args, kwargs: run.model[0].bias.data.mul_(0.5))


@change
def add_a_module_hook(run):
    run.model.register_forward_hook(lambda module, args, output: output * 2)


@change
def edit_the_rate(run):
    run.optimizer.param_groups[0]["lr"] = 0.03


@change
def edit_the_decay(run):
    run.optimizer.param_groups[0]["weight_decay"] = 0.1


@change
def add_a_group(run):
    extra = run.lib.nn.Parameter(run.lib.ones(2))
    run.extra, loss = extra, run.loss
    run.loss = lambda output, y: loss(output * extra, y)
    run.optimizer.add_param_group({"params": [extra], "lr": 0.2})


@change
def take_a_parameter_out(run):
    del run.optimizer.param_groups[0]["params"][0]


@change
def freeze(run):
    run.model[0].weight.requires_grad_(False)


@change
def freeze_and_thaw(run):
    freeze(run)
    run.take_some(50, 1)
    run.model[0].weight.requires_grad_(True)


@change
def replace_a_parameter(run):
    run.model[0].weight = run.lib.nn.Parameter(run.model[0].weight.detach() * 2)
    run.optimizer.param_groups[0]["params"][0] = run.model[0].weight


@change
def replace_a_layer(run):
    run.lib.manual_seed(1)
    run.model[2] = run.lib.nn.Linear(16, 16)


@change
def load_the_model(run):
    run.model.load_state_dict({name: value * 1.5 for name, value in run.model.state_dict().items()})


@change
def load_the_optimizer(run):
    state = copy.deepcopy(run.optimizer.state_dict())
    run.take_some(50, 2)
    run.optimizer.load_state_dict(state)


@change
def clear_the_state(run):
    run.optimizer.state.clear()


@change
def fail_half_way(run):
    loss = run.loss

    def failing(output, y):
        loss(output, y).backward()
        raise KeyError("half way")

    run.loss = failing
    with pytest.raises(KeyError):
        run.take_some(50, 1)
    run.loss = loss


@change
def convert_the_data(run):
    for parameter in run.model.parameters():
        parameter.data = parameter.data * 0.9
