"""Modules that programs import from torch and ask in passing: devices, backends, distributed, onnx, fx, profiler ..."""

import importlib
import pickle
import subprocess
import sys

import pytest
from value_or_error import value_or_error

import minidynamo

# Names of each module that public programs use; all of them are torch's.
NAMES = {
    "_C": ["DispatchKey", "DispatchKeySet", "_log_api_usage_once", "_get_tracing_state", "_jit_set_profiling_executor"],
    "_custom_ops": ["impl_abstract"],
    "accelerator": ["current_accelerator", "device_count", "is_available", "synchronize"],
    "backends": ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum", "quantized"],
    "backends.cuda": ["is_built", "matmul", "sdp_kernel", "enable_flash_sdp", "flash_sdp_enabled"],
    "backends.cudnn": ["allow_tf32", "benchmark", "deterministic", "enabled", "flags", "is_available", "version"],
    "backends.mkldnn": ["is_available", "flags"],
    "backends.mps": ["is_available", "is_built"],
    "backends.openmp": ["is_available"],
    "cpu": ["current_device", "device_count", "is_available", "stream", "synchronize"],
    "cuda": ["Event", "Stream", "current_device", "device", "get_device_name", "memory_allocated", "stream"],
    "distributed": ["ProcessGroup", "ReduceOp", "all_reduce", "get_rank", "init_process_group", "is_initialized"],
    "distributed.distributed_c10d": ["ProcessGroup", "is_initialized"],
    "fx": ["Graph", "GraphModule", "Interpreter", "Node", "Proxy", "Tracer", "Transformer", "symbolic_trace", "wrap"],
    "fx._symbolic_trace": ["Tracer", "is_fx_tracing", "wrap"],
    "fx.experimental": [],
    "fx.experimental.proxy_tensor": ["get_proxy_mode", "make_fx"],
    "fx.experimental.symbolic_shapes": ["guard_int", "statically_known_true", "is_concrete_int"],
    "fx.graph": ["Graph"],
    "fx.graph_module": ["GraphModule"],
    "fx.node": ["Node"],
    "fx.proxy": ["Proxy", "TraceError"],
    "mps": ["device_count", "empty_cache", "is_available", "manual_seed", "synchronize"],
    "mtia": ["device_count", "is_available"],
    "multiprocessing": ["Process", "Queue", "get_context", "set_sharing_strategy", "set_start_method", "spawn"],
    "onnx": ["export", "is_in_onnx_export"],
    "onnx.operators": ["reshape_from_tensor_shape", "shape_as_tensor"],
    "onnx.symbolic_helper": ["parse_args", "quantized_args"],
    "onnx.symbolic_opset11": [],
    "onnx.utils": ["export", "register_custom_op_symbolic"],
    "overrides": ["handle_torch_function", "has_torch_function", "has_torch_function_unary", "is_tensor_like"],
    "profiler": ["ProfilerActivity", "profile", "record_function", "schedule"],
    "random": ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"],
    "return_types": ["max", "min", "sort", "topk", "svd", "median"],
    "testing": ["assert_close"],
    "torch_version": ["TorchVersion"],
    "types": ["Device", "Number", "_size"],
    "version": ["__version__", "cuda", "debug", "git_version", "hip"],
    "xpu": ["device_count", "empty_cache", "is_available", "manual_seed"],
}


def module(library, name):
    return importlib.import_module(f"{library.__name__}.{name}")


@pytest.mark.parametrize("name", sorted(NAMES))
def test_names(name):
    ours = module(minidynamo, name)
    assert [each for each in NAMES[name] if not hasattr(ours, each)] == []
    torch = pytest.importorskip("torch")
    theirs = module(torch, name)
    assert [each for each in NAMES[name] if not hasattr(theirs, each)] == []
    public = [each for each in getattr(ours, "__all__", ()) if not hasattr(theirs, each)]
    assert public in ([], ["unregister_custom_op_symbolic"])


# Calls that return the same as in torch built for CPUs.
SAME = [
    "accelerator.is_available()",
    "accelerator.current_accelerator()",
    "accelerator.device_count()",
    "accelerator.synchronize()",
    "accelerator.current_device_index()",
    "backends.cuda.is_built()",
    "backends.cudnn.is_available()",
    "backends.cudnn.version()",
    "backends.cudnn.enabled",
    "backends.cudnn.benchmark",
    "backends.cudnn.benchmark_limit",
    "backends.cudnn.deterministic",
    "backends.mkldnn.is_available()",
    "backends.mps.is_available()",
    "backends.mps.is_built()",
    "backends.openmp.is_available()",
    "backends.cpu.get_cpu_capability()",
    "cpu.current_device()",
    "cpu.device_count()",
    "cpu.is_available()",
    "cpu.synchronize()",
    "cuda.is_available()",
    "cuda.device_count()",
    "cuda.is_bf16_supported()",
    "cuda.memory_allocated()",
    "cuda.max_memory_allocated()",
    "cuda.memory_reserved()",
    "cuda.get_arch_list()",
    "cuda.get_rng_state_all()",
    "cuda.set_rng_state_all([])",
    "cuda.empty_cache()",
    "cuda.manual_seed_all(3)",
    "cuda.memory_stats()",
    "cuda.stream(None).__enter__()",
    "distributed.is_initialized()",
    "distributed.is_torchelastic_launched()",
    "distributed.destroy_process_group()",
    "distributed.Backend('GLOO')",
    "fx.experimental.symbolic_shapes.guard_int(3)",
    "fx.experimental.symbolic_shapes.statically_known_true(1 == 1)",
    "mps.is_available()",
    "mps.device_count()",
    "mtia.is_available()",
    "mtia.device_count()",
    "onnx.is_in_onnx_export()",
    "overrides.is_tensor_like(3)",
    "overrides.is_tensor_like(__import__('numpy').ones(1))",
    "overrides.has_torch_function((3,))",
    "overrides.has_torch_function_unary(3)",
    "version.cuda",
    "version.hip",
    "version.debug",
    "xpu.is_available()",
    "xpu.device_count()",
    "xpu.manual_seed(3)",
    "xpu.empty_cache()",
    "onnx.utils.register_custom_op_symbolic('a', None, 9)",
]


@pytest.mark.parametrize("call", SAME)
def test_as_torch_without_devices(call):
    torch = pytest.importorskip("torch")
    results = []
    for library in (minidynamo, torch):
        name = max((each for each in NAMES if call.startswith(each + ".")), key=len)
        results.append(value_or_error(lambda m=module(library, name), n=name: eval("m" + call[len(n) :], {"m": m})))
    assert results[0] == results[1]


NO_DEVICE = [
    "cuda.current_device()",
    "cuda.synchronize()",
    "cuda.set_device(0)",
    "cuda.get_device_name()",
    "cuda.get_device_properties(0)",
    "cuda.get_device_capability()",
    "cuda.current_stream()",
    "cuda.Stream()",
    "cuda.Event()",
    "cuda.device(0).__enter__()",
    "cuda.init()",
    "mps.synchronize()",
    "xpu.synchronize()",
    "mtia.synchronize()",
]


@pytest.mark.parametrize("call", NO_DEVICE)
def test_what_needs_a_device_raises(call):
    with pytest.raises(RuntimeError, match="runs on the CPU only"):
        eval(call, {name: module(minidynamo, name) for name in ("cuda", "mps", "xpu", "mtia")})


def test_distributed():
    distributed = module(minidynamo, "distributed")
    assert distributed.is_available() is False
    for name in ("all_reduce", "barrier", "get_rank", "get_world_size", "broadcast"):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            getattr(distributed, name)()
    with pytest.raises(RuntimeError, match="one process"):
        distributed.init_process_group("gloo")
    torch = pytest.importorskip("torch")
    for name, arguments in (("all_reduce", (torch.ones(1),)), ("get_rank", ()), ("barrier", ())):
        kind, text = value_or_error(getattr(torch.distributed, name), *arguments)
        assert (kind, text[:50]) == ("ValueError", "Default process group has not been initialized, pl")


def test_switches_of_backends():
    backends = module(minidynamo, "backends")
    backends.cudnn.benchmark = True
    with backends.cudnn.flags(enabled=False, deterministic=True):
        assert (backends.cudnn.enabled, backends.cudnn.benchmark, backends.cudnn.deterministic) == (False, False, True)
    assert (backends.cudnn.enabled, backends.cudnn.benchmark, backends.cudnn.deterministic) == (True, True, False)
    backends.cudnn.benchmark = False
    backends.cuda.matmul.allow_tf32 = True
    with backends.cuda.sdp_kernel(enable_flash=False):
        assert not backends.cuda.flash_sdp_enabled()
    assert backends.cuda.flash_sdp_enabled()
    with backends.mkldnn.flags(enabled=False):
        assert not backends.mkldnn.enabled


def test_onnx_and_fx_say_what_to_use():
    onnx, fx = module(minidynamo, "onnx"), module(minidynamo, "fx")
    for call in (onnx.export, onnx.ONNXProgram):
        with pytest.raises(RuntimeError, match="ONNX|torch"):
            call(None, None)
    assert module(minidynamo, "onnx.symbolic_helper").parse_args("v", "i")(len) is len
    onnx.register_custom_op_symbolic("a::b", len, 11)
    for call in (fx.symbolic_trace, fx.Tracer().trace, module(minidynamo, "fx.experimental.proxy_tensor").make_fx):
        with pytest.raises(RuntimeError, match=r"minidynamo\.compile"):
            call(len)
    assert not isinstance(minidynamo.ones(1), fx.Proxy)
    assert fx.Tracer().is_leaf_module(minidynamo.nn.Linear(1, 1), "a")
    assert not fx.Tracer().is_leaf_module(minidynamo.nn.Sequential(), "a")


def test_wrap():
    torch = pytest.importorskip("torch")
    for library in (minidynamo, torch):
        wrap = module(library, "fx").wrap
        names = {"wrap": wrap}
        exec("@wrap\ndef f(x):\n    return x + 1\nwrap('len')\nresult = f(1)", names)
        assert names["result"] == 2
    ours, theirs = (module(library, "fx").wrap for library in (minidynamo, torch))
    assert value_or_error(ours, 3) == value_or_error(theirs, 3)
    assert value_or_error(ours, len) == value_or_error(theirs, len)


@pytest.mark.parametrize(
    "settings",
    [
        {"wait": 1, "warmup": 1, "active": 2},
        {"wait": 1, "warmup": 1, "active": 2, "repeat": 2, "skip_first": 3},
        {"wait": 0, "warmup": 0, "active": 1, "repeat": 1},
        {"wait": 2, "warmup": 1, "active": 1, "skip_first": 1, "skip_first_wait": 1},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore")
def test_profiler_schedule(settings):
    torch = pytest.importorskip("torch")
    ours, theirs = module(minidynamo, "profiler").schedule(**settings), torch.profiler.schedule(**settings)
    assert [ours(step).name for step in range(30)] == [theirs(step).name for step in range(30)]


def test_profiler_runs_the_block():
    profiler = module(minidynamo, "profiler")
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU], record_shapes=True) as prof:
        with profiler.record_function("name"):
            result = minidynamo.ones(1) + 1
        prof.step()
    assert result.item() == 2
    assert "no profile" in prof.key_averages().table(sort_by="cpu_time_total", row_limit=10)
    with pytest.raises(RuntimeError):
        prof.export_chrome_trace("trace.json")

    @profiler.record_function("f")
    def f(x):
        return x + 1

    assert f(1) == 2


def test_random_state():
    random = module(minidynamo, "random")
    random.manual_seed(5)
    assert random.initial_seed() == 5
    with random.fork_rng():
        inside = minidynamo.rand(3)
    assert minidynamo.rand(3).tolist() == inside.tolist()
    number = random.seed()
    assert random.initial_seed() == number
    state = random.get_rng_state()
    first = minidynamo.rand(2).tolist()
    random.set_rng_state(state)
    assert minidynamo.rand(2).tolist() == first
    with random.fork_rng(enabled=False):
        minidynamo.rand(2)
    assert minidynamo.rand(2).tolist() != first


class Wrapped:
    def __init__(self, name, result):
        self.name, self.result = name, result

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return NotImplemented if args and args[0] == "no" else (function.__name__, len(types), args)


def test_overrides():
    torch = pytest.importorskip("torch")

    class Child(Wrapped):
        pass

    def public(x):
        pass

    for arguments in (("yes",), ("no",)):
        results = [
            value_or_error(
                module(library, "overrides").handle_torch_function,
                public,
                (Wrapped(1, 2), Child(1, 2), Child(3, 4)),
                *arguments,
            )
            for library in (minidynamo, torch)
        ]
        assert results[0] == results[1] if arguments == ("yes",) else results[0][0] == results[1][0] == "TypeError"
    overrides = module(minidynamo, "overrides")
    assert overrides.is_tensor_like(minidynamo.ones(1)) and overrides.is_tensor_like(Wrapped(1, 2))
    assert overrides.is_tensor_method_or_property(minidynamo.Tensor.add)
    assert not overrides.is_tensor_method_or_property(len)


def test_return_types():
    types = module(minidynamo, "return_types")
    x = minidynamo.tensor([[1.0, 2.0], [3.0, 0.0]])
    assert isinstance(x.max(0), types.max)
    assert isinstance(x.sort(), types.sort)
    assert isinstance(x.topk(1), types.topk)
    assert not isinstance(x, types.sort)


def test_tensors_go_through_processes():
    program = """
import minidynamo.multiprocessing as mp, minidynamo
def work(number, queue):
    queue.put((number, minidynamo.full((2,), float(number))))
def fail(number):
    raise SystemExit(number)
if __name__ == "__main__":
    queue = mp.get_context("fork").SimpleQueue()
    mp.spawn(work, (queue,), nprocs=2, start_method="fork")
    print(sorted((number, x.tolist()) for number, x in (queue.get(), queue.get())))
    try:
        mp.spawn(fail, nprocs=2, start_method="fork")
    except RuntimeError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == [
        "[(0, [0.0, 0.0]), (1, [1.0, 1.0])]",
        "process 1 terminated with exit code 1",
    ], done.stderr
    assert pickle.loads(pickle.dumps(minidynamo.ones(2))).tolist() == [1, 1]


def test_fake_before_its_operator():
    library = minidynamo.library

    @library.register_fake("namestest::twice")
    def fake(x):
        return x.new_empty(x.size())

    @library.custom_op("namestest::twice", mutates_args=())
    def twice(x: minidynamo.Tensor) -> minidynamo.Tensor:
        return x * 2

    compiled = minidynamo.compile(lambda x: twice(x) + 1, fullgraph=True)
    assert compiled(minidynamo.ones(2)).tolist() == [3, 3]
    with pytest.raises(ValueError, match="::"):
        library.register_fake("twice", fake)
    with pytest.raises(OSError, match="compiled for torch"):
        minidynamo.ops.load_library("libx.so")


def test_dispatch_keys():
    torch = pytest.importorskip("torch")
    for library in (minidynamo, torch):
        c = library._C
        keys = c.DispatchKeySet(c.DispatchKey.AutocastCPU) | c.DispatchKeySet(c.DispatchKey.AutocastCUDA)
        assert keys.has(c.DispatchKey.AutocastCUDA) and not keys.has(c.DispatchKey.CPU)
        with c._ExcludeDispatchKeyGuard(keys):
            pass
        with c.DisableTorchFunctionSubclass():
            pass
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = minidynamo._C.nothing


def test_where_compilation_is_supported():
    torch = pytest.importorskip("torch")
    assert minidynamo._dynamo.is_dynamo_supported() is torch._dynamo.is_dynamo_supported()
    for device in ("cpu", "cuda", "mps"):
        ours, theirs = (
            module(library, "_dynamo.utils").is_compile_supported(device) for library in (minidynamo, torch)
        )
        assert ours == theirs
