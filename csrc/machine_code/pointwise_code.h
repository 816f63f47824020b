// Runs of pointwise operations as one loop of machine code: intermediates stay in vector registers. What it computes is,
// bit by bit but for the sign and payload of NaNs, what the loops of pointwise.def compute one after another.
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

// One operation on the loop's registers, which are places in memory until they are held in the processor's.
struct CodeInstruction {
  int row = -1;      // of pointwise.def, -1: a cast
  DType dtype = {};  // of the operands (where: of the second and third)
  DType result = {};
  int operand_count = 0;
  int src[3] = {-1, -1, -1};
  unsigned once = 0;  // bit i: operand i is one element
  int dst = -1;
  int last_read = -1;  // the last instruction that reads dst, or kReadOutside
  const Scalar* param = nullptr;
};

// Where the elements of a loop register lie: at an address of their own, or so many bytes after those of another one.
struct CodePlace {
  int base = -1;
  int32_t bytes = 0;
};

// registers[i]: the first element of loop register i, or the one element. Elements with the same number may lie at the
// same address. So many elements at the head, fewer than a vector's, come first by themselves: what follows them may then
// start at the start of a cache line.
using PointwiseCode = void (*)(std::byte* const* registers, int64_t n, int64_t head);

// What all rows are added to: where it is read, and where the last instruction leaves it. In vector registers meanwhile.
struct SumPlace {
  int read = -1, written = -1;
  bool is_any() const { return read >= 0; }
};
// So many elements fit into registers at once.
int64_t most_summed(VectorSet set, int64_t item_size);

// Rows of so many elements, whole vectors, one after another.
struct CodeRows {
  int64_t elements = 0;
  int stride = 0;                 // from the addresses of a row to those of the next one
  std::vector<int> fetched = {};  // loop registers whose elements are asked for `ahead` rows before
  int ahead = 0;
  SumPlace sum = {};
};
// registers[r * stride + i]: where the elements of loop register i are in row r; there are `ahead` rows more than are done.
// A sum is where it is in the first row.
using RowsCode = void (*)(std::byte* const* registers, int64_t rows);
// What does all to so many elements of each row.
struct RowLoop {
  int64_t elements = 0;
  RowsCode code = nullptr;
};

// What machine code agrees with the loops in use; none where there is no such code or config.machine_code does not allow it.
std::optional<VectorSet> machine_code_set();
inline bool uses_machine_code() { return machine_code_set().has_value(); }
bool has_machine_code(const CodeInstruction& instruction);

// Appends one function of type PointwiseCode for the first so many instructions, and returns how many: as far as they
// have machine code, elements of one size and enough registers; 0 where that is less than two. The first instruction
// is number `first` of the loop; the function starts `offset` bytes after the start of the code. places: by loop register;
// those that are not among them have addresses of their own. A function that knows of a base reads no other address.
size_t assemble_pointwise(Assembler& assembler, std::span<const CodeInstruction> instructions, int first,
                          size_t& offset, std::span<const CodePlace> places = {});
// Appends one function of type RowsCode for all the instructions. False, and nothing, where they are not one loop of machine
// code, or the rows are long or no whole vectors.
bool assemble_rows(Assembler& assembler, std::span<const CodeInstruction> instructions, const CodeRows& rows,
                   size_t& offset, std::span<const CodePlace> places = {});

}  // namespace md
