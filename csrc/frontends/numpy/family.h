// The two rows of NumPy: its arrays, and its scalars, which are what results of rank 0 are. A Python part
// (minidynamo/_families/numpy.py) says what NumPy's functions mean, and gives samples for the self-check.
#pragma once
#include <string>

#include "frontends/tensor_language.h"

namespace md::numpy {

const TensorFamily& arrays();
// Registers the exact types; the module that is loaded must have been found by load() of library.h.
void start();
// Says what a callable of NumPy means. The first meaning stays.
void add_callable(BorrowedRef callable, TensorCallable meaning);
// A function that regions call as it is, where nothing stands in for it that covers the arguments.
void add_host_call(BorrowedRef callable, TensorCallable meaning);
// Of functions that regions call as they are: TensorFamily::opaque_tracer.
void set_tracer_of_host_calls(BorrowedRef tracer);
// An attribute that a Python function over our tensors computes.
void add_attribute(std::string_view name, TensorCallable meaning);
// An attribute whose value is an object that stands for the array; `maker` makes one of an array.
void add_part(std::string_view name, PyTypeObject* type, BorrowedRef maker);

}  // namespace md::numpy
