#include <deque>
#include <map>
#include <mutex>

#include "base/error.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/fake_views.h"
#include "tensor/ops/kernels.h"
#include "tensor/ops/op_row.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/ops/write_op.h"
#include "tensor/simd/pointwise.h"
#include "tensor/simd/room.h"

namespace md {
namespace {

OpRow make_row(const char* schema, OpKind kind, Promotion promotion, int variants, OpTraits traits, ShapeRule rule,
               Kernel kernel, Pointwise pointwise, const char* doc, const char* derivative) {
  OpRow row{};
  row.schema = parse_schema(schema);
  row.name = row.schema.name;
  row.kind = kind;
  row.promotion = promotion;
  row.variants = static_cast<uint8_t>(variants);
  row.traits = traits;
  row.shape_rule = rule;
  row.kernel = kernel;
  row.pointwise = static_cast<int>(pointwise);
  row.doc = doc;
  row.derivative = derivative;
  return row;
}

// The fast path of pointwise rows does not ask for autocast.
#define MD_OP(schema, kind, promotion, variants, traits, rule, kernel, pointwise, doc, derivative) \
  static_assert(Pointwise::pointwise == Pointwise::none ||                                         \
                (OpTraits(traits).bits & (kLowPrecision | kFullPrecision | kWidestPrecision)) == 0);
#include "tensor/ops/ops.def"
#undef MD_OP

// Rows are never freed, nor are lists returned by op_rows().
class OpTable {
 public:
  OpTable() {
    lists_.emplace_back().reserve(1024);
#define MD_OP(schema, kind, promotion, variants, traits, rule, kernel, pointwise, doc, derivative)                    \
  add(make_row(schema, OpKind::kind, Promotion::promotion, variants, traits, rule, kernel, Pointwise::pointwise, doc, \
               derivative));
#include "tensor/ops/ops.def"
#undef MD_OP
  }

  const OpRow* add(OpRow row) {
    std::lock_guard lock(mutex_);
    const OpRow* added = &rows_.emplace_back(std::move(row));
    std::vector<const OpRow*>* list = &lists_.back();
    if (list->size() == list->capacity()) {
      std::vector<const OpRow*> longer;
      longer.reserve(list->capacity() * 2);
      longer.insert(longer.end(), list->begin(), list->end());
      list = &lists_.emplace_back(std::move(longer));
    }
    list->push_back(added);
    const OpRow*& named = by_name_[added->name];
    std::vector<const OpRow*>& overloads = overloads_[std::string(python_name(*added))];
    if (named != nullptr) std::erase(overloads, named);
    overloads.push_back(added);
    named = added;
    return added;
  }

  const OpRow* find(std::string_view name) {
    std::lock_guard lock(mutex_);
    auto it = by_name_.find(name);
    return it == by_name_.end() ? nullptr : it->second;
  }

  // Without rows that are shadowed.
  std::vector<const OpRow*> overloads(std::string_view name) {
    std::lock_guard lock(mutex_);
    auto it = overloads_.find(name);
    return it == overloads_.end() ? std::vector<const OpRow*>() : it->second;
  }

  std::span<const OpRow* const> rows() {
    std::lock_guard lock(mutex_);
    return lists_.back();
  }

 private:
  std::mutex mutex_;
  std::deque<OpRow> rows_;
  std::deque<std::vector<const OpRow*>> lists_;
  std::map<std::string, const OpRow*, std::less<>> by_name_;
  std::map<std::string, std::vector<const OpRow*>, std::less<>> overloads_;  // by Python's name
};

OpTable& table() {
  static OpTable* instance = new OpTable;
  return *instance;
}

// Which kinds of tensors are among the arguments.
struct Found {
  TensorKind kind = TensorKind::Real;
  Recorder* recorder = nullptr;

  void see(const Tensor& tensor) {
    if (!tensor.defined() || tensor->kind() == TensorKind::Real) return;
    if (tensor->kind() == TensorKind::Recording) recorder = tensor.recorder();
    if (tensor->kind() > kind) kind = tensor->kind();
  }
};

Found find_kinds(std::span<const Arg> args) {
  Found found;
  for (const Arg& arg : args) {
    if (const Tensor* tensor = std::get_if<Tensor>(&arg)) {
      found.see(*tensor);
    } else if (const std::vector<Tensor>* list = std::get_if<std::vector<Tensor>>(&arg)) {
      for (const Tensor& tensor : *list) found.see(tensor);
    }
  }
  return found;
}

// Shape rules append to one vector per thread, moved out while in use because kernels may call ops.
class OutSpecs {
 public:
  OutSpecs() : specs_(std::move(spare())) { specs_.clear(); }
  ~OutSpecs() { spare() = std::move(specs_); }
  OutSpecs(const OutSpecs&) = delete;
  OutSpecs& operator=(const OutSpecs&) = delete;
  std::vector<OutSpec>& operator*() { return specs_; }

 private:
  static std::vector<OutSpec>& spare() {
    thread_local std::vector<OutSpec> vector;
    return vector;
  }
  std::vector<OutSpec> specs_;
};

const Tensor& viewed_tensor(const OpCall& call) {
  const Tensor* base = call.args.empty() ? nullptr : std::get_if<Tensor>(&call.args[0]);
  MD_ASSERT(base != nullptr && base->defined(), "the view op ", call.row.name, " needs a tensor first");
  return *base;
}

// A concatenation that needs no copy of its first operand; undefined: it does.
Tensor joined_in_room(const OpCall& call, const TensorSpec& spec) {
  const std::vector<Tensor>& parts = tensors_arg(call, 0);
  int rank = spec.rank();
  int64_t dim = int_arg(call, 1);
  return join_held(parts, static_cast<int>(dim < 0 ? dim + rank : dim), spec);
}

std::vector<Tensor> run_real(const OpCall& call, const std::vector<OutSpec>& specs) {
  if (call.row.kernel == cat_kernel)
    if (Tensor joined = joined_in_room(call, specs[0].spec); joined.defined()) return {joined};
  std::vector<Tensor> outs;
  outs.reserve(specs.size());
  bool runs_kernel = call.row.kind != OpKind::View;
  for (const OutSpec& out : specs) {
    if (call.row.kind == OpKind::View && !out.copies) {
      const Tensor& base = viewed_tensor(call);
      int64_t start = offset_in(out.spec.dtype, base->offset(), base->dtype());
      outs.push_back(Tensor::view(base, out.spec, start + out.view_offset.value()));
    } else {
      outs.push_back(Tensor::empty(out.spec));
      runs_kernel = true;
    }
  }
  if (runs_kernel) {
    MD_ASSERT(call.row.kernel != nullptr, "no kernel for ", call.row.name);
    call.row.kernel(call, outs);
  }
  return outs;
}

}  // namespace

std::span<const OpRow* const> op_rows() { return table().rows(); }
const OpRow* find_op(std::string_view name) { return table().find(name); }
const OpRow* add_op_row(OpRow row) { return table().add(std::move(row)); }

std::string_view python_name(const OpRow& row) {
  std::string_view name = row.name;
  return name.substr(0, name.find('.'));
}

std::vector<const OpRow*> op_overloads(std::string_view name) { return table().overloads(name); }

void fill_defaults(const OpRow& row, std::vector<Arg>& args) {
  for (size_t i = args.size(); i < row.schema.params.size(); ++i) {
    const Param& param = row.schema.params[i];
    if (!param.default_value) {
      raise(ErrorKind::Type, python_name(row), "() missing required argument: '", param.name, "'");
    }
    args.push_back(*param.default_value);
  }
}

namespace {

void refuse_complex(const OpRow& row, DType dtype) {
  if (!is_complex(dtype)) return;
  raise_op(ErrorKind::NotImplemented, python_name(row), "not implemented for '", scalar_type_name(dtype), "'");
}

void refuse_complex(const OpCall& call) {
  for (const Arg& arg : call.args) {
    if (const Tensor* tensor = std::get_if<Tensor>(&arg)) {
      if (tensor->defined()) refuse_complex(call.row, (*tensor)->dtype());
    } else if (const auto* tensors = std::get_if<std::vector<Tensor>>(&arg)) {
      for (const Tensor& tensor : *tensors) refuse_complex(call.row, tensor->dtype());
    } else if (const DType* dtype = std::get_if<DType>(&arg)) {
      refuse_complex(call.row, *dtype);
    }
  }
}

}  // namespace

void infer_results(const OpCall& call, std::vector<OutSpec>& outs) {
  if (!call.row.has(kTakesComplex) && call.row.kind != OpKind::HostCall) refuse_complex(call);
  call.row.shape_rule(call, outs);
}

std::vector<Tensor> run_op(const OpRow& row, std::span<const Arg> args) {
  MD_ASSERT(args.size() == row.schema.params.size(), "[", row.name, "] needs ", row.schema.params.size(),
            " arguments, got ", args.size());
  Found found = find_kinds(args);
  if (found.kind == TensorKind::Recording) return found.recorder->record(row, args);
  OpCall call{row, args};
  OutSpecs specs;
  infer_results(call, *specs);
  std::vector<Tensor> outs;
  if (found.kind == TensorKind::Fake) {
    for (const OutSpec& out : *specs) outs.push_back(Tensor::fake(out.spec));
    if (FakeViews* views = FakeViews::current()) views->made(call, *specs, outs);
    return outs;
  }
  if (row.host_call.run == nullptr) return run_real(call, *specs);
  outs.resize((*specs).size());
  row.host_call.run(row.host_call.context, call, outs);
  return outs;
}

}  // namespace md
