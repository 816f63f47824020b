#include "tensor/onednn.h"

#include <algorithm>
#include <functional>
#include <mutex>

#include "tensor/onednn_engine.h"
#include "tensor/storage.h"

namespace md {
namespace {

using namespace onednn;
using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;

// The names of the oneDNN column of pointwise.def.
constexpr auto none = dnnl::algorithm::undef;
constexpr auto eltwise_abs = dnnl::algorithm::eltwise_abs;
constexpr auto eltwise_square = dnnl::algorithm::eltwise_square;
constexpr auto eltwise_sqrt = dnnl::algorithm::eltwise_sqrt;
constexpr auto eltwise_round = dnnl::algorithm::eltwise_round;
constexpr auto eltwise_exp = dnnl::algorithm::eltwise_exp;
constexpr auto eltwise_log = dnnl::algorithm::eltwise_log;
constexpr auto eltwise_tanh = dnnl::algorithm::eltwise_tanh;
constexpr auto eltwise_logistic = dnnl::algorithm::eltwise_logistic;
constexpr auto eltwise_relu = dnnl::algorithm::eltwise_relu;
constexpr auto eltwise_relu_slope = dnnl::algorithm::eltwise_relu;
constexpr auto eltwise_gelu_erf = dnnl::algorithm::eltwise_gelu_erf;
constexpr auto eltwise_gelu_tanh = dnnl::algorithm::eltwise_gelu_tanh;
constexpr auto eltwise_swish = dnnl::algorithm::eltwise_swish;
constexpr auto eltwise_elu = dnnl::algorithm::eltwise_elu;
constexpr auto binary_add = dnnl::algorithm::binary_add;
constexpr auto binary_sub = dnnl::algorithm::binary_sub;
constexpr auto binary_mul = dnnl::algorithm::binary_mul;
constexpr auto binary_div = dnnl::algorithm::binary_div;
constexpr auto binary_max = dnnl::algorithm::binary_max;
constexpr auto binary_min = dnnl::algorithm::binary_min;

constexpr dnnl::algorithm kAlgorithms[] = {
#define MD_POINTWISE(name, arity, params, result, traits, floating, integer, boolean, onednn) onednn,
#include "tensor/pointwise.def"
#undef MD_POINTWISE
};

dnnl::algorithm algorithm(Pointwise function) { return kAlgorithms[static_cast<size_t>(function)]; }
bool is_binary(Pointwise function) { return pointwise_rows()[static_cast<size_t>(function)].arity == 2; }

// swish(x, beta) is silu at beta 1.
float alpha_of(Pointwise function, float alpha) { return function == Pointwise::silu ? 1.0f : alpha; }

dnnl::memory::desc describe(const OnednnLayout& layout) {
  // oneDNN has no tensors without dims.
  if (layout.sizes.empty()) return dnnl::memory::desc({1}, *data_type(layout.dtype), Dims{1});
  return dnnl::memory::desc(layout.sizes, *data_type(layout.dtype), layout.strides);
}

// One memory object for each argument. Executions at the same time need one set each.
struct MemorySet {
  std::vector<dnnl::memory> memories;
  std::vector<dnnl_exec_arg_t> args;
};

struct Argument {
  int id;
  dnnl::memory::desc desc;
};

// Builds the same primitive for one thread, with the same layout of packed weights.
using Rebuild = std::function<OnednnPrimitivePtr(const dnnl::memory::desc& packed_b)>;

class Primitive final : public OnednnPrimitive {
 public:
  // inputs: without the post-op operands; the scratchpad is last in a set when there is one.
  Primitive(const dnnl::primitive_desc_base& desc, dnnl::primitive primitive, std::vector<Argument> inputs, int threads)
      : primitive_(std::move(primitive)),
        inputs_(std::move(inputs)),
        dst_(desc.dst_desc()),
        scratchpad_(desc.scratchpad_desc()),
        implementation_(desc.impl_info_str()),
        threads_(threads) {}

  void execute(std::span<const void* const> inputs, void* dst, void* scratchpad) const override {
    MD_ASSERT(inputs.size() == inputs_.size(), implementation_, " needs ", inputs_.size(), " inputs, got ",
              inputs.size());
    MD_ASSERT(scratchpad != nullptr || scratchpad_bytes() == 0, "a scratchpad is missing");
    if (threads_ > 1 && is_forked_child()) return md::execute(*single_threaded(), inputs, dst);
    std::unique_ptr<MemorySet> set = check_out();
    for (size_t i = 0; i < inputs.size(); ++i) set_handle(*set, i, const_cast<void*>(inputs[i]));
    set_handle(*set, inputs.size(), dst);
    if (scratchpad_bytes() > 0) set_handle(*set, inputs.size() + 1, scratchpad);
    {
      ThreadCountScope scope(threads_);
      check(dnnl_primitive_execute(primitive_.get(), stream(), static_cast<int>(set->args.size()), set->args.data()),
            "execution");
    }
    check_in(std::move(set));
  }

  size_t scratchpad_bytes() const override { return scratchpad_.get_size(); }
  int threads() const override { return threads_; }
  std::string implementation() const override { return implementation_; }

  void set_rebuild(Rebuild rebuild) { rebuild_ = std::move(rebuild); }
  void set_packing(const dnnl::memory::desc& plain, const dnnl::memory::desc& packed) {
    plain_b_ = plain;
    packed_b_ = packed;
  }
  size_t packed_b_bytes() const override { return packed_b_.get_size(); }
  void pack_b(const void* b, void* packed) const override {
    ThreadCountScope scope(threads_);
    dnnl::memory from(plain_b_, engine(), const_cast<void*>(b));
    dnnl::memory to(packed_b_, engine(), packed);
    dnnl::stream on(engine());
    dnnl::reorder(from, to).execute(on, from, to);
    on.wait();
  }

 private:
  static void set_handle(MemorySet& set, size_t index, void* data) {
    check(dnnl_memory_set_data_handle(set.args[index].memory, data), "set_data_handle");
  }

  // oneDNN has divided the work for a number of threads that a forked child cannot have.
  OnednnPrimitivePtr single_threaded() const {
    std::lock_guard lock(mutex_);
    if (single_threaded_ == nullptr) single_threaded_ = rebuild_(packed_b_);
    MD_ASSERT(single_threaded_ != nullptr, "oneDNN has no ", implementation_, " for one thread");
    return single_threaded_;
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
    for (const Argument& input : inputs_) add(*set, input.id, input.desc);
    add(*set, DNNL_ARG_DST, dst_);
    if (scratchpad_bytes() > 0) add(*set, DNNL_ARG_SCRATCHPAD, scratchpad_);
    return set;
  }
  void check_in(std::unique_ptr<MemorySet> set) const {
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(set));
  }
  static void add(MemorySet& set, int id, const dnnl::memory::desc& desc) {
    void* no_data = DNNL_MEMORY_NONE;
    set.memories.emplace_back(desc, engine(), no_data);
    set.args.push_back({id, set.memories.back().get()});
  }

  dnnl::primitive primitive_;
  std::vector<Argument> inputs_;
  dnnl::memory::desc dst_, scratchpad_, plain_b_, packed_b_;
  std::string implementation_;
  int threads_;
  Rebuild rebuild_;
  mutable std::mutex mutex_;
  mutable OnednnPrimitivePtr single_threaded_;
  mutable std::vector<std::unique_ptr<MemorySet>> idle_;
};

dnnl::primitive_attr attributes(DType dtype, std::span<const PostOp> post_ops, std::vector<Argument>& inputs) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops list;
  int index = 0;
  for (const PostOp& op : post_ops) {
    if (is_binary(op.function)) {
      dnnl::memory::desc desc = describe({dtype, op.sizes, op.strides});
      list.append_binary(algorithm(op.function), desc);
      inputs.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(index) | DNNL_ARG_SRC_1, desc});
    } else {
      list.append_eltwise(algorithm(op.function), alpha_of(op.function, op.alpha), 0);
    }
    ++index;
  }
  attr.set_post_ops(list);
  return attr;
}

template <typename PrimitiveType, typename Desc>
std::shared_ptr<Primitive> build(const Desc& desc, std::vector<Argument> inputs, int threads,
                                 Rebuild rebuild = nullptr) {
  if (!desc || is_reference(desc)) return nullptr;
  auto primitive = std::make_shared<Primitive>(desc, PrimitiveType(desc), std::move(inputs), threads);
  primitive->set_rebuild(std::move(rebuild));
  return primitive;
}

dnnl::memory::desc matrix(dnnl::memory::data_type type, int64_t batch, int64_t rows, int64_t columns,
                          const std::array<int64_t, 3>& strides) {
  Dims sizes{strides[0] == 0 ? 1 : batch, rows, columns};
  // A dim of one has any stride; oneDNN wants one that fits.
  Dims steps{strides[0], strides[1], strides[2]};
  if (columns == 1) steps[2] = 1;
  if (rows == 1) steps[1] = steps[2] == 1 ? columns : 1;
  if (sizes[0] == 1) steps[0] = std::max(rows * steps[1], columns * steps[2]);
  return dnnl::memory::desc(sizes, type, steps);
}

// packed_b: the layout of packed weights, null to let oneDNN choose.
OnednnPrimitivePtr build_matmul(const MatmulSpec& spec, const dnnl::memory::desc* packed_b) {
  dnnl::memory::data_type type = *data_type(spec.dtype);
  dnnl::memory::desc a = matrix(type, spec.batch, spec.m, spec.k, spec.a_strides);
  dnnl::memory::desc b = matrix(type, spec.batch, spec.k, spec.n, spec.b_strides);
  dnnl::memory::desc c = matrix(type, spec.batch, spec.m, spec.n, spec.c_strides);
  dnnl::memory::desc any_b = spec.packed_b ? dnnl::memory::desc(b.get_dims(), type, Tag::any) : b;
  if (spec.packed_b && packed_b != nullptr) any_b = *packed_b;
  dnnl::memory::desc bias;
  if (spec.has_bias) bias = dnnl::memory::desc({1, 1, spec.n}, type, Dims{spec.n, spec.n, 1});
  std::vector<Argument> post_inputs;
  dnnl::primitive_attr attr = attributes(spec.dtype, spec.post_ops, post_inputs);
  dnnl::matmul::primitive_desc desc = spec.has_bias
                                          ? dnnl::matmul::primitive_desc(engine(), a, any_b, bias, c, attr, true)
                                          : dnnl::matmul::primitive_desc(engine(), a, any_b, c, attr, true);
  if (!desc) return nullptr;
  std::vector<Argument> inputs{{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, desc.weights_desc()}};
  if (spec.has_bias) inputs.push_back({DNNL_ARG_BIAS, bias});
  inputs.insert(inputs.end(), post_inputs.begin(), post_inputs.end());
  std::shared_ptr<Primitive> primitive = build<dnnl::matmul>(desc, std::move(inputs), spec.threads);
  if (primitive == nullptr) return nullptr;
  if (spec.packed_b) primitive->set_packing(b, desc.weights_desc());
  primitive->set_rebuild([spec](const dnnl::memory::desc& packed) {
    MatmulSpec single = spec;
    single.threads = 1;
    ThreadCountScope scope(1);
    return build_matmul(single, &packed);
  });
  return primitive;
}

bool all_known(std::initializer_list<const OnednnLayout*> layouts) {
  return std::all_of(layouts.begin(), layouts.end(),
                     [](const OnednnLayout* layout) { return data_type(layout->dtype).has_value(); });
}

}  // namespace

bool onednn_has_post_op(Pointwise function) { return algorithm(function) != none; }

OnednnPrimitivePtr make_matmul(const MatmulSpec& spec) {
  if (!data_type(spec.dtype)) return nullptr;
  for (int64_t size : {spec.batch, spec.m, spec.n, spec.k}) {
    if (size <= 0) return nullptr;
  }
  Key key;
  key.add('m')
      .add(spec.dtype)
      .add(spec.batch)
      .add(spec.m)
      .add(spec.n)
      .add(spec.k)
      .add(spec.has_bias)
      .add(spec.packed_b);
  key.add(std::span<const int64_t>(spec.a_strides)).add(std::span<const int64_t>(spec.b_strides));
  key.add(std::span<const int64_t>(spec.c_strides)).add(std::span(spec.post_ops)).add(spec.threads);
  return make_cached(key, spec.threads, [&] { return build_matmul(spec, nullptr); });
}

OnednnPrimitivePtr make_eltwise(Pointwise function, float alpha, const OnednnLayout& src, const OnednnLayout& dst,
                                int threads) {
  if (!all_known({&src, &dst}) || !onednn_has_post_op(function) || is_binary(function)) return nullptr;
  Key key;
  key.add('e').add(function).add(alpha).add(src).add(dst).add(threads);
  return make_cached(key, threads, [&]() -> OnednnPrimitivePtr {
    std::vector<Argument> inputs{{DNNL_ARG_SRC, describe(src)}};
    dnnl::primitive_attr attr = attributes(src.dtype, {}, inputs);
    dnnl::eltwise_forward::primitive_desc desc(engine(), dnnl::prop_kind::forward_inference, algorithm(function),
                                               describe(src), describe(dst), alpha_of(function, alpha), 0, attr, true);
    return build<dnnl::eltwise_forward>(desc, std::move(inputs), threads,
                                        [=](const auto&) { return make_eltwise(function, alpha, src, dst, 1); });
  });
}

OnednnPrimitivePtr make_binary(Pointwise function, const OnednnLayout& src0, const OnednnLayout& src1,
                               const OnednnLayout& dst, std::span<const PostOp> post_ops, int threads) {
  if (!all_known({&src0, &src1, &dst}) || !onednn_has_post_op(function) || !is_binary(function)) return nullptr;
  Key key;
  key.add('b').add(function).add(src0).add(src1).add(dst).add(post_ops).add(threads);
  return make_cached(key, threads, [&]() -> OnednnPrimitivePtr {
    std::vector<Argument> inputs{{DNNL_ARG_SRC_0, describe(src0)}, {DNNL_ARG_SRC_1, describe(src1)}};
    dnnl::primitive_attr attr = attributes(dst.dtype, post_ops, inputs);
    dnnl::binary::primitive_desc desc(engine(), algorithm(function), describe(src0), describe(src1), describe(dst),
                                      attr, true);
    return build<dnnl::binary>(desc, std::move(inputs), threads,
                               [=, ops = std::vector<PostOp>(post_ops.begin(), post_ops.end())](const auto&) {
                                 return make_binary(function, src0, src1, dst, ops, 1);
                               });
  });
}

OnednnPrimitivePtr make_softmax(bool logarithm, int axis, const OnednnLayout& src, const OnednnLayout& dst,
                                int threads) {
  if (!all_known({&src, &dst})) return nullptr;
  Key key;
  key.add('s').add(logarithm).add(axis).add(src).add(dst).add(threads);
  return make_cached(key, threads, [&]() -> OnednnPrimitivePtr {
    std::vector<Argument> inputs{{DNNL_ARG_SRC, describe(src)}};
    dnnl::primitive_attr attr = attributes(src.dtype, {}, inputs);
    auto kind = logarithm ? dnnl::algorithm::softmax_log : dnnl::algorithm::softmax_accurate;
    dnnl::softmax_forward::primitive_desc desc(engine(), dnnl::prop_kind::forward_inference, kind, describe(src),
                                               describe(dst), axis, attr, true);
    return build<dnnl::softmax_forward>(desc, std::move(inputs), threads,
                                        [=](const auto&) { return make_softmax(logarithm, axis, src, dst, 1); });
  });
}

OnednnPrimitivePtr make_reduction(OnednnReduction reduction, const OnednnLayout& src, const OnednnLayout& dst,
                                  int threads) {
  if (!all_known({&src, &dst})) return nullptr;
  constexpr dnnl::algorithm kReductions[] = {dnnl::algorithm::reduction_sum, dnnl::algorithm::reduction_mean,
                                             dnnl::algorithm::reduction_max, dnnl::algorithm::reduction_min};
  Key key;
  key.add('r').add(reduction).add(src).add(dst).add(threads);
  return make_cached(key, threads, [&]() -> OnednnPrimitivePtr {
    std::vector<Argument> inputs{{DNNL_ARG_SRC, describe(src)}};
    dnnl::primitive_attr attr = attributes(src.dtype, {}, inputs);
    dnnl::reduction::primitive_desc desc(engine(), kReductions[static_cast<size_t>(reduction)], describe(src),
                                         describe(dst), 0, 0, attr, true);
    return build<dnnl::reduction>(desc, std::move(inputs), threads,
                                  [=](const auto&) { return make_reduction(reduction, src, dst, 1); });
  });
}

void execute(const OnednnPrimitive& primitive, std::span<const void* const> inputs, void* dst) {
  size_t bytes = primitive.scratchpad_bytes();
  StoragePtr scratchpad = bytes > 0 ? Storage::allocate(bytes) : StoragePtr();
  primitive.execute(inputs, dst, scratchpad ? scratchpad->data() : nullptr);
}

}  // namespace md
