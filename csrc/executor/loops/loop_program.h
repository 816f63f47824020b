// The program of a fused pointwise step: registers, instructions on them, and the iteration order.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "executor/loops/row_reductions.h"
#include "executor/run_state.h"
#include "machine_code/executable_memory.h"
#include "machine_code/pointwise_code.h"
#include "tensor/ops/op_row.h"
#include "tensor/prefetch.h"
#include "tensor/simd/loops.h"

namespace md {

// How the elements of a stream are accessed in one tile.
enum class StreamAccess : uint8_t {
  Linear,     // contiguous in iteration order
  RowLinear,  // contiguous inside a row
  RowScalar,  // one element per row; also results of a loop that reduces rows
  Strided,    // constant stride inside a row: copied to a tile first (results: from it)
  Walked,     // short rows: copied element by element across row ends
  Chosen,     // an indexed row per row of the loop: LoopProgram::choices
  Turned,     // in the order of a roll's result, Linear: copied to a tile first, LoopProgram::turns
};

// The index that selects a tensor row for each row of the loop.
struct RowChoice {
  int index = -1;      // value: one int64 per row of the loop, negative counts from the end; -1:
  int64_t repeat = 1;  // this many consecutive rows of the loop share a row
  int64_t extent = 0;  // number of rows of the tensor
};
inline constexpr size_t kMaxRowChoices = 8;

// How the elements of a roll's result, in their order, follow from those of its operand.
struct Turn {
  std::vector<int64_t> sizes, strides;  // of the operand, by dim
  std::vector<int64_t> shifts;          // from 0 to the size: what is moved past the last element comes first
};

// A tensor read or written by the loop.
struct Stream {
  int value = -1;
  int reg = -1;
  StreamAccess access = StreamAccess::Linear;
  int64_t tile_offset = 0;  // of a copied one: byte offset of its tile in scratch memory
  uint8_t item_size = 4;
  int choice = -1;                    // Chosen: index into LoopProgram::choices
  int turn = -1;                      // Turned: index into LoopProgram::turns
  bool follows = false;               // addressed by machine code relative to another stream
  int64_t offset = 0;                 // of its first element from the value's first element, in elements
  std::vector<int64_t> strides = {};  // in elements, by dimension of the loop
};

inline bool is_copied(const Stream& stream) {
  return stream.access == StreamAccess::Strided || stream.access == StreamAccess::Walked ||
         stream.access == StreamAccess::Turned;
}

// A stream whose row is packed when a run starts.
struct PackedRow {
  int reg = -1;
  int64_t stride = 1;  // of the elements
  uint8_t item_size = 4;
  int64_t place = 0;  // byte offset in the packed memory
};

// Room for an element of any dtype.
using LoopElement = std::array<uint64_t, 2>;

// A single element, read when a run starts.
struct LoopScalar {
  int reg = -1;
  DType dtype = DType::float32;       // as read by the loop
  int value = -1;                     // a tensor of one element,
  int input = -1;                     // or a scalar input,
  LoopElement bits = {};              // or this element
  const OpRow* checked_by = nullptr;  // a scalar input that must fit `holds`, else this op raises
  DType holds = DType::float32;
};

struct LoopInstruction {
  PointwiseLoop loop = nullptr;
  ConvertLoop convert = nullptr;  // for casts, instead
  int src[3] = {-1, -1, -1};      // registers
  int dst = -1;
  int params = -1;               // index into LoopProgram::params
  RowReductionCall fold = {};    // reduces a whole row to one element, instead
  bool is_single = false;        // applies to one element per row
  PointwiseCode code = nullptr;  // of several operations, instead of all the above
};

// Of loops with indexed rows: limit of registers for row_loops, and the prefetch distance in rows.
inline constexpr int kMaxRowLoopRegisters = 24, kRowsAhead = 8;

inline constexpr int kMaxLoopRegisters = kMaxCodeRegisters;
inline constexpr int kMaxLoopScalars = 96;
inline constexpr int kMaxLoopRank = 32;
inline constexpr int64_t kScratchBytes = 32 * 1024;      // on the stack
inline constexpr int64_t kRowScratchBytes = 256 * 1024;  // of a loop that reduces rows
inline constexpr int64_t kMaxTile = 1024;

struct LoopProgram {
  std::vector<int64_t> sizes;  // of the loop, outermost first; the last is the row, unless rows are short
  int64_t numel = 0;
  int64_t rows = 1;
  int64_t row_length = 0;
  int64_t tile = 0;  // elements; a whole row if rows are reduced
  std::vector<Stream> inputs;
  std::vector<Stream> outputs;
  std::vector<LoopScalar> scalars;
  std::vector<RowChoice> choices;  // indexed rows: `sizes` are then the rows and their length
  std::vector<Turn> turns;
  std::vector<PackedRow> packs;
  int64_t packed_bytes = 0;
  std::vector<std::pair<int, int64_t>> scratch;  // intermediates: register, byte offset in scratch memory
  int64_t scratch_bytes = 0;
  std::vector<LoopInstruction> code;
  std::vector<RowLoop> row_loops;                        // of a loop with indexed rows
  std::shared_ptr<const ExecutableMemory> machine_code;  // of the instructions that have any
  int machine_operations = 0;                            // number of operations of these instructions
  int64_t code_vector_bytes = 0;                         // their vector length, selected for the processor at lowering
  std::vector<Scalar> params;
  int register_count = 0;
  bool fetches_ahead = false;  // reduces rows, and their memory exceeds the cache
  bool is_in_place = false;    // a single tile without copies
  double ns_per_element = 0;
  size_t machine_code_nbytes() const { return machine_code == nullptr ? 0 : machine_code->nbytes(); }
  // Of a Chosen stream: consecutive loop rows share one tensor row.
  bool is_shared_row(const Stream& stream) const { return choices[static_cast<size_t>(stream.choice)].index < 0; }
};

void run_loop(const LoopProgram& program, const RunState& state);

// A run in which the caller chooses when which elements, numbered in iteration order, are computed.
class LoopRun {
 public:
  LoopRun(const LoopProgram& program, const RunState& state);
  // The same, but the elements from `begin` on of some values are in other memory. `run` must outlive it.
  LoopRun(const LoopRun& run, int64_t begin, std::span<const std::pair<int, std::byte*>> moved);
  // `rows` ranges of `length` elements, `pitch` apart. Threads may call it concurrently for disjoint elements.
  void run_block(int64_t begin, int64_t rows, int64_t pitch, int64_t length) const;
  // For a loop with a single tile and no copies: registers address the values directly.
  void run_in_place();
  // For a loop with indexed rows: the columns [column, column + length) of the rows [begin, end), in order. Rows that
  // share a tensor row must be processed in one call.
  void run_chosen(int64_t begin, int64_t end, int64_t column, int64_t length) const;
  LoopRun(const LoopRun&) = delete;
  LoopRun& operator=(const LoopRun&) = delete;

 private:
  void pack_rows();
  friend void run_loop(const LoopProgram& program, const RunState& state);
  const LoopProgram& program_;
  std::array<std::byte*, kMaxLoopRegisters> bases_;
  LoopElement slots_[kMaxLoopScalars];
  std::array<const int64_t*, kMaxRowChoices> indices_ = {};
  StoragePtr packed_;
};

}  // namespace md
