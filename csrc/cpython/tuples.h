// New tuples.
#pragma once
#include <cstdint>
#include <span>
#include <utility>

#include "cpython/ref.h"

namespace md {

// Of the length of `items`; item(i) is a new reference.
template <typename Items, typename Item>
Ref made_tuple(const Items& items, const Item& item) {
  Ref tuple = check(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; i < items.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), item(items[i]).release());
  return tuple;
}

inline Ref tuple_of(std::span<const Ref> items) {
  return made_tuple(items, [](const Ref& item) { return Ref::share(item.get()); });
}
// Moves the references.
inline Ref moved_to_tuple(std::span<Ref> items) {
  return made_tuple(items, [](Ref& item) { return std::move(item); });
}
inline Ref tuple_of(std::span<const int64_t> numbers) {
  return made_tuple(numbers, [](int64_t number) { return check(PyLong_FromLongLong(number)); });
}

}  // namespace md
