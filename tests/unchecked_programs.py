"""What config.check_captures cannot judge, with the reason: tests that are skipped, beside those with the marker.

A test that is run with many programs is listed with the program's name.
"""

UNCHECKED = {
    "class_statements.subclasses_seen": "each class is made twice, and its bases know both",
    "subclasses": "each class is made twice, and its bases know both",
    "exception_groups.all_clauses": "except* is left to the interpreter, and breaks the graph of what is called",
    "exception_groups.rest_goes_on": "except* is left to the interpreter, and breaks the graph of what is called",
    "exception_groups.nested_groups": "except* is left to the interpreter, and breaks the graph of what is called",
    "deepcopy's memo": "the identity of a new object is its address",
    "library_tools.identities_beside_numbers": "the identity of a new object is its address",
    "loops.for_over_tensor": "a restored iterator over a tensor is one over a tuple",
    "tensor_indexing.iterated_and_unpacked": "a restored iterator over a tensor is one over a tuple",
    "docs/programming_model/pure_functions.md": "shows what comes of promising a function that is not pure",
    "docs/programming_model/skipped_functions.md": "shows what comes of promising a function that is not pure",
    "docs/troubleshooting.md": "shows a mismatch",
    "tensors.iteration": "a restored iterator over a tensor is one over a tuple",
}
