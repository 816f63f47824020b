"""Tests of what the tensor library computes and of what is read from files: files and folders beside this one."""

SAME_ON_EACH_VERSION = {
    *("models", "nn", "ops"),
    *("test_bad_input.py", "test_benchmarks.py", "test_cpp_extension.py", "test_digits_convolution.py"),
    *("test_fast_loops.py", "test_hostile_files.py", "test_layering.py", "test_machine_code.py"),
    *("test_numbers_that_fit.py", "test_plain_calls.py", "test_plan_chosen_rows.py", "test_plan_products.py"),
    *("test_plan_rows.py", "test_repr.py", "test_rows.py", "test_safetensors.py", "test_safetensors_fuzz.py"),
    *("test_sentence_search.py", "test_winograd.py"),
}
