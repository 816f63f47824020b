// Marks that Python code sets on callables, and support for functions that are called while tracing.
#include "symbolic/tensors/traced_calls.h"

#include <pybind11/stl.h>

#include "base/config.h"
#include "bindings/bindings.h"
#include "cpython/traceback.h"
#include "eval_frame/check_captures.h"
#include "frontends/dtype_object.h"
#include "frontends/minidynamo/tensor_object.h"
#include "guards/object_memory.h"
#include "symbolic/calls/marked_calls.h"
#include "symbolic/values/no_warnings.h"
#include "tensor/memory_overlap.h"
#include "tensor/ops/fake_views.h"

namespace py = pybind11;

namespace md {

namespace {

// Existing captures were made without the mark: they are invalidated.
void mark(const py::object& callable, const std::string& name, const py::object& payload) {
  mark_call(callable.ptr(), call_mark_named(name), payload.is_none() ? nullptr : payload.ptr());
  renew_config_fingerprints();
}

void mark_new(const py::object& callable, const std::string& name, const py::object& payload) {
  mark_call(callable.ptr(), call_mark_named(name), payload.is_none() ? nullptr : payload.ptr());
}

void unmark(const py::object& callable) {
  unmark_call(callable.ptr());
  renew_config_fingerprints();
}

std::vector<Tensor> tensors_of(const py::list& list) {
  std::vector<Tensor> tensors;
  for (py::handle item : list) {
    if (!is_tensor(item.ptr())) raise(ErrorKind::Type, "a Tensor is expected, not ", Py_TYPE(item.ptr())->tp_name);
    tensors.push_back(tensor_of(item.ptr()));
  }
  return tensors;
}

py::list call_out(const std::string& name, const py::object& run, const py::list& tensors, const py::list& like,
                  const std::vector<int>& written, bool may_raise) {
  for (int at : written)
    if (at < 0 || static_cast<size_t>(at) >= tensors.size()) raise(ErrorKind::Index, "no tensor has the position ", at);
  py::list results;
  for (Tensor& tensor : record_host_call(name, run.ptr(), tensors_of(tensors), tensors_of(like), written, may_raise))
    results.append(py::reinterpret_steal<py::object>(wrap_tensor(std::move(tensor)).release()));
  return results;
}

// What the function returns, and whether it has warned, which is not heard: a call ahead of execution.
py::tuple call_without_warnings(const py::object& function, const py::tuple& positional, const py::dict& keywords) {
  NoWarnings silence(NoWarnings::Instead::Return);
  Ref result = check(PyObject_Call(function.ptr(), positional.ptr(), keywords.ptr()));
  return py::make_tuple(py::reinterpret_steal<py::object>(result.release()), silence.met());
}

bool came_from(const py::object& exception, const py::object& function) {
  return came_from_library(exception.ptr(), function.ptr());
}

py::list library_call(const std::string& name, const py::object& function, const py::tuple& positional,
                      const py::dict& keywords, const py::object& result, bool repeatable,
                      const py::object& generator) {
  py::list results;
  BorrowedRef drawn_from = generator.is_none() ? nullptr : generator.ptr();
  for (Tensor& tensor : record_library_call(name, function.ptr(), positional.ptr(), keywords.ptr(), result.ptr(),
                                            repeatable, drawn_from))
    results.append(py::reinterpret_steal<py::object>(wrap_tensor(std::move(tensor)).release()));
  return results;
}

py::object example(const py::object& tensor) {
  if (!is_tensor(tensor.ptr()) || tensor_of(tensor.ptr())->kind() != TensorKind::Recording)
    raise(ErrorKind::Type, "a recording tensor is expected");
  return py::reinterpret_steal<py::object>(example_of(tensor_of(tensor.ptr())).release());
}

bool is_recording(const py::object& object) {
  return is_tensor(object.ptr()) && tensor_of(object.ptr())->kind() == TensorKind::Recording;
}

// A tensor without data, of the same dtype and shape, on which operations compute only these.
py::object fake_of(const py::object& tensor) {
  if (!is_tensor(tensor.ptr())) raise(ErrorKind::Type, "a Tensor is expected");
  return py::reinterpret_steal<py::object>(wrap_tensor(Tensor::fake(tensor_of(tensor.ptr()).spec())).release());
}

// A tensor without data.
py::object fake(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, const py::object& dtype) {
  std::optional<DType> known = dtype_from_python(dtype.ptr());
  if (!known) raise(ErrorKind::Type, "a dtype is expected, not ", Py_TYPE(dtype.ptr())->tp_name);
  TensorSpec spec{*known, {}, {}, false};
  for (int64_t size : sizes) spec.sizes.push_back(size);
  for (int64_t stride : strides) spec.strides.push_back(stride);
  return py::reinterpret_steal<py::object>(wrap_tensor(Tensor::fake(spec)).release());
}

// One of ours over the memory of another library's tensor that is itself to become a result; None: that is not
// captured.
py::object own_result(const py::object& object) {
  Tensor tensor = tensor_of_result(object.ptr());
  if (!tensor.defined()) return py::none();
  return py::reinterpret_steal<py::object>(wrap_tensor(std::move(tensor)).release());
}

// For writes that none of our operations made.
void note_written(const py::object& tensor) {
  if (!is_tensor(tensor.ptr())) raise(ErrorKind::Type, "a Tensor is expected");
  const Tensor& written = tensor_of(tensor.ptr());
  if (const StoragePtr& storage = written->storage()) storage->bump_version();
  FakeViews* views = FakeViews::current();
  if (views != nullptr && written->kind() == TensorKind::Fake) views->written(written);
}

// Whether they have the same elements at the same addresses.
bool is_one_window(const py::object& a, const py::object& b) {
  const Tensor &first = tensor_of(a.ptr()), &second = tensor_of(b.ptr());
  bool are_real = first->kind() == TensorKind::Real && second->kind() == TensorKind::Real;
  return are_real && first->storage().get() == second->storage().get() && is_same_view(first, second);
}

struct Views {
  std::vector<ViewCall> calls;
};

py::object viewed(const Views& views, const py::object& tensor) {
  if (views.calls.empty()) return tensor;
  return py::reinterpret_steal<py::object>(wrap_tensor(apply_views(views.calls, tensor_of(tensor.ptr()))).release());
}

// Records what a function does with fakes.
py::object watch(FakeViews& views, const py::object& function, const py::args& args, const py::kwargs& kwargs) {
  FakeViewsScope scope(&views);
  return function(*args, **kwargs);
}

void bind_fake_views(py::module_& module) {
  py::class_<Views>(module, "_Views")
      .def("of", &viewed, "The same views of another tensor.")
      .def("__len__", [](const Views& self) { return self.calls.size(); });
  py::class_<FakeViews>(module, "_FakeViews")
      .def(py::init<>())
      .def("watch", &watch, "Calls the function; what it does with fakes is noted.")
      .def(
          "root",
          [](const FakeViews& self, const py::object& fake) {
            return reinterpret_cast<uintptr_t>(self.root(tensor_of(fake.ptr())).impl());
          },
          "A number for what the fake is a view of, or for the fake.")
      .def("views",
           [](const FakeViews& self, const py::object& fake) { return Views{self.views(tensor_of(fake.ptr()))}; })
      .def(
          "root_tensor",
          [](const FakeViews& self, const py::object& fake) {
            return py::reinterpret_steal<py::object>(wrap_tensor(self.root(tensor_of(fake.ptr()))).release());
          },
          "What the fake is a view of.")
      .def("is_written",
           [](const FakeViews& self, const py::object& fake) { return self.is_written(tensor_of(fake.ptr())); });
}

// Whether two tensors share memory.
bool shares_storage(const py::object& a, const py::object& b) {
  if (!is_tensor(a.ptr()) || !is_tensor(b.ptr())) return false;
  const Tensor &first = tensor_of(a.ptr()), &second = tensor_of(b.ptr());
  return first->storage().get() != nullptr && first->storage().get() == second->storage().get();
}

// Address and bytes of the memory that a tensor is a view of; the address permits writes by others.
std::pair<uintptr_t, size_t> storage_of(const py::object& object) {
  if (!is_tensor(object.ptr())) raise(ErrorKind::Type, "_storage_of(): expected a tensor");
  const Tensor& tensor = tensor_of(object.ptr());
  if (tensor->kind() != TensorKind::Real) raise(ErrorKind::Runtime, "a tensor without data has no storage");
  tensor->storage()->mark_shared_with_outside();
  return {reinterpret_cast<uintptr_t>(tensor->storage()->data()), tensor->storage()->nbytes()};
}

}  // namespace

void bind_traced_calls(py::module_& module) {
  module.def("_mark_call", &mark, py::arg("callable"), py::arg("mark"), py::arg("payload") = py::none());
  module.def("_mark_new_call", &mark_new, py::arg("callable"), py::arg("mark"), py::arg("payload") = py::none());
  module.def("_unmark_call", &unmark);
  module.def("_call_mark", [](const py::object& callable) {
    const MarkedCall* marked = find_marked_call(callable.ptr());
    return marked == nullptr ? -1 : static_cast<int>(marked->mark);
  });
  // Eager Python that stands in for captured code gives the same answer as captured code.
  module.def("_is_tracing", [] { return is_tracing() || CheckedPython::in_progress(); });
  module.def("_record_call_out", &call_out, py::arg("name"), py::arg("run"), py::arg("tensors"), py::arg("like"),
             py::arg("written") = std::vector<int>(), py::arg("may_raise") = true);
  module.def("_record_library_call", &library_call, py::arg("name"), py::arg("function"), py::arg("positional"),
             py::arg("keywords"), py::arg("result"), py::arg("repeatable"), py::arg("generator") = py::none());
  module.def("_call_without_warnings", &call_without_warnings, py::arg("function"), py::arg("positional"),
             py::arg("keywords"));
  module.def("_came_from_library", &came_from, py::arg("exception"), py::arg("function"));
  module.def("_example_of", &example);
  module.def("_note_written", &note_written);
  module.def("_is_recording", &is_recording);
  module.def("_is_fake", [](const py::object& object) {
    return is_tensor(object.ptr()) && tensor_of(object.ptr())->kind() == TensorKind::Fake;
  });
  module.def("_fake_of", &fake_of);
  module.def("_fake", &fake, py::arg("sizes"), py::arg("strides"), py::arg("dtype"));
  module.def("_own_result", &own_result);
  module.def("_shares_storage", &shares_storage);
  module.def("_storage_of", &storage_of);
  module.def("_is_one_window", &is_one_window);
  bind_fake_views(module);
}

}  // namespace md
