// Types of which each object stands for a name: minidynamo.contiguous_format, minidynamo.strided ...
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "cpython/ref.h"

namespace md {

// Lives as long as the process, as do its objects.
class NamedObjects {
 public:
  // The texts are literals. copy and pickle find an object by its name in the module minidynamo.
  NamedObjects(const char* type_name, const char* doc, std::span<const std::string_view> names);

  PyTypeObject* type() const { return type_; }
  BorrowedRef object(std::string_view name) const;
  // The name of one of its objects; empty for others.
  std::string_view name_of(BorrowedRef object) const;

 private:
  PyTypeObject* type_;
  std::vector<PyObject*> objects_;
};

}  // namespace md
