// One step from a base to what a source names; shared by fetch() and the guard program.
#pragma once
#include "guards/source.h"

namespace md {

enum class Presence : uint8_t {
  Found,
  Absent,   // the location exists but is empty
  Unknown,  // the base is missing or of another type, or the answer would require running Python code
};

struct Fetched {
  Presence presence;
  PyObject* object;  // borrowed; null unless Found
};

// `base` is the object at the source's base; null if the source has no base or it was not found.
Fetched fetch_step(const Source& source, PyObject* base, const LocalsView& view);
// All steps from the start of the region.
Fetched fetch_path(const Source& source, const LocalsView& view);

}  // namespace md
