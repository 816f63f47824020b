#include "frontends/memory_format_object.h"

#include <algorithm>
#include <array>

#include "frontends/named_objects.h"
#include "tensor/shapes/memory_format.h"

namespace md {
namespace {

const NamedObjects& formats() {
  static const auto names = [] {
    std::array<std::string_view, kMemoryFormats.size()> all;
    std::transform(kMemoryFormats.begin(), kMemoryFormats.end(), all.begin(), [](const auto& row) { return row.name; });
    return all;
  }();
  static const NamedObjects objects("minidynamo.memory_format", "In which order the dims of a tensor lie in memory.",
                                    names);
  return objects;
}

}  // namespace

PyTypeObject* memory_format_type() { return formats().type(); }
BorrowedRef memory_format_object(std::string_view name) { return formats().object(name); }
std::string_view memory_format_name(BorrowedRef object) { return formats().name_of(object); }

}  // namespace md
