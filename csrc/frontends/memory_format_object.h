// minidynamo.contiguous_format ...: one Python object per memory format.
#pragma once
#include <string_view>

#include "cpython/ref.h"

namespace md {

PyTypeObject* memory_format_type();  // lives as long as the process
BorrowedRef memory_format_object(std::string_view name);
// The name of a format; empty for other objects.
std::string_view memory_format_name(BorrowedRef object);

}  // namespace md
