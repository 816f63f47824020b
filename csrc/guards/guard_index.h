// Finds the candidates among many guard sets with a hash of the objects at discriminating sources.
// 1. An expectation is what a guard set requires at a source: a type, and for some types more. If the guards hold, the
// object there fits it, so sets with another hash need not be tried.
// 2. For each type and source, the hash covers what all sets that expect this type there can compare.
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "guards/guard.h"

namespace md {

// How much of an object is compared: its type; also dtype and rank of a tensor, the value of a constant, a function's
// code; also the sizes of a tensor.
enum class Detail : uint8_t { Type, Value, Sizes };

// Whether the guard determines which object, or kind of object, is at its source.
bool has_expectation(const Guard& guard);

struct Expectation {
  bool any = true;  // nothing is expected
  PyTypeObject* type = nullptr;
  Detail detail = Detail::Type;
  size_t value_hash = 0, sizes_hash = 0;

  void add(const Guard& guard);
  // Notes the type, unless something as detailed is expected already.
  void expect(PyTypeObject* of_type, Detail more);
  size_t hash(Detail wanted) const;
};

class GuardIndex {
 public:
  // The sets must not move, and the pools of `places` must outlive the index. Sources for which some set has no
  // expectation are ignored; if that leaves none, the index is empty.
  GuardIndex() = default;
  GuardIndex(std::span<const GuardSet* const> sets, std::span<const Source* const> places);

  bool empty() const { return places_.empty(); }
  // The `second` members are the numbers of the sets that may hold.
  std::span<const std::pair<size_t, uint32_t>> candidates(const LocalsView& view) const;

 private:
  struct Place {
    const Source* source;
    std::vector<std::pair<PyTypeObject*, Detail>> details;  // types for which more than the type is compared
    Detail detail_of(PyTypeObject* type) const;
  };
  std::vector<Place> places_;
  std::vector<std::pair<size_t, uint32_t>> by_hash_;  // sorted
};

}  // namespace md
