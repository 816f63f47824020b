"""Tests of the computations of the tensor library and of reading files: files and folders in this directory."""

SAME_ON_EACH_VERSION = {
    *("executor", "models", "nn", "ops"),
    *(
        "tensor/test_hostile_files.py",
        "tensor/test_repr.py",
        "tensor/test_safetensors.py",
        "tensor/test_safetensors_fuzz.py",
    ),
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
