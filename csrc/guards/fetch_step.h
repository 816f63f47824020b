// One step from a base to what a source names: what both fetch() and the guard program take.
#pragma once
#include "guards/source.h"

namespace md {

enum class Presence : uint8_t {
  Found,
  Absent,   // the place exists and nothing is there
  Unknown,  // the base is missing or of another type, or only Python code could tell
};

struct Fetched {
  Presence presence;
  PyObject* object;  // borrowed; null unless Found
};

// `base` is what the source's base holds now; null when it has none or it was not found.
Fetched fetch_step(const Source& source, PyObject* base, const LocalsView& view);
// All steps from the region's start.
Fetched fetch_path(const Source& source, const LocalsView& view);

}  // namespace md
