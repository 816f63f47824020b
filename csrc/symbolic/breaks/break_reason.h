// The reasons for which a region ends: included where one is named, so that a new row compiles little anew.
#pragma once
#include <cstdint>

namespace md {

enum class BreakReason : uint16_t {
#define MD_BREAK(name, id, anchor, title, explanation, hints, kind) name,
#include "symbolic/breaks/graph_breaks.def"
#undef MD_BREAK
};

}  // namespace md
