// Which of many guard sets may hold, told by a hash of what is at the places where they were seen to differ.
//  1. An expectation says what a guard set wants at a place: a type, and of some types more. Where the guards hold, the object
//     there fits it, so that a set with another hash need not be tried.
//  2. What is hashed of a type at a place is what all sets that expect the type there can tell.
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "guards/guard.h"

namespace md {

// How much of an object is looked at: its type; dtype and rank of a tensor, the value of a constant, a function's code;
// the sizes of a tensor too.
enum class Detail : uint8_t { Type, Value, Sizes };

// Whether the guard says which object, or kind of object, is to be at its source.
bool has_expectation(const Guard& guard);

struct Expectation {
  bool any = true;  // nothing is expected
  PyTypeObject* type = nullptr;
  Detail detail = Detail::Type;
  size_t value_hash = 0, sizes_hash = 0;

  void add(const Guard& guard);
  size_t hash(Detail wanted) const;
};

class GuardIndex {
 public:
  // `sets` stay where they are, and the places' pools live, as long as the index does. Places at which a set has no expectation
  // are passed over. Empty: the index knows no place.
  GuardIndex() = default;
  GuardIndex(std::span<const GuardSet* const> sets, std::span<const Source* const> places);

  bool empty() const { return places_.empty(); }
  // Numbers of the sets that may hold, as second.
  std::span<const std::pair<size_t, uint32_t>> candidates(const LocalsView& view) const;

 private:
  struct Place {
    const Source* source;
    std::vector<std::pair<PyTypeObject*, Detail>> details;  // of types with more than the type to tell
    Detail detail_of(PyTypeObject* type) const;
  };
  std::vector<Place> places_;
  std::vector<std::pair<size_t, uint32_t>> by_hash_;  // sorted
};

}  // namespace md
