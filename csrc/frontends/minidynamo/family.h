// The row of minidynamo.Tensor and its registered subclasses.
#pragma once
#include "frontends/tensor_language.h"

namespace md {

const TensorFamily& own_family();
// Once the type is ready: registers the row, and the methods of the type as its callables.
void register_own_family();
// Adds a callable to the family. Its entry is owned and stays; `meaning.family` is filled in.
void add_own_callable(BorrowedRef callable, TensorCallable meaning);

}  // namespace md
