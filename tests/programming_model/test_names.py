"""The names of TorchDynamo's programming model: each exists, or the docs say why not."""

import importlib
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/programming_model/next_to_torchdynamo.md"
ABSENT = set(re.findall(r"`(\w+)`", PAGE.read_text().partition("## Names that are absent")[2].partition("\n## ")[0]))

NAMES = {
    "minidynamo.compiler": """
        compile reset allow_in_graph substitute_in_graph disable assume_constant_result set_stance is_compiling
        is_dynamo_compiling is_exporting list_backends set_default_backend get_default_backend
        keep_portable_guards_unsafe keep_tensor_guards_unsafe skip_guard_on_globals_unsafe
        skip_guard_on_inbuilt_nn_modules_unsafe skip_guard_on_all_nn_modules_unsafe skip_all_guards_unsafe
        nested_compile_region save_cache_artifacts load_cache_artifacts load_compiled_function wrap_numpy
        cudagraph_mark_step_begin set_enable_guard_collectives""",
    "minidynamo._dynamo": """
        graph_break skip_frame step_unsupported error_on_graph_break disallow_in_graph forbid_in_graph nonstrict_trace
        leaf_function dont_skip_tracing disable_nested_graph_breaks patch_dynamo_config mark_dynamic maybe_mark_dynamic
        mark_static mark_static_address mark_unbacked run explain allow_c_slot optimize optimize_assert export
        OptimizedModule register_backend lookup_backend list_backends replay reset reset_recompile_user_contexts
        set_recursion_limit override_cudagraphs override_optimization_hint is_dynamo_disable_recursive
        bytecode_debugger comptime allow_in_graph assume_constant_result disable substitute_in_graph is_compiling
        config exc utils testing""",
    "minidynamo._dynamo.exc": """
        Unsupported UserError UserErrorType TorchRuntimeError InternalTorchDynamoError BackendCompilerFailed
        InvalidBackend ResetRequired RecompileError FailOnRecompileLimitHit SkipFrame InfiniteGeneratorError
        StepUnsupported UncapturedHigherOrderOpError PackageError TorchDynamoException""",
    "minidynamo.library": """
        custom_op register_fake triton_op wrap_triton register_kernel register_autograd opcheck infer_schema define
        impl get_ctx""",
    "minidynamo.library.CustomOpDef": """
        register_fake register_kernel register_autograd register_vmap register_autocast register_torch_dispatch
        register_effect set_kernel_enabled""",
}


def find(path):
    try:
        return importlib.import_module(path)
    except ImportError:
        module, _, name = path.rpartition(".")
        return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("place", NAMES)
def test_each_name_exists_or_is_explained(place):
    names = NAMES[place].split()
    holder = find(place)
    assert [name for name in names if hasattr(holder, name) == (name in ABSENT)] == []


def test_nothing_else_is_listed():
    asked = {name for names in NAMES.values() for name in names.split()}
    assert ABSENT <= asked
