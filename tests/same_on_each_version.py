"""Tests of computations, of names and of reading files: files and folders in this directory."""

SAME_ON_EACH_VERSION = {
    *("distributions", "executor", "models", "nn", "ops", "tensor", "training"),
    *("api/torch_names", "capture/test_captured_grad_flags.py"),
    *("frontends/numpy_family/test_backwards.py", "frontends/numpy_family/test_complex.py"),
    *("frontends/numpy_family/test_host_calls.py", "frontends/numpy_family/test_parts_of_arrays.py"),
    *("frontends/numpy_family/test_sequences_as_operands.py", "frontends/numpy_family/test_statistics_and_places.py"),
    "frontends/numpy_family/test_ufuncs.py",
    *("api/test_cpp_extension.py", "structure/test_benchmarks.py", "structure/test_op_forms.py"),
    *("structure/test_import_cycles.py", "structure/test_layering.py", "structure/test_parts_of_the_tracer.py"),
    *(
        "structure/test_precompiled_headers.py",
        "structure/test_tables.py",
        "structure/test_types.py",
        "structure/test_words.py",
    ),
    *("structure/test_length_of_functions.py", "structure/test_names_of_tests.py"),
}
