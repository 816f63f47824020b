#include "eval_frame/library_history.h"

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "cpython/errors.h"
#include "cpython/tuples.h"
#include "eval_frame/gil_release.h"
#include "guards/object_memory.h"
#include "tensor/parallel/threads.h"

namespace md {
namespace {

constexpr int kNone = -1;

// What the library's node knows of a run. It keeps the tensors itself, in the order in which it was given them.
struct RecordedRun {
  const TensorFamily* family;
  std::shared_ptr<GradientPlan> plan;
  std::vector<Scalar> scalars;                   // by input
  std::vector<int> saved_inputs, saved_outputs;  // by input, by output: which of the saved tensors; or kNone
  std::vector<size_t> inputs, outputs;           // of the node: which inputs and outputs they are

  Ref backward(BorrowedRef saved, BorrowedRef gradients) const;
  // What the callable of a backend did not return.
  std::vector<Tensor> compute_again(std::span<const GraphInput> values, bool creates_graph) const;
};

// Results are computed in memory of the library.
class LibraryHost : public RunHost {
 public:
  explicit LibraryHost(const TensorFamily& family) : family_(family) {}
  Tensor allocate(size_t, const TensorSpec& spec) override { return new_result(family_, spec); }
  void commit() override {}

 private:
  const TensorFamily& family_;
};

std::vector<Tensor> run_for(const TensorFamily& family, const Plan& plan, std::span<const GraphInput> inputs,
                            size_t outputs) {
  std::vector<Tensor> results(outputs);
  ThreadLimitScope threads(family.thread_count != nullptr ? family.thread_count() : 0);
  LibraryHost host(family);
  GilRelease release(is_long(plan));
  plan.run_into(inputs, results, host);
  return results;
}

Tensor tensor_in(const TensorFamily& family, BorrowedRef tuple, size_t at) {
  PyObject* object = PyTuple_GET_ITEM(tuple.get(), static_cast<Py_ssize_t>(at));
  if (object == Py_None) return {};
  TensorView view;
  view.refusal = "is no tensor of the library";
  const TensorFamily* found = family_of(object);
  if (found != &family || !read_view(family, object, view))
    raise(ErrorKind::Runtime, "the backward of a compiled function was given a tensor that ", view.refusal);
  return hold(family, object);
}

// Gradients of gradients: the run of the backward is recorded itself.
std::vector<Tensor> run_recorded(const TensorFamily& family, GradientPlan::Backward& backward,
                                 std::span<const GraphInput> inputs) {
  size_t own = backward.gradients.graph->outputs().size();
  std::shared_ptr<GradientPlan> again = GradientPlan::again_for(backward, inputs);
  if (again == nullptr) return run_for(family, GradientPlan::plan_of(backward), inputs, own);
  size_t count = again->forward()->outputs().size();
  std::vector<Tensor> results = run_for(family, again->forward_plan(), inputs, count);
  std::vector<const TensorFamily*> families(count, &family);
  move_shared_outputs(families, results);
  record_run(family, again, inputs, results);
  results.resize(own);
  return results;
}

// By input of the node; None where no gradient arrives.
Ref gradients_of_node(const RecordedRun& run, const GradientGraph& graph, std::vector<Tensor> results) {
  std::vector<Ref> objects(results.size());
  Ref tuple = check(PyTuple_New(static_cast<Py_ssize_t>(run.inputs.size())));
  for (size_t i = 0; i < run.inputs.size(); ++i) {
    int output = graph.outputs[run.inputs[i]];
    Ref object = Ref::share(Py_None);
    if (output >= 0) {
      auto at = static_cast<size_t>(output);
      if (!objects[at]) objects[at] = object_of_input(*run.family, results[at]);
      object = objects[at];
    }
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), object.release());
  }
  return tuple;
}

std::vector<Tensor> RecordedRun::compute_again(std::span<const GraphInput> values, bool creates_graph) const {
  if (creates_graph)
    raise(ErrorKind::Runtime,
          "gradients of gradients are not computed where the backend of compile() is a callable: its results have no "
          "history inside");
  return run_for(*family, plan->forward_plan(), values, plan->forward()->outputs().size());
}

Ref RecordedRun::backward(BorrowedRef saved, BorrowedRef given) const {
  std::vector<GraphInput> values(scalars.size());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i].scalar = scalars[i];
    if (saved_inputs[i] != kNone) values[i].tensor = tensor_in(*family, saved, static_cast<size_t>(saved_inputs[i]));
  }
  bool creates_graph = family->modes().records_gradient();
  size_t count = plan->forward()->outputs().size();
  std::vector<Tensor> results(count), gradients(count);
  if (!plan->saves()) results = compute_again(values, creates_graph);
  for (size_t i = 0; i < saved_outputs.size(); ++i)
    if (saved_outputs[i] != kNone) results[i] = tensor_in(*family, saved, static_cast<size_t>(saved_outputs[i]));
  for (size_t i = 0; i < outputs.size(); ++i) gradients[outputs[i]] = tensor_in(*family, given, i);
  std::shared_ptr<GradientPlan::Backward> known = plan->backward_for(values, gradients);
  GradientPlan::Backward& found = *known;
  std::vector<GraphInput> inputs_of_plan = GradientPlan::inputs_of(found, values, results, gradients);
  std::vector<Tensor> computed = creates_graph ? run_recorded(*family, found, inputs_of_plan)
                                               : run_for(*family, GradientPlan::plan_of(found), inputs_of_plan,
                                                         found.gradients.graph->outputs().size());
  return gradients_of_node(*this, found.gradients, std::move(computed));
}

constexpr char kCapsule[] = "minidynamo.recorded_run";

// backward(saved, gradients): two tuples of tensors; of gradients, each may be None.
PyObject* run_backward(PyObject* capsule, PyObject* const* args, Py_ssize_t count) {
  try {
    const auto* run = static_cast<const RecordedRun*>(PyCapsule_GetPointer(capsule, kCapsule));
    if (run == nullptr) return nullptr;
    bool is_called_rightly = count == 2 && PyTuple_Check(args[0]) && PyTuple_Check(args[1]) &&
                             PyTuple_GET_SIZE(args[1]) == static_cast<Py_ssize_t>(run->outputs.size());
    if (!is_called_rightly)
      raise(ErrorKind::Type, "backward() of a compiled function takes saved tensors and gradients");
    return run->backward(args[0], args[1]).release();
  } catch (...) {
    set_error_from_current_exception();
    return nullptr;
  }
}

PyMethodDef backward_method = {"backward", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(run_backward)),
                               METH_FASTCALL, nullptr};

void delete_run(PyObject* capsule) { delete static_cast<RecordedRun*>(PyCapsule_GetPointer(capsule, kCapsule)); }

Ref backward_function(std::unique_ptr<RecordedRun> run) {
  Ref capsule = check(PyCapsule_New(run.get(), kCapsule, delete_run));
  std::ignore = run.release();  // the capsule owns it
  return check(PyCFunction_New(&backward_method, capsule));
}

// Collects what the library's node is made of.
class Recording {
 public:
  Recording(const TensorFamily& family, const std::shared_ptr<GradientPlan>& plan, std::span<const GraphInput> inputs,
            std::span<Tensor> outputs)
      : family_(family), graph_(*plan->forward()), inputs_(inputs), outputs_(outputs) {
    run_->family = &family;
    run_->plan = plan;
    run_->saved_inputs.assign(inputs.size(), kNone);
    run_->saved_outputs.assign(outputs.size(), kNone);
    for (const GraphInput& input : inputs) run_->scalars.push_back(input.scalar);
  }

  void add_inputs(const InputsBefore& before) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Node& node = *graph_.inputs()[i];
      if (node.kind != NodeKind::TensorInput) continue;
      bool is_reached = run_->plan->reaches(i), is_saved = run_->plan->reads_input(i);
      if (!is_reached && !is_saved) continue;
      Ref object = object_of_input(family_, inputs_[i].tensor);
      if (is_saved) {
        auto copy = std::ranges::find(before, i, &InputsBefore::value_type::first);
        save(run_->saved_inputs[i], copy == before.end() ? object : object_of_result(family_, copy->second));
      }
      if (!is_reached) continue;
      run_->inputs.push_back(i);
      node_inputs_.push_back(std::move(object));
    }
  }

  // Those of their own first: others are views of them, or of inputs.
  void add_outputs(std::span<const int> writes) {
    std::vector<size_t> parts;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (!run_->plan->has_history(i) && !run_->plan->reads_output(i)) continue;
      if (!is_in_object(outputs_[i])) outputs_[i] = in_new_object(family_, outputs_[i]);
      if (i < writes.size()) count_writes(family_, object_around(outputs_[i]), writes[i]);
      if (is_new_object(family_, outputs_[i]))
        add_result(i);
      else
        parts.push_back(i);
    }
    for (size_t i : parts) add_part(i);
  }

  void record() {
    if (node_outputs_.empty()) return;
    std::vector<Ref> arguments{backward_function(std::move(run_)), tuple_of(saved_), tuple_of(node_outputs_)};
    arguments.insert(arguments.end(), node_inputs_.begin(), node_inputs_.end());
    std::vector<PyObject*> borrowed(arguments.begin(), arguments.end());
    // The program may have switched its grad mode on inside the region, or off.
    ModeSwitch mode(family_.modes, family_.set_modes, true);
    check(PyObject_Vectorcall(family_.recorder(), borrowed.data(), borrowed.size(), nullptr));
  }

 private:
  bool is_result(BorrowedRef object) const {
    return std::ranges::any_of(node_outputs_, [&](const Ref& each) { return each.get() == object.get(); });
  }

  void add_result(size_t i) {
    Ref object = Ref::share(object_around(outputs_[i]));
    if (run_->plan->reads_output(i)) save(run_->saved_outputs[i], object);
    // Of two equal outputs the second is a view of the first.
    if (!run_->plan->has_history(i) || is_result(object)) return;
    run_->outputs.push_back(i);
    node_outputs_.push_back(std::move(object));
  }

  void add_part(size_t i) {
    bool has_history = run_->plan->has_history(i), is_read = run_->plan->reads_output(i);
    bool is_of_result = is_result(object_around(outputs_[i]));
    bool is_of_input = std::ranges::any_of(inputs_, [&](const GraphInput& input) {
      return input.tensor.defined() && object_around(input.tensor).get() == object_around(outputs_[i]).get();
    });
    // The library has no history yet of views of results; what is read in gradients of gradients has one.
    if (has_history && (!is_of_input || is_of_result) && (is_read || !is_of_result)) {
      outputs_[i] = in_new_object(family_, outputs_[i]);
      return add_result(i);
    }
    if (is_read) save(run_->saved_outputs[i], object_of_result(family_, outputs_[i]));
  }

  void save(int& place, const Ref& object) {
    place = static_cast<int>(saved_.size());
    saved_.push_back(object);
  }

  const TensorFamily& family_;
  const Graph& graph_;
  std::span<const GraphInput> inputs_;
  std::span<Tensor> outputs_;
  std::unique_ptr<RecordedRun> run_ = std::make_unique<RecordedRun>();
  std::vector<Ref> saved_, node_inputs_, node_outputs_;
};

}  // namespace

InputsBefore inputs_before(const TensorFamily& family, const GradientPlan& plan, std::span<const GraphInput> inputs,
                           std::span<const InputWrite> writes) {
  InputsBefore before;
  for (const InputWrite& write : writes) {
    auto input = static_cast<size_t>(write.input);
    if (plan.reads_input(input)) before.emplace_back(input, in_new_object(family, inputs[input].tensor));
  }
  return before;
}

void record_run(const TensorFamily& family, const std::shared_ptr<GradientPlan>& plan,
                std::span<const GraphInput> inputs, std::span<Tensor> outputs, const InputsBefore& before,
                std::span<const int> writes) {
  Recording recording(family, plan, inputs, outputs);
  recording.add_inputs(before);
  recording.add_outputs(writes);
  recording.record();
}

}  // namespace md
