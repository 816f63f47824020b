// The kinds of guards: included where one is named, so that a new row compiles little anew.
#pragma once
#include <cstdint>

namespace md {

enum class GuardKind : uint8_t {
#define MD_GUARD(name, ...) name,
#include "guards/guard_kinds.def"
#undef MD_GUARD
};

}  // namespace md
