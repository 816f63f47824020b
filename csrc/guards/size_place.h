// Where a region reads a symbolic number: a size of a tensor, an int itself, the only element of a tensor, or the
// length of a dict.
#pragma once
#include <optional>

#include "guards/source.h"
#include "tensor/tensor.h"

namespace md {

struct SizePlace {
  static constexpr int kNumber = -1;   // the int at the source
  static constexpr int kElement = -2;  // the only element of the tensor at the source, of an integer dtype
  static constexpr int kLength = -3;   // the number of entries of the exact dict at the source
  const Source* source = nullptr;
  int dim = kNumber;  // or a dim of the tensor at the source
  friend bool operator==(const SizePlace&, const SizePlace&) = default;
};

// The current value; nullopt if it is no tensor of that rank, no int, no dict, or does not fit.
std::optional<int64_t> read_size(const SizePlace& place, BorrowedRef object);

// `L['x'].size()[0]`, `L['n']`, `L['x'].item()`.
std::string name(const SizePlace& place, const Bytecode& bytecode);

}  // namespace md
