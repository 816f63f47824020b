"""Calls that gradients refuse: exceptions and warnings with torch's types and words."""

import copy
import re
import warnings

import pytest

import minidynamo
import minidynamo.autograd

torch = pytest.importorskip("torch")


def leaf(lib, *values):
    return lib.tensor(values or (1.0, 2.0), requires_grad=True)


def backward_twice(lib):
    y = leaf(lib).exp().sum()
    y.backward()
    y.backward()


def grad_twice(lib):
    x = leaf(lib)
    y = (x * x).sum()
    lib.autograd.grad(y, x)
    lib.autograd.grad(y, x)


def backward_twice_of_one_branch(lib):
    x = leaf(lib)
    h = x.exp()
    (h * 2).sum().backward()
    (h * 3).sum().backward()


def not_one_element(lib):
    (leaf(lib) * 2).backward()


def complex_start(lib):
    x = lib.tensor(1 + 2j, requires_grad=True)
    (x * x).backward()


def no_history(lib):
    lib.ones(()).backward()


def no_history_second(lib):
    lib.autograd.backward([leaf(lib).sum(), lib.ones(())])


def detached(lib):
    leaf(lib).detach().sum().backward()


def under_no_grad(lib):
    with lib.no_grad():
        y = leaf(lib).sum()
    y.backward()


def integers_have_no_history(lib):
    (leaf(lib) > 1).sum().backward()


def start_of_other_sizes(lib):
    leaf(lib).sum().backward(lib.ones(2))


def saved_result_written(lib):
    y = leaf(lib).exp()
    y.add_(1)
    y.sum().backward()


def saved_argument_written(lib):
    x = leaf(lib)
    y = x * 2
    z = y * y
    y.add_(1)
    z.sum().backward()


def saved_leaf_written(lib):
    x, w = leaf(lib), leaf(lib, 3.0, 4.0)
    y = (x * w).sum()
    with lib.no_grad():
        w.sub_(1)
    y.backward()


def saved_view_written(lib):
    x = leaf(lib)
    y = x * 2
    z = y[:1] * y[1:]
    y.mul_(2)
    z.sum().backward()


def saved_double_written(lib):
    x = lib.ones(2, 3, dtype=lib.float64, requires_grad=True)
    y = x.sigmoid()
    y.zero_()
    y.sum().backward()


def saved_data_written_through_detach(lib):
    y = leaf(lib).exp()
    y.detach().zero_()
    y.sum().backward()


def write_into_leaf(lib):
    leaf(lib).add_(1)


def item_of_leaf(lib):
    leaf(lib)[0] = 1.0


def view_of_leaf(lib):
    x = leaf(lib)
    x.view(2, 1).mul_(2)


def slice_of_leaf(lib):
    leaf(lib)[:1] += 1


def copy_into_leaf(lib):
    leaf(lib).copy_(lib.ones(2))


def fill_leaf(lib):
    leaf(lib).fill_(0.0)


def one_of_unbind(lib):
    y = leaf(lib) * 2
    y.unbind()[0].mul_(2)


def one_of_split(lib):
    y = leaf(lib) * 2
    y.split(1)[1].mul_(2)


def one_of_chunk(lib):
    y = leaf(lib) * 2
    y.chunk(2)[0].zero_()


def one_of_iteration(lib):
    for row in leaf(lib) * 2:
        row.add_(1)


def view_of_one_of_unbind(lib):
    y = (leaf(lib) * 2).reshape(2, 1)
    y.unbind()[1].view(1, 1).mul_(2)


def view_without_grad_written_with(lib):
    y = leaf(lib) * 2
    with lib.no_grad():
        v = y[:1]
    v.mul_(2)


def plain_view_without_grad_gets_gradient(lib):
    with lib.no_grad():
        v = lib.ones(2)[:1]
    v.mul_(leaf(lib, 2.0))


def inference_tensor_saved(lib):
    with lib.inference_mode():
        t = lib.ones(2)
    leaf(lib) * t


def inference_tensor_requires_grad(lib):
    with lib.inference_mode():
        t = lib.ones(2)
    t.requires_grad_()


def inference_tensor_written(lib):
    with lib.inference_mode():
        t = lib.ones(2)
    t.add_(1)


def out_with_grad(lib):
    lib.add(leaf(lib), 1, out=lib.empty(2))


def out_with_grad_of_mul(lib):
    lib.mul(lib.ones(2), 2, out=leaf(lib))


def out_of_matmul(lib):
    x = lib.ones(2, 2, requires_grad=True)
    lib.matmul(x, x, out=lib.empty(2, 2))


def numpy_of_leaf(lib):
    leaf(lib).numpy()


def numpy_of_result(lib):
    (leaf(lib) * 2).numpy()


def array_of_leaf(lib):
    import numpy

    numpy.asarray(leaf(lib))


def flag_of_result(lib):
    y = leaf(lib) * 2
    y.requires_grad = False


def flag_of_result_by_method(lib):
    (leaf(lib) * 2).requires_grad_(False)


def integer_leaf(lib):
    lib.tensor([1, 2], requires_grad=True)


def integer_leaf_by_method(lib):
    lib.tensor([1, 2]).requires_grad_()


def integer_leaf_by_attribute(lib):
    t = lib.tensor([True])
    t.requires_grad = True


def integer_zeros(lib):
    lib.zeros(2, dtype=lib.int64, requires_grad=True)


def gradient_of_other_sizes(lib):
    leaf(lib).grad = lib.ones(3)


def gradient_of_other_dtype(lib):
    leaf(lib).grad = lib.ones(2, dtype=lib.float64)


def gradient_no_tensor(lib):
    leaf(lib).grad = 1


def gradient_itself(lib):
    x = leaf(lib)
    x.grad = x


def unused_input(lib):
    x, w = leaf(lib), leaf(lib)
    lib.autograd.grad(x.sum(), [x, w])


def input_without_grad(lib):
    lib.autograd.grad(leaf(lib).sum(), lib.ones(2))


def no_inputs(lib):
    lib.autograd.grad(leaf(lib).sum(), [])


def no_inputs_of_backward(lib):
    leaf(lib).sum().backward(inputs=[])


def hook_without_grad(lib):
    lib.ones(2).register_hook(lambda g: g)


def retain_without_grad(lib):
    lib.ones(2).retain_grad()


def hook_gives_other_sizes(lib):
    x = leaf(lib)
    y = x * 2
    y.register_hook(lambda g: lib.ones(3))
    y.sum().backward()


def hook_raises(lib):
    y = leaf(lib) * 2
    y.register_hook(lambda g: [][1])
    y.sum().backward()


def hook_gives_no_tensor(lib):
    y = leaf(lib) * 2
    y.register_hook(lambda g: 1)
    y.sum().backward()


def deepcopy_of_result(lib):
    copy.deepcopy(leaf(lib) * 2)


def second_without_create_graph(lib):
    x = leaf(lib)
    (g,) = lib.autograd.grad((x * x).sum(), x)
    lib.autograd.grad(g.sum(), x)


def nan_under_anomaly(lib):
    x = lib.tensor([0.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with lib.autograd.detect_anomaly():
            (x.sqrt() * 0).sum().backward()


def start_no_tensor(lib):
    leaf(lib).sum().backward(1.0)


REFUSED = [each for each in list(globals().values()) if callable(each) and getattr(each, "__module__", "") == __name__]
REFUSED = [each for each in REFUSED if each is not leaf]


def error_of(call, lib):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call(lib)
        except Exception as error:
            return type(error).__name__, str(error).partition("\nException raised from")[0]
    return None, ""


# What is not refused here.
TAKEN_HERE = {
    inference_tensor_saved: "no tensor knows that it was made in inference mode",
    inference_tensor_requires_grad: "likewise",
    inference_tensor_written: "likewise",
}
# The message names the op that made the saved tensor; torch's the one that wrote it, or the function behind a composite.
OTHER_OP = {saved_argument_written, saved_view_written, one_of_chunk}


def without_op(text):
    return re.sub(r"(output \d+) of \w+", r"\1", text, count=1, flags=re.IGNORECASE)


@pytest.mark.parametrize("call", REFUSED, ids=lambda call: call.__name__)
def test_refused(call):
    kind, text = error_of(call, minidynamo)
    torch_kind, torch_text = error_of(call, torch)
    if call in TAKEN_HERE:
        assert kind is None and torch_kind is not None
        return
    if call in OTHER_OP:
        text, torch_text = without_op(text), without_op(torch_text)
    assert (kind, text.replace("minidynamo.complex", "torch.complex")) == (torch_kind, torch_text)


# ---- what only warns, or is taken ----


def gradient_of_result(lib):
    return (leaf(lib) * 2).grad


def scalar_of_loss(lib):
    return float(leaf(lib).sum())


def item_of_loss(lib):
    return leaf(lib).sum().item()


def gradients_add_up(lib):
    x = leaf(lib)
    y = (x + 1).sum()
    y.backward()
    y.backward()
    return x.grad.tolist()


def retained_graph(lib):
    x = leaf(lib)
    y = x.exp().sum()
    y.backward(retain_graph=True)
    y.backward()
    return x.grad.tolist()


def unused_allowed(lib):
    x, w = leaf(lib), leaf(lib)
    return lib.autograd.grad(x.sum(), [x, w], allow_unused=True)[1]


def unused_as_zeros(lib):
    x, w = leaf(lib), leaf(lib)
    return lib.autograd.grad(x.sum(), [x, w], materialize_grads=True)[1].tolist()


def write_of_view(lib):
    x = leaf(lib)
    y = x * 2
    y[:1].mul_(3)
    y.sum().backward()
    return x.grad.tolist(), y.tolist()


def write_through_base_before_use(lib):
    x = leaf(lib)
    y = x * 2
    v = y[:1]
    y.mul_(3)
    (v * v).sum().backward()
    return x.grad.tolist()


def plain_tensor_gets_history(lib):
    x = leaf(lib)
    t = lib.zeros(3)
    t[1:] = x
    (t * t).sum().backward()
    return t.requires_grad, x.grad.tolist()


def integer_results_have_no_history(lib):
    x = leaf(lib)
    return [each.requires_grad for each in (x > 1, x.argmax(), x.long(), x.sort().indices, x.sign(), x.round())]


def names_of_nodes(lib):
    x = leaf(lib)
    y = (x * 2).exp().sum()
    names = []
    node = y.grad_fn
    while node is not None:
        names.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    return names


def text_of_leaf(lib):
    return repr(lib.tensor(2.0, requires_grad=True)), repr(lib.tensor(2.0, requires_grad=True) * 2)


def constants_have_no_node(lib):
    node = (leaf(lib) * lib.ones(2)).grad_fn
    return [(each is None, index) for each, index in node.next_functions]


TAKEN = [
    gradient_of_result,
    scalar_of_loss,
    item_of_loss,
    gradients_add_up,
    retained_graph,
    unused_allowed,
    unused_as_zeros,
    write_of_view,
    write_through_base_before_use,
    plain_tensor_gets_history,
    integer_results_have_no_history,
    names_of_nodes,
    text_of_leaf,
    constants_have_no_node,
]


def result_and_warnings(call, lib):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call(lib)
    return result, [
        (each.category.__name__, str(each.message).partition(" (Triggered internally")[0]) for each in caught
    ]


@pytest.mark.parametrize("call", TAKEN, ids=lambda call: call.__name__)
def test_taken(call):
    ours, our_warnings = result_and_warnings(call, minidynamo)
    theirs, torch_warnings = result_and_warnings(call, torch)
    assert ours == theirs
    if call is not scalar_of_loss and call is not item_of_loss:  # torch warns once in a process
        assert our_warnings == torch_warnings
