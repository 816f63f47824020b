#include "frontends/library_conversions.h"

#include <algorithm>
#include <deque>

namespace md {
namespace {

// Filled under the GIL and never destroyed; entries stay where they are.
std::deque<LibraryConversion>& conversions() {
  static auto* all = new std::deque<LibraryConversion>;
  return *all;
}

template <typename Wanted>
const LibraryConversion* find_row(Wanted is_wanted) {
  auto found = std::ranges::find_if(conversions(), is_wanted);
  return found != conversions().end() ? &*found : nullptr;
}

}  // namespace

void add_library_conversion(BorrowedRef function, const TensorFamily& from, const TensorFamily& to) {
  if (find_library_conversion(function.get()) == nullptr)
    conversions().push_back({Py_NewRef(function.get()), &from, &to});
}

const LibraryConversion* find_library_conversion(const PyObject* function) {
  return find_row([&](const LibraryConversion& row) { return row.function == function; });
}

const LibraryConversion* find_library_conversion(const TensorFamily& from, const TensorFamily& to) {
  return find_row([&](const LibraryConversion& row) { return are_kin(*row.from, from) && are_kin(*row.to, to); });
}

}  // namespace md
