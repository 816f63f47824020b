// LU decompositions by blocks of columns.
#pragma once
#include "tensor/matrices/block.h"

namespace md {

// a = p @ l @ u in place of a, whose columns are contiguous: u, and below it l without its diagonal of ones. places[k],
// for the lesser of rows and columns: the row that was exchanged with row k, k itself without `pivots`. Returns the
// number, from 1, of the first column whose pivot is 0, or 0. Of float, double and complex numbers.
template <typename T>
int64_t factor_lu(const Block<T>& a, bool pivots, int32_t* places);

// Exchanges rows in turn: k and places[k], for k in [0, count); reversed: from the last to the first.
template <typename T>
void exchange_rows(const Block<T>& a, const int32_t* places, int64_t count, bool reversed = false);

}  // namespace md
