// What a fused pointwise step executes: registers, instructions on them, and the order of iteration.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "executor/loops/row_folds.h"
#include "executor/run_state.h"
#include "machine_code/executable_memory.h"
#include "machine_code/pointwise_code.h"
#include "tensor/ops/op_row.h"
#include "tensor/prefetch.h"
#include "tensor/simd/loops.h"

namespace md {

// How a stream's elements are reached in one tile.
enum class StreamAccess : uint8_t {
  Linear,     // in iteration order without gaps
  RowLinear,  // the same inside a row
  RowScalar,  // one element for a whole row; a result of a loop that folds rows likewise
  Strided,    // inside a row at one stride: copied into a tile first (results: copied out of it)
  Walked,     // rows are short: copied element by element over row ends
  Chosen,     // a row of its own choice for each row of the loop: LoopProgram::choices
};

// Which row of a tensor a row of the loop reads or writes.
struct RowChoice {
  int index = -1;      // value: the rows, one int64 for each row of the loop, negative from the end; -1:
  int64_t repeat = 1;  // so many rows of the loop share each
  int64_t extent = 0;  // rows of the tensor
};
inline constexpr size_t kMaxRowChoices = 8;

// A tensor that the loop reads or writes.
struct Stream {
  int value = -1;
  int reg = -1;
  StreamAccess access = StreamAccess::Linear;
  int64_t tile_offset = 0;  // Strided and Walked: where its tile lies in the scratch memory, in bytes
  uint8_t item_size = 4;
  int choice = -1;                    // Chosen: the position in LoopProgram::choices
  bool follows = false;               // machine code finds it at a distance from another one
  int64_t offset = 0;                 // of its first element from that of the value, in elements
  std::vector<int64_t> strides = {};  // in elements, by dimension of the loop
};

inline bool is_copied(const Stream& stream) {
  return stream.access == StreamAccess::Strided || stream.access == StreamAccess::Walked;
}

// A stream whose row is copied without gaps when a run starts.
struct PackedRow {
  int reg = -1;
  int64_t stride = 1;  // of the elements
  uint8_t item_size = 4;
  int64_t place = 0;  // in the packed memory, in bytes
};

// A single element, read when a run starts.
struct LoopScalar {
  int reg = -1;
  DType dtype = DType::float32;       // as the loop reads it
  int value = -1;                     // a tensor of one element,
  int input = -1;                     // or a scalar input,
  uint64_t bits = 0;                  // or this element
  const OpRow* checked_by = nullptr;  // a scalar input that must fit `holds`, or this op raises
  DType holds = DType::float32;
};

struct LoopInstruction {
  PointwiseLoop loop = nullptr;
  ConvertLoop convert = nullptr;  // for casts, instead
  int src[3] = {-1, -1, -1};      // registers
  int dst = -1;
  int params = -1;               // index into LoopProgram::params
  RowFoldCall fold = {};         // of a whole row into one element, instead
  bool is_single = false;        // on one element for the row
  PointwiseCode code = nullptr;  // of several operations, instead of all the above
};

// Of loops that choose rows: of how many registers row_loops may be, and how many rows before they are taken rows are asked for.
inline constexpr int kMaxRowLoopRegisters = 24, kRowsAhead = 8;

inline constexpr int kMaxLoopRegisters = kMaxCodeRegisters;
inline constexpr int kMaxLoopScalars = 96;
inline constexpr int kMaxLoopRank = 32;
inline constexpr int64_t kScratchBytes = 32 * 1024;      // on the stack
inline constexpr int64_t kRowScratchBytes = 256 * 1024;  // of a loop that folds rows
inline constexpr int64_t kMaxTile = 1024;

struct LoopProgram {
  std::vector<int64_t> sizes;  // of the loop, outermost first; the last is the row, unless rows are short
  int64_t numel = 0;
  int64_t rows = 1;
  int64_t row_length = 0;
  int64_t tile = 0;  // elements; a whole row where rows are folded
  std::vector<Stream> inputs;
  std::vector<Stream> outputs;
  std::vector<LoopScalar> scalars;
  std::vector<RowChoice> choices;  // of rows: sizes are the rows and their length then
  std::vector<PackedRow> packs;
  int64_t packed_bytes = 0;
  std::vector<std::pair<int, int64_t>> scratch;  // intermediates: register, byte offset in the scratch memory
  int64_t scratch_bytes = 0;
  std::vector<LoopInstruction> code;
  std::vector<RowLoop> row_loops;                        // of a loop that chooses rows
  std::shared_ptr<const ExecutableMemory> machine_code;  // of the instructions that have any
  int machine_operations = 0;                            // that these instructions do
  int64_t code_vector_bytes = 0;                         // of theirs: the processor's choice when they were made
  std::vector<Scalar> params;
  int register_count = 0;
  bool fetches_ahead = false;  // rows are folded, and their memory is larger than a cache
  bool is_in_place = false;    // all is one tile of which nothing is copied
  double ns_per_element = 0;
  // Of a Chosen stream: one row for some rows in turn.
  bool is_shared_row(const Stream& stream) const { return choices[static_cast<size_t>(stream.choice)].index < 0; }
};

void run_loop(const LoopProgram& program, const RunState& state);

// A run whose caller chooses which elements are done when, as the order of iteration counts them.
class LoopRun {
 public:
  LoopRun(const LoopProgram& program, const RunState& state);
  // The same with the element `begin` of some values, and what follows it, in other memory. `run` must outlive it.
  LoopRun(const LoopRun& run, int64_t begin, std::span<const std::pair<int, std::byte*>> moved);
  // `rows` stretches of `length` elements, `pitch` apart. May be called by several threads for different elements.
  void run_block(int64_t begin, int64_t rows, int64_t pitch, int64_t length) const;
  // Of a loop whose elements are one tile of which nothing is copied: registers are where the values lie.
  void run_in_place();
  // Of a loop that chooses rows: the columns [column, column + length) of the rows [begin, end), in order. Rows that share
  // one are asked for together.
  void run_chosen(int64_t begin, int64_t end, int64_t column, int64_t length) const;
  LoopRun(const LoopRun&) = delete;
  LoopRun& operator=(const LoopRun&) = delete;

 private:
  void pack_rows();
  friend void run_loop(const LoopProgram& program, const RunState& state);
  const LoopProgram& program_;
  std::array<std::byte*, kMaxLoopRegisters> bases_;
  uint64_t slots_[kMaxLoopScalars];
  std::array<const int64_t*, kMaxRowChoices> indices_ = {};
  StoragePtr packed_;
};

}  // namespace md
