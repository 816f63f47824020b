"""Tests that config.check_captures cannot check, with the reason: they are skipped, as are those with the marker.

A test that runs many programs is listed by the name of the program.
"""

UNCHECKED = {
    "class_statements.subclasses_seen": "each class is created twice, and its bases list both",
    "subclasses": "each class is created twice, and its bases list both",
    "exception_groups.all_clauses": "except* is left to the interpreter, and breaks the graph of the callee",
    "exception_groups.rest_propagates": "except* is left to the interpreter, and breaks the graph of the callee",
    "exception_groups.nested_groups": "except* is left to the interpreter, and breaks the graph of the callee",
    "deepcopy's memo": "the identity of a new object is its address",
    "model_code.deep_copies_of_modules_and_tensors": "the identity of a new object is its address",
    "controls.disable_created_inside": "torch notes the identity of a new object",
    "int divmod_unpacked": "the rest of a call that a plan refuses is captured once more",
    "odict": "the check holds what OrderedDict.clear() drops until it has compared",
    "library_tools.identities_beside_numbers": "the identity of a new object is its address",
    "loops.for_over_tensor": "a restored iterator over a tensor is one over a tuple",
    "tensor_indexing.iterated_and_unpacked": "a restored iterator over a tensor is one over a tuple",
    "docs/programming_model/pure_functions.md": "shows the effect of marking an impure function as pure",
    "docs/programming_model/skipped_functions.md": "shows the effect of marking an impure function as pure",
    "docs/troubleshooting.md": "shows a mismatch",
    "tensors.iteration": "a restored iterator over a tensor is one over a tuple",
}
