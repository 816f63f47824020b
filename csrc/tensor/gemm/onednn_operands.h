// Tensors in our layout and in those that primitives choose for themselves.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "tensor/gemm/onednn_engine.h"

namespace md::onednn {

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;

inline Dims row_major(const Dims& sizes) {
  Dims strides(sizes.size(), 1);
  for (size_t i = sizes.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

// Of memory whose dim 1 is the innermost one.
inline Dims channels_last(const Dims& sizes) {
  Dims moved = sizes;
  std::rotate(moved.begin() + 1, moved.begin() + 2, moved.end());
  Dims strides = row_major(moved);
  std::rotate(strides.begin() + 1, strides.end() - 1, strides.end());
  return strides;
}

// Divides one scratchpad into parts, each aligned to a cache line.
class Pieces {
 public:
  size_t add(size_t bytes) {
    size_t at = bytes_;
    bytes_ += (bytes + 63) / 64 * 64;
    return at;
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

// A tensor in our layout and in the primitive's.
struct LaidOut {
  LaidOut(const Desc& plain, const Desc& wanted, bool is_result, Pieces& pieces) : ours(plain), theirs(wanted) {
    if (ours == theirs) return;
    const Desc& from = is_result ? theirs : ours;
    const Desc& to = is_result ? ours : theirs;
    dnnl::reorder::primitive_desc desc(engine(), from, engine(), to, own_scratchpad());
    reorder = dnnl::reorder(desc);
    place = pieces.add(theirs.get_size());
    scratch = desc.scratchpad_desc();
    scratch_place = pieces.add(scratch.get_size());
  }
  bool is_reordered() const { return ours != theirs; }

  Desc ours, theirs, scratch;
  dnnl::primitive reorder;
  size_t place = 0, scratch_place = 0;
};

class Run {
 public:
  explicit Run(char* scratchpad) : scratchpad_(scratchpad) {}

  dnnl::memory memory(const Desc& desc, void* data) { return dnnl::memory(desc, engine(), data); }
  dnnl::memory piece(const Desc& desc, size_t place) { return memory(desc, scratchpad_ + place); }

  // The operand in the layout of the primitive.
  dnnl::memory loaded(const LaidOut& operand, const void* data) {
    dnnl::memory plain = memory(operand.ours, const_cast<void*>(data));
    if (!operand.is_reordered()) return plain;
    dnnl::memory own = piece(operand.theirs, operand.place);
    reorder(operand, plain, own);
    return own;
  }
  dnnl::memory result(const LaidOut& operand, void* data) {
    return operand.is_reordered() ? piece(operand.theirs, operand.place) : memory(operand.ours, data);
  }
  void stored(const LaidOut& operand, dnnl::memory& own, void* data) {
    if (!operand.is_reordered()) return;
    dnnl::memory plain = memory(operand.ours, data);
    reorder(operand, own, plain);
  }
  void execute(const dnnl::primitive& primitive, std::vector<std::pair<int, dnnl::memory>>& arguments) {
    std::vector<dnnl_exec_arg_t> args;
    for (auto& [id, argument] : arguments) args.push_back({id, argument.get()});
    check(dnnl_primitive_execute(primitive.get(), stream(), static_cast<int>(args.size()), args.data()), "execution");
  }

 private:
  void reorder(const LaidOut& operand, dnnl::memory& from, dnnl::memory& to) {
    std::vector<std::pair<int, dnnl::memory>> arguments{{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    if (operand.scratch.get_size() > 0)
      arguments.emplace_back(DNNL_ARG_SCRATCHPAD, piece(operand.scratch, operand.scratch_place));
    execute(operand.reorder, arguments);
  }

  char* scratchpad_;
};

}  // namespace md::onednn
