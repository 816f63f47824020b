// minidynamo.strided ...: torch's layouts. Every tensor is strided; programs name and compare the others.
#pragma once
#include <span>
#include <string_view>

#include "cpython/ref.h"

namespace md {

PyTypeObject* layout_type();  // lives as long as the process
std::span<const std::string_view> layout_names();
BorrowedRef layout_object(std::string_view name);

}  // namespace md
