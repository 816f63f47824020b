// Matrix products by dot products or sums of scaled rows: for vectors, and for matrices that cost
// less than calling a primitive.
#pragma once
#include <cstdint>

namespace md {

// Strides in elements, as in GemmProblem. Either b_step is 1, or both b_row and a_step are.
struct RowProduct {
  int64_t n, k;
  int64_t a_row, a_step;
  int64_t b_row, b_step;
  int64_t c_row;
};

// Rows [begin, end) of c.
void multiply_rows(const RowProduct& product, const float* a, const float* b, float* c, int64_t begin, int64_t end);
void multiply_rows(const RowProduct& product, const double* a, const double* b, double* c, int64_t begin, int64_t end);

}  // namespace md
