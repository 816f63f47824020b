// What minidynamo/_families/torch.py tells of torch.
#include "frontends/torch/family.h"

#include <algorithm>

#include "base/log.h"
#include "bindings/bindings.h"
#include "bindings/table_names.h"
#include "bindings/tensor_meaning.h"
#include "frontends/library_conversions.h"
#include "frontends/tensor_conversions.h"
#include "frontends/tensor_facts.h"
#include "frontends/torch/gradients.h"
#include "frontends/torch/library.h"
#include "frontends/torch/objects.h"

namespace py = pybind11;

namespace md {
namespace {

std::vector<int64_t> numbers(const py::handle& object) {
  std::vector<int64_t> all;
  for (const py::handle& number : object) all.push_back(number.cast<int64_t>());
  return all;
}

torch::Sample sample_of(const py::dict& facts) {
  torch::Sample sample;
  sample.object = reinterpret_cast<const char*>(facts["tensor"].ptr());
  sample.impl = reinterpret_cast<const char*>(facts["impl"].cast<uintptr_t>());
  sample.sizes = numbers(facts["sizes"]);
  sample.strides = numbers(facts["strides"]);
  sample.offset = facts["offset"].cast<int64_t>();
  sample.version = facts["version"].cast<int64_t>();
  sample.keys = facts["keys"].cast<uint64_t>();
  sample.storage_data = reinterpret_cast<const void*>(facts["data"].cast<uintptr_t>());
  DType dtype = DType::float32;
  for (int i = 0; i < kDTypeCount; ++i)
    if (facts["dtype"].cast<std::string>() == row(static_cast<DType>(i)).name) dtype = static_cast<DType>(i);
  sample.dtype = torch::scalar_type(dtype);
  sample.has_history = facts["has_history"].cast<bool>();
  sample.is_inference = facts["is_inference"].cast<bool>();
  sample.is_lazy = facts["is_lazy"].cast<bool>();
  return sample;
}

// Returns why torch is no family; None: it is one.
py::object start(const py::list& samples, const py::list& types) {
  std::vector<torch::Sample> all;
  for (const py::handle& facts : samples) all.push_back(sample_of(facts.cast<py::dict>()));
  std::vector<PyTypeObject*> exact;
  for (const py::handle& type : types) exact.push_back(reinterpret_cast<PyTypeObject*>(type.ptr()));
  std::string why;
  return torch::start(all, exact, why) ? py::object(py::none()) : py::str(why);
}

uint32_t bits_of(const std::vector<std::string>& dtypes) {
  uint32_t bits = 0;
  for (const std::string& dtype : dtypes) bits |= 1u << static_cast<int>(dtype_named(dtype));
  return bits;
}

void add(const py::object& callable, const std::string& name, const std::string& kind, const py::object& operand,
         bool is_method, const std::string& layout, bool writes_self, bool counts_writes,
         const std::vector<std::string>& refused, const std::vector<std::string>& refused_results) {
  TensorCallable meaning = meaning_of(callable, name, kind, operand, is_method);
  meaning.layout = result_layout(layout);
  meaning.writes_self = writes_self;
  meaning.counts_writes = counts_writes;
  meaning.refused = bits_of(refused);
  meaning.refused_results = bits_of(refused_results);
  torch::add_callable(callable.ptr(), meaning);
}

}  // namespace

// (leaf, its node) without hooks, with one before the node, with one after it.
static bool find_accumulators(const py::tuple& plain, const py::tuple& before, const py::tuple& after) {
  auto sample = [](const py::tuple& pair) {
    return torch::AccumulatorSample{py::object(pair[0]).ptr(), py::object(pair[1]).ptr()};
  };
  return torch::find_accumulators(sample(plain), sample(before), sample(after), torch::library().accumulators);
}

static py::dict layout_words() {
  const torch::WordLayout& layout = torch::library().layout;
  py::dict words;
  words["is_known"] = layout.is_known;
  words["impl_in_object"] = layout.impl_in_object;
  words["key_set"] = layout.key_set;
  words["dims"] = layout.dims;
  words["offset"] = layout.offset;
  words["dtype"] = layout.dtype;
  words["storage"] = layout.storage;
  words["autograd"] = layout.autograd;
  words["version_counter"] = layout.version_counter;
  words["data_in_storage"] = layout.data_in_storage;
  words["checked_in_storage"] = layout.checked_in_storage;
  words["version"] = layout.version;
  return words;
}

void bind_torch(py::module_& module) {
  py::module_ torch = module.def_submodule("_torch");
  torch.def("prepare", [](const py::object& library) -> py::object {
    std::string why;
    return torch::prepare(library.ptr(), why) ? py::object(py::none()) : py::str(why);
  });
  torch.def("start", start);
  torch.def("note_inference_mode", [] { torch::library().inference_local = torch::local_keys(); });
  torch.def("add", add, py::arg("callable"), py::arg("name"), py::arg("kind"), py::arg("operand") = py::none(),
            py::kw_only(), py::arg("method") = false, py::arg("layout") = "Computed", py::arg("writes_self") = false,
            py::arg("counts_writes") = true, py::arg("refused") = std::vector<std::string>(),
            py::arg("refused_results") = std::vector<std::string>());
  torch.def("op_of", [](const py::object& callable) -> py::object {
    const TensorCallable* known = find_tensor_callable(callable.ptr());
    return known != nullptr && known->kind == TensorCallableKind::Op ? py::object(py::str(known->row->name))
                                                                     : py::none();
  });
  torch.def("name_function",
            [](const std::string& row, const std::string& path) { torch::name_function(*find_op(row), path); });
  torch.def("name_method", [](const std::string& row) { torch::name_method(*find_op(row)); });
  torch.def("set_opaque_tracer", [](const py::function& tracer) { torch::set_opaque_tracer(tracer.ptr()); });
  torch.def("set_recorder", [](const py::function& recorder) { torch::set_recorder(recorder.ptr()); });
  torch.def("set_freed_recorder", [](const py::function& recorder) { torch::set_freed_recorder(recorder.ptr()); });
  torch.def("find_accumulators", find_accumulators);
  torch.def("add_opaque_type", [](const py::type& type) { torch::add_opaque_type(type.ptr()); });
  torch.def("add_opaque_addresses", [](const py::set& addresses) { torch::add_opaque_addresses(addresses.ptr()); });
  torch.def("set_fake_maker", [](const py::function& maker) { torch::set_fake_maker(maker.ptr()); });
  torch.def("add_results", [](const py::object& own, const py::object& theirs, const py::tuple& fields) {
    std::vector<std::string> names;
    for (const py::handle& name : fields) names.push_back(name.cast<std::string>());
    torch::add_results(reinterpret_cast<PyTypeObject*>(own.ptr()), reinterpret_cast<PyTypeObject*>(theirs.ptr()),
                       names);
  });
  torch.def("layout", layout_words);
  py::list facts, conversions;
  for (const TensorFact& fact : tensor_facts())
    if (fact.is_method) facts.append(fact.name);
  for (const ConversionMethod& method : conversion_methods()) conversions.append(method.name);
  torch.attr("fact_methods") = facts;
  torch.attr("conversions") = conversions;
  module.def(
      "_add_library_conversion",
      [](const py::object& function, const py::type& from, const py::type& to) {
        const TensorFamily* source = find_family(reinterpret_cast<PyTypeObject*>(from.ptr()));
        const TensorFamily* target = find_family(reinterpret_cast<PyTypeObject*>(to.ptr()));
        if (source != nullptr && target != nullptr) add_library_conversion(function.ptr(), *source, *target);
      },
      py::arg("function"), py::arg("source"), py::arg("target"));
  module.def("_add_family_loader",
             [](const py::str& name, const py::function& loader) { add_family_loader(name.ptr(), loader.ptr()); });
  module.def("_load_families", load_families);
  module.def("_warn", [](const std::string& text) { log_warning(text); });
}

}  // namespace md
