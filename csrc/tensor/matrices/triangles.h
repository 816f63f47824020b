// Systems of equations with triangles, by blocks.
#pragma once
#include "tensor/matrices/block.h"

namespace md {

// What the diagonal is.
enum class Diagonal : bool { Read, Ones };

// b = the x of l @ x = b, of which the lower triangle of l is read, or of u @ x = b with the upper one of u. One stride
// of b is 1. Of float, double and complex numbers.
template <typename T>
void solve_lower(const Block<const T>& l, Diagonal diagonal, const Block<T>& b);
template <typename T>
void solve_upper(const Block<const T>& u, Diagonal diagonal, const Block<T>& b);

}  // namespace md
