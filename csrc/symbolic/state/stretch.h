// Instructions of one code object that are left to Python.
#pragma once
#include <algorithm>

namespace md {

struct Stretch {
  int first, last;
  // Handlers, which the compiler puts behind all other code: Bytecode::cold_start().
  int cold_first = 0, cold_last = -1;

  bool contains(int index) const {
    return (first <= index && index <= last) || (cold_first <= index && index <= cold_last);
  }
  void cover(int index, int cold_start) {
    if (index < cold_start) {
      first = last < first ? index : std::min(first, index);
      last = std::max(last, index);
    } else {
      cold_first = cold_start;
      cold_last = std::max(cold_last, index);
    }
  }
  // Of the same code.
  bool joins(const Stretch& other) const { return first <= other.last + 1 && other.first <= last + 1; }
  Stretch joined(const Stretch& other) const {
    return {std::min(first, other.first), std::max(last, other.last), std::max(cold_first, other.cold_first),
            std::max(cold_last, other.cold_last)};
  }
};

}  // namespace md
