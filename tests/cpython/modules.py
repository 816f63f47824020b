"""Which of CPython's test modules run in everywhere mode, and known causes of their failures."""

import importlib.util
from pathlib import Path

# Those that need the network or a display, or test the test machinery itself.
NOT_RUN = """
test_idle test_smtpnet test_tcl test_tix test_tk test_tkinter test_ttk test_ttk_guionly test_ttk_textonly test_turtle
test_urllib2net test_urllibnet
""".split()


def all_modules():
    """The names of all test modules and packages of the running Python except those in NOT_RUN."""
    spec = importlib.util.find_spec("test")
    if spec is None:
        return []
    folder = Path(spec.submodule_search_locations[0])
    names = {file.stem for file in folder.glob("test_*.py")} | {
        file.parent.name for file in folder.glob("test_*/__init__.py")
    }
    return sorted(names.difference(NOT_RUN))


# Run in every run of the test suite, with all their tests.
QUICK = ["test_class", "test_contextlib", "test_iter", "test_raise", "test_scope", "test_with"]

# Tests that pass under an idle hook and may fail in everywhere mode: the end of their names, and why.
_COUNTS = (
    "counts the objects of the process or the garbage collections: a capture creates objects, and an object that is "
    "created and dropped inside a region never exists"
)
_LAYOUT = "checks the size in bytes of a dict or list: a region writes its items one by one"
_DELETED = "relies on the slots of deleted keys, which a dict built at the exit of a region does not have"
_RETURNED = (
    "reads the locals of a frame that has returned: the values that its last region would store in them are not written"
)
_NUMBERS = "counts the references to a small integer, which captured regions hold as well"
_REFERENCES = "counts the references to a constant, or checks that there is only one: captured regions hold it as well"
_REUSED = "checks that Python reuses an object that died at once: a region creates its objects later"
_WEAK = "counts the weak references to an object: a region that creates or follows one has one of its own in its guards"
_SPECIALISED = (
    "looks for a specialised instruction: the interpreter specialises only instructions that it has executed often"
)
# In test_opcache: each first checks for the specialised instruction.
_RACES = """
binary_subscr_list_int for_iter_list load_attr_class load_attr_instance_value load_attr_method_lazy_dict
load_attr_method_no_dict load_attr_method_with_values load_attr_module load_attr_with_hint load_global_module
store_attr_instance_value store_attr_with_hint store_subscr_list_int unpack_sequence_list
""".split()
_INLINE_ATTRIBUTES = (
    "counts the attribute slots in the objects of a class: one that is created and dropped inside a region adds none"
)
_DEPTH = (
    "sets a recursion limit that suffices only if the interpreter has specialised the calls of C functions, which then do "
    "not count towards it: without a hook it fails as well if it runs first"
)
_TRACKED = "checks that the collector does not track a new tuple: those that a region creates are tracked until it runs"
_OWN_TEXTS = "checks that equal keys are the same object: a region that creates a dict has its own strings for them"
_MANY_REGIONS = "puts 150,000 values on the stack: under stress each region of three instructions records all of them"
_ALLOCATED = (
    "checks at which line memory was allocated, and how much: a region creates its objects later, or not at all"
)
_VECTORCALL = (
    "sets a vectorcall that does not behave like the function, which PyFunction_SetVectorcall() forbids: calls go "
    "through the code of the function"
)
KNOWN = {
    "test_09_settrace_and_raise": "one instruction starts tracing and raises: the tracer receives one more event for the frame",
    "GCTogglingTests.test_bug1055820c": _COUNTS,
    "GCTogglingTests.test_bug1055820d": _COUNTS,
    "GCCallbackTests.test_collect_garbage": _COUNTS,
    "GCTests.test_get_objects_arguments": _COUNTS,
    "GCTests.test_heap_size": _COUNTS,
    "GCTests.test_resurrection_does_not_block_cleanup_of_other_objects": _COUNTS,
    "ClassPropertiesAndMethods.test_slots": _COUNTS,
    "DictTest.test_splittable_popitem": _LAYOUT,
    "SharedKeyTests.test_subclasses": _LAYOUT,
    "SizeofTest.test_objecttypes": _LAYOUT,
    "DictTest.test_reversed_dict_keys_changed_during_iteration": _DELETED,
    "GCTests.test_frame": _RETURNED,
    "TestIncompleteFrameAreInvisible.test_sneaky_frame_object_teardown": _RETURNED,
    "TestTracebackException.test_print": _RETURNED,
    "test_bug_782369": _NUMBERS,
    "BytesMemorySliceSliceTest.test_getbuffer": _REFERENCES,
    "BytesMemorySliceTest.test_getbuffer": _REFERENCES,
    "BytesMemoryviewTest.test_getbuffer": _REFERENCES,
    "BytesMemorySliceSliceTest.test_setitem_readonly": _REFERENCES,
    "CBytesIOTest.test_sizeof": _REFERENCES,
    "PythonAPITestCase.test_PyLong_Long": _NUMBERS,
    "PythonAPITestCase.test_PyString_FromString": _REFERENCES,
    "SysModuleTest.test_refcount": _REFERENCES,
    "BugsTest.test_bug_xmltoolkit63": _REFERENCES,
    "TestTracemallocEnabled.test_get_traced_memory": _ALLOCATED,
    "TestTracemallocEnabled.test_get_traces": _ALLOCATED,
    "TestTracemallocEnabled.test_get_traces_intern_traceback": _ALLOCATED,
    "TestTracemallocEnabled.test_new_reference": _ALLOCATED,
    "TestTracemallocEnabled.test_set_traceback_limit": _ALLOCATED,
    "test_tuple_reuse": _REUSED,  # in itertools and enumerate
    "test_product_tuple_reuse": _REUSED,
    "test_zip_tuple_reuse": _REUSED,
    "test_zip_longest_tuple_reuse": _REUSED,
    "test_genexps.__test__.doctests": _REUSED,
    "test_lru_recursion": "a recursion for which an idle hook has just enough C stack: a frame of the driver uses more",
    "test_no_unwind_for_shim_frame": _SPECIALISED,
    "test_binary_specialize": _SPECIALISED,  # in test_dis, as the next four
    "test_call_specialize": _SPECIALISED,
    "test_load_attr_specialize": _SPECIALISED,
    "test_show_caches": _SPECIALISED,
    "test_super_instructions": _SPECIALISED,
    "TypeCacheWithSpecializationTests.test_class_call_specialization_user_type": _SPECIALISED,
    "TypeCacheWithSpecializationTests.test_class_load_attr_specialization_static_type": _SPECIALISED,
    "TypeCacheWithSpecializationTests.test_class_load_attr_specialization_user_type": _SPECIALISED,
    "TypeCacheWithSpecializationTests.test_store_attr_specialization_user_type": _SPECIALISED,
    "TypeCacheWithSpecializationTests.test_to_bool_specialization_user_type": _SPECIALISED,
    "TestCallCache.test_assign_init_code": _SPECIALISED,  # in test_opcache, as those of _RACES
    "TestInstanceDict.test_dict_dematerialization": _INLINE_ATTRIBUTES,
    "TestInstanceDict.test_dict_dematerialization_copy": _INLINE_ATTRIBUTES,
    "TestInstanceDict.test_dict_dematerialization_pickle": _INLINE_ATTRIBUTES,
    "TestSupport.test_recursion": _DEPTH,
    "TypeCacheTests.test_tp_version_tag_unique": "is skipped if reading an attribute did not assign a version to the class: here a region has read it already",
    "TupleTest.test_track_literals": _TRACKED,
    "TestNamedTuple.test_large_size": _MANY_REGIONS,
    "TestPyDecode.test_keys_reuse": _OWN_TEXTS,
    "MappingTestCase.test_weak_keys": _WEAK,
    "ReferencesTestCase.test_getweakrefcount": _WEAK,
    "ReferencesTestCase.test_getweakrefs": _WEAK,
    "ReferencesTestCase.test_ref_reuse": _WEAK,
    "SubclassableWeakrefTestCase.test_subclass_refs_dont_replace_standard_refs": _WEAK,
    "TestPEP590.test_setvectorcall": _VECTORCALL,
    "TestPEP590.test_setvectorcall_load_attr_specialization_deopt": _VECTORCALL,
    "TestPEP590.test_setvectorcall_load_attr_specialization_skip": _VECTORCALL,
} | {f"TestRacesDoNotCrash.test_{name}": _SPECIALISED for name in _RACES}

# Tests that measure time or depend on the order of threads: they sometimes fail on a busy machine, also without a hook.
UNSTEADY = {
    "test_denial_of_service_prevented_int_to_str": "compares times of conversions",
    "test_denial_of_service_prevented_str_to_int": "compares times of conversions",
    "TestTracemallocEnabled.test_snapshot": "checks the depth of frames at an allocation, which may be any that comes first",
}


# Tests that pass without a hook and fail under one that only calls the interpreter: part of their names, and why.
_NOT_INLINED = (
    "a Python function is called like a C function, since no call is inlined: its return counts as one of C code"
)
_C_STACK = "a recursion for which there is not enough C stack, or C recursion, if no call is inlined"
IDLE = {
    "test_implicit_stop_iteration": "a generator that a loop does not inline ends without raising StopIteration",
    "test_c_return_count": _NOT_INLINED,
    "test_20_async_for_loop": "a coroutine that await does not inline passes on its result by a StopIteration, which the tracer sees",
    "test_super_deep": _C_STACK,
    "test_loop_quicken": "looks for instructions that are not quickened while a frame evaluator is set",
    "test_lru_recursion": _C_STACK,
    "test_recursive_traceback": _C_STACK,
    "test_property_load_attr_specialization": "looks for an instruction that is not specialised while a frame evaluator is set",
    "test_monitoring.": "test_c_return_count failed earlier and left its events switched on",
}


def known_reason(test):
    """Why this test may fail in everywhere mode, or None if it must pass."""
    reasons = [reason for name, reason in (KNOWN | UNSTEADY).items() if test.endswith(f".{name}")]
    return reasons[0] if reasons else None


def reason_of_idle(test):
    """Why this test fails under an idle hook, or None if the cause is unknown."""
    return next((reason for name, reason in IDLE.items() if name in test), None)
