// Sequences of pointwise operations as one loop of machine code: intermediates stay in vector registers. Results are
// bit-identical, except for the sign and payload of NaNs, to running the loops of pointwise.def one after another.
#pragma once
#include <climits>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "machine_code/assembler.h"
#include "tensor/dtype.h"
#include "tensor/scalar.h"

namespace md {

inline constexpr int kReadOutside = INT_MAX;
inline constexpr int kMaxCodeRegisters = 512;

// One operation on loop registers: memory operands, until they are held in processor registers.
struct CodeInstruction {
  int row = -1;      // row in pointwise.def; -1: a cast
  DType dtype = {};  // of the operands (where: of the second and third)
  DType result = {};
  int operand_count = 0;
  int src[3] = {-1, -1, -1};
  unsigned once = 0;  // bit i: operand i is a single element
  int dst = -1;
  int last_read = -1;              // the last instruction that reads dst, or kReadOutside
  const Scalar* params = nullptr;  // as many as its row has
};

// Location of a loop register's elements: an address of its own, or `bytes` after those of loop register `base`.
struct CodePlace {
  int base = -1;
  int32_t bytes = 0;
};

// registers[i]: address of the first element of loop register i, or of its single element. Elements with the same index
// may share an address. The first `head` elements, fewer than a vector, are processed separately, so that the vectors
// after them can be aligned to a cache line.
using PointwiseCode = void (*)(std::byte* const* registers, int64_t n, int64_t head);

// Accumulator row: the loop register it is read from, and the one holding the final sum.
// In vector registers in between.
struct SumPlace {
  int read = -1, written = -1;
  bool is_any() const { return read >= 0; }
};
// The number of elements that fit into the accumulator registers.
int64_t most_summed(VectorSet set, int64_t item_size);

// Consecutive rows of `elements` elements, a multiple of the vector length.
struct CodeRows {
  int64_t elements = 0;
  int stride = 0;                 // from the addresses of a row to those of the next one
  std::vector<int> fetched = {};  // loop registers whose elements are prefetched `ahead` rows early
  int ahead = 0;
  SumPlace sum = {};
};
// registers[r * stride + i]: address of the elements of loop register i in row r; there are `ahead` more rows than are
// processed. A sum uses its address in the first row.
using RowsCode = void (*)(std::byte* const* registers, int64_t rows);
// The compiled code for rows of `elements` elements.
struct RowLoop {
  int64_t elements = 0;
  RowsCode code = nullptr;
};

// The vector set whose results match the loops in use; nullopt if there is none or config.machine_code disables it.
std::optional<VectorSet> machine_code_set();
inline bool uses_machine_code() { return machine_code_set().has_value(); }
bool has_machine_code(const CodeInstruction& instruction);

// Appends one function of type PointwiseCode for a prefix of the instructions and returns its length: as far
// as they have machine code, elements of one size and enough registers; 0 if it would be shorter than two.
// The first instruction has index `first` in the loop; the function starts `offset` bytes after the start of
// the code. places: by loop register; those not listed have addresses of their own. If a register has a base,
// only the base's address is read.
size_t assemble_pointwise(Assembler& assembler, std::span<const CodeInstruction> instructions, int first,
                          size_t& offset, std::span<const CodePlace> places = {});
// Appends one function of type RowsCode for all instructions. Returns false and appends nothing if they do not fit into
// one loop of machine code, or if the rows are long or not a multiple of the vector length.
bool assemble_rows(Assembler& assembler, std::span<const CodeInstruction> instructions, const CodeRows& rows,
                   size_t& offset, std::span<const CodePlace> places = {});

}  // namespace md
