#include "eval_frame/callable_plan.h"

#include "autograd/grad_history.h"
#include "base/error.h"
#include "cpython/errors.h"
#include "cpython/gil_scope.h"
#include "frontends/arg_binding.h"
#include "guards/object_memory.h"
#include "guards/tensor_family.h"
#include "snapshot/serving_code.h"
#include "symbolic/tensors/library_calls.h"
#include "tensor/simd/copy.h"

namespace md {
namespace {

Ref to_python(const TensorFamily& family, const GraphInput& input) {
  return input.tensor.defined() ? object_of_input(family, input.tensor) : arg_to_python(input.scalar);
}

// Whether tensors of these sizes have their elements at the same places.
bool same_places(const TensorSpec& found, const TensorSpec& expected) {
  for (int d = 0; d < found.rank(); ++d)
    if (found.sizes[d].value() == 0) return true;
  for (int d = 0; d < found.rank(); ++d)
    if (found.sizes[d].value() != 1 && !same(found.strides[d], expected.strides[d])) return false;
  return true;
}

// A callable returned by a backend. Its results are checked against the graph, because captures rely on them.
class CallablePlan : public Plan {
 public:
  CallablePlan(Ref callable, std::string backend, ShownGraph shown)
      : callable_(std::move(callable)),
        backend_(std::move(backend)),
        graph_(std::move(shown.graph)),
        family_(*shown.family) {}
  // May run on any thread, and after interpreter shutdown.
  ~CallablePlan() override {
    if (!Py_IsInitialized()) {
      callable_.release();
      return;
    }
    GilScope gil;
    ServingCode serving;
    callable_.reset();
  }

  void run(std::span<const GraphInput> inputs, std::span<Tensor> outputs) const override {
    ServingCode serving;
    RepeatableRun made_once(false);
    try {
      call(inputs, outputs);
    } catch (const Error&) {
      // A plan that throws has run nothing; this one has.
      set_error_from_current_exception();
      throw PythonError();
    }
  }
  std::string print() const override { return str_cat("call of what the backend '", backend_, "' made\n"); }
  double estimated_ns() const override { return 0; }
  bool needs_gil() const override { return true; }

 private:
  void call(std::span<const GraphInput> inputs, std::span<Tensor> outputs) const {
    std::vector<Ref> owned;
    std::vector<PyObject*> args;
    for (const GraphInput& input : inputs) args.push_back(owned.emplace_back(to_python(family_, input)).get());
    Ref result = called(args);
    if (!PyTuple_Check(result) && !PyList_Check(result)) refuse(str_cat("a ", result.type()->tp_name));
    // A copy: a list could change while its elements are checked.
    Ref values = check(PySequence_Tuple(result));
    if (static_cast<size_t>(PyTuple_GET_SIZE(values.get())) != outputs.size()) {
      refuse(str_cat(PyTuple_GET_SIZE(values.get()), " values"));
    }
    std::vector<Tensor> tensors;
    tensors.reserve(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      tensors.push_back(checked_output(i, PyTuple_GET_ITEM(values.get(), static_cast<Py_ssize_t>(i))));
    }
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = std::move(tensors[i]);
  }

  // The library records the run as a whole. The graph has the casts that autocast asked for.
  Ref called(const std::vector<PyObject*>& args) const {
    GradModes during = family_.modes();
    during.grad = during.grad && family_.recorder == nullptr;
    during.autocast.enabled = false;
    ModeSwitch mode(family_.modes, family_.set_modes, during);
    return check(PyObject_Vectorcall(callable_, args.data(), args.size(), nullptr));
  }

  [[noreturn]] void refuse(const std::string& found) const {
    raise(ErrorKind::Type, "backend '", backend_, "': its callable must return a tuple or list of ",
          graph_->outputs().size(), " tensors, not ", found);
  }

  Tensor copy_as(const Tensor& tensor, const TensorSpec& spec) const {
    Tensor copy = new_result(family_, spec);
    if (!copy.defined()) raise(ErrorKind::Memory, "backend '", backend_, "': no memory for a result");
    copy_elements(tensor, copy);
    return copy;
  }

  Tensor checked_output(size_t i, BorrowedRef value) const {
    Tensor tensor = tensor_of_result(value);
    if (!tensor.defined()) refuse(str_cat("a ", value.type()->tp_name, " at position ", i));
    const TensorSpec& expected = graph_->info(graph_->outputs()[i]).spec;
    bool fits = tensor->dtype() == expected.dtype && tensor->rank() == expected.rank();
    // A size that varies between runs is taken from the backend.
    for (int d = 0; fits && d < expected.rank(); ++d)
      fits = expected.sizes[d].is_symbolic() || same(tensor.spec().sizes[d], expected.sizes[d]);
    if (!fits) {
      raise(ErrorKind::Runtime, "backend '", backend_, "': output ", i, " must be ", expected.str(), ", not ",
            tensor.spec().str());
    }
    // The backend's own operations are not the program's.
    if (tensor.requires_grad() && !expected.requires_grad) tensor = alias_with_edge(tensor, {});
    // The program may have asked for the strides.
    if (family_.wrap == nullptr && !any_symbolic(expected.strides.span()) && !same_places(tensor.spec(), expected))
      return copy_as(tensor, expected);
    return tensor;
  }

  Ref callable_;
  std::string backend_;
  std::shared_ptr<const Graph> graph_;
  const TensorFamily& family_;
};

}  // namespace

std::shared_ptr<const Plan> callable_plan(Ref callable, std::string backend, ShownGraph graph) {
  return std::make_shared<CallablePlan>(std::move(callable), std::move(backend), std::move(graph));
}

}  // namespace md
