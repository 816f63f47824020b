// Division of sizes, rounded up.
#pragma once
#include <cstdint>

namespace md {

// Neither is negative.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t value, int64_t step) { return ceil_div(value, step) * step; }

}  // namespace md
