// Matrix products by oneDNN, single-threaded.
#include <algorithm>
#include <mutex>

#include "tensor/gemm/gemm.h"
#include "tensor/gemm/narrowed_matmul.h"
#include "tensor/gemm/onednn_engine.h"
#include "tensor/gemm/packed_gemm.h"
#include "tensor/gemm/widened_primitive.h"
#include "tensor/storage.h"

namespace md {
namespace {

using namespace onednn;
using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;

// One memory object per argument. Concurrent executions need one set each.
struct MemorySet {
  std::vector<dnnl::memory> memories;
  std::vector<dnnl_exec_arg_t> args;
};

class Matmul final : public OnednnPacking {
 public:
  // The scratchpad, if any, is the last argument.
  Matmul(const dnnl::matmul::primitive_desc& desc, const Desc& bias, const Desc& plain_b)
      : primitive_(desc),
        arguments_{{DNNL_ARG_SRC, desc.src_desc()}, {DNNL_ARG_WEIGHTS, desc.weights_desc()}},
        scratchpad_(desc.scratchpad_desc()),
        plain_b_(plain_b),
        implementation_(str_cat("oneDNN ", desc.impl_info_str())) {
    if (!bias.is_zero()) arguments_.push_back({DNNL_ARG_BIAS, bias});
    arguments_.push_back({DNNL_ARG_DST, desc.dst_desc()});
    if (scratchpad_bytes() > 0) arguments_.push_back({DNNL_ARG_SCRATCHPAD, scratchpad_});
  }

  void execute(std::span<const void* const> inputs, void* dst, void* scratchpad) const override {
    size_t expected = arguments_.size() - (scratchpad_bytes() > 0 ? 2 : 1);
    MD_ASSERT(inputs.size() == expected, implementation_, " needs ", expected, " inputs, got ", inputs.size());
    MD_ASSERT(scratchpad != nullptr || scratchpad_bytes() == 0, "a scratchpad is missing");
    std::unique_ptr<MemorySet> set = check_out();
    for (size_t i = 0; i < inputs.size(); ++i) set_handle(*set, i, const_cast<void*>(inputs[i]));
    set_handle(*set, inputs.size(), dst);
    if (scratchpad_bytes() > 0) set_handle(*set, inputs.size() + 1, scratchpad);
    {
      ThreadCountScope scope(1);
      check(dnnl_primitive_execute(primitive_.get(), stream(), static_cast<int>(set->args.size()), set->args.data()),
            "execution");
    }
    check_in(std::move(set));
  }

  size_t scratchpad_bytes() const override { return scratchpad_.get_size(); }
  std::string implementation() const override { return implementation_; }

  size_t packed_bytes() const override { return packed_b().get_size(); }
  std::string packed_layout() const override { return layout_text(plain_b_) + layout_text(packed_b()); }
  void pack(const void* b, void* packed) const override {
    ThreadCountScope scope(1);
    dnnl::memory from(plain_b_, engine(), const_cast<void*>(b));
    dnnl::memory to(packed_b(), engine(), packed);
    dnnl::stream on(engine());
    dnnl::reorder(from, to).execute(on, from, to);
    on.wait();
  }

 private:
  struct Argument {
    int id;
    Desc desc;
  };

  const Desc& packed_b() const { return arguments_[1].desc; }

  static void set_handle(MemorySet& set, size_t index, void* data) {
    check(dnnl_memory_set_data_handle(set.args[index].memory, data), "set_data_handle");
  }

  std::unique_ptr<MemorySet> check_out() const {
    {
      std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<MemorySet> set = std::move(idle_.back());
        idle_.pop_back();
        return set;
      }
    }
    auto set = std::make_unique<MemorySet>();
    for (const Argument& argument : arguments_) {
      void* no_data = DNNL_MEMORY_NONE;
      set->memories.emplace_back(argument.desc, engine(), no_data);
      set->args.push_back({argument.id, set->memories.back().get()});
    }
    return set;
  }
  void check_in(std::unique_ptr<MemorySet> set) const {
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(set));
  }

  dnnl::matmul primitive_;
  std::vector<Argument> arguments_;
  Desc scratchpad_, plain_b_;
  std::string implementation_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<MemorySet>> idle_;
};

Desc matrix(dnnl::memory::data_type type, int64_t batch, int64_t rows, int64_t columns,
            const std::array<int64_t, 3>& strides) {
  Dims sizes{strides[0] == 0 ? 1 : batch, rows, columns};
  // A dim of size one may have any stride; oneDNN requires a consistent one.
  Dims steps{strides[0], strides[1], strides[2]};
  if (columns == 1) steps[2] = 1;
  if (rows == 1) steps[1] = steps[2] == 1 ? columns : 1;
  if (sizes[0] == 1) steps[0] = std::max(rows * steps[1], columns * steps[2]);
  return Desc(sizes, type, steps);
}

struct MatmulTypes {
  dnnl::memory::data_type a, b, c;  // the bias is as c
};
MatmulTypes types_of(const MatmulSpec& spec) {
  using Type = dnnl::memory::data_type;
  switch (spec.precision) {
    case Precision::Float32:
      break;
    case Precision::BFloat16:
      return {Type::bf16, Type::bf16, Type::f32};
    case Precision::Int8:
      return {Type::u8, Type::s8, Type::s32};
  }
  Type type = *data_type(spec.dtype);
  return {type, type, type};
}

OnednnPrimitivePtr build(const MatmulSpec& spec) {
  MatmulTypes types = types_of(spec);
  Desc a = matrix(types.a, spec.batch, spec.m, spec.k, spec.a_strides);
  Desc b = matrix(types.b, spec.batch, spec.k, spec.n, spec.b_strides);
  Desc c = matrix(types.c, spec.batch, spec.m, spec.n, spec.c_strides);
  Desc wanted_b = spec.packs_weights ? Desc(b.get_dims(), types.b, dnnl::memory::format_tag::any) : b;
  Desc bias = spec.has_bias ? Desc({1, 1, spec.n}, types.c, Dims{spec.n, spec.n, 1}) : Desc();
  dnnl::matmul::primitive_desc desc =
      spec.has_bias ? dnnl::matmul::primitive_desc(engine(), a, wanted_b, bias, c, own_scratchpad(), true)
                    : dnnl::matmul::primitive_desc(engine(), a, wanted_b, c, own_scratchpad(), true);
  if (!desc || is_reference(desc)) return nullptr;
  bool copies_weights =
      spec.precision == Precision::Float32 && std::string_view(desc.impl_info_str()).starts_with("gemm");
  OnednnPackingPtr own = copies_weights ? make_packed_gemm(spec) : nullptr;
  return own ? own : std::make_shared<Matmul>(desc, bias, b);
}

OnednnPackingPtr find_or_build(const MatmulSpec& spec, Key& key) {
  key.add('m').add(spec.dtype).add(spec.precision).add(spec.batch).add(spec.m).add(spec.n).add(spec.k);
  key.add(spec.has_bias).add(spec.packs_weights);
  key.add(std::span<const int64_t>(spec.a_strides)).add(std::span<const int64_t>(spec.b_strides));
  key.add(std::span<const int64_t>(spec.c_strides));
  return make_cached(key, [&] { return build(spec); });
}

}  // namespace

OnednnPackingPtr make_matmul(const MatmulSpec& spec) {
  if (!data_type(spec.dtype)) return nullptr;
  for (int64_t size : {spec.batch, spec.m, spec.n, spec.k}) {
    if (size <= 0) return nullptr;
  }
  if (spec.precision != Precision::Float32) return make_narrowed_matmul(spec);
  OnednnPackingPtr own = gemm_replaces_onednn() ? make_packed_gemm(spec) : nullptr;
  if (own) return own;
  Key key;
  OnednnPackingPtr made = find_or_build(spec, key);
  return made ? made : make_cached(key.add(kWidened), [&] { return make_widened_matmul(spec); });
}

OnednnPackingPtr make_narrow_matmul(const MatmulSpec& spec) {
  Key key;
  return find_or_build(spec, key);
}

}  // namespace md
