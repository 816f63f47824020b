#include "symbolic/trace/endings.h"

namespace md {

namespace {

constexpr EndingRow kRows[] = {
#define MD_ENDING(name, condition, place, policy, is_reported, meaning) \
  {#name, EndPlace::place, EndPolicy::policy, is_reported, meaning},
#include "symbolic/trace/endings.def"
#undef MD_ENDING
};

}  // namespace

std::span<const EndingRow> ending_rows() { return kRows; }

const EndingRow& ending_row(Ending ending) { return kRows[static_cast<size_t>(ending)]; }

Ending decide_ending(const EndingFacts& f) {
#define MD_ENDING(name, condition, place, policy, is_reported, meaning) \
  if (condition) return Ending::name;
#include "symbolic/trace/endings.def"
#undef MD_ENDING
  raise(ErrorKind::Internal, "the last ending holds always");
}

}  // namespace md
