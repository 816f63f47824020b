// Where a region reads a symbolic number: a size of a tensor, or an int itself.
#pragma once
#include <optional>

#include "guards/source.h"
#include "tensor/tensor.h"

namespace md {

struct SizePlace {
  const Source* source = nullptr;
  int dim = -1;  // -1: the int at the source
  friend bool operator==(const SizePlace&, const SizePlace&) = default;
};

// The current value; nullopt if it is no tensor of that rank, no int, or does not fit.
std::optional<int64_t> read_size(const SizePlace& place, BorrowedRef object);

// `L['x'].size()[0]`, `L['n']`.
std::string name(const SizePlace& place, const Bytecode& bytecode);

}  // namespace md
