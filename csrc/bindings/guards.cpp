// GuardSet, read-only; and GuardProgram, with which tests build and run their own guards.
#include "guards/guard_memo.h"
#include "guards/guard_set.h"
#include "guards/number_code.h"

#include "bindings/bindings.h"
#include "bytecode/bytecode.h"
#include "cpython/set_table.h"
#include "guards/tensor_family.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <cctype>
#include <optional>

namespace py = pybind11;

namespace md {
namespace {

constexpr const char* kSourceKinds[] = {
#define MD_SOURCE(name, ...) #name,
#include "guards/sources.def"
#undef MD_SOURCE
};

constexpr const char* kGuardKinds[] = {
#define MD_GUARD(name, ...) #name,
#include "guards/guard_kinds.def"
#undef MD_GUARD
};

SourceKind source_kind(const std::string& text) {
  int kind = 0;
  for (const char* name : kSourceKinds) {
    if (text == name) return static_cast<SourceKind>(kind);
    ++kind;
  }
  throw py::value_error("no source kind " + text);
}

PyCodeObject* code_of(const py::object& function) {
  if (!PyFunction_Check(function.ptr())) throw py::type_error("a Python function is required");
  return reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.ptr()));
}

PyCodeObject* as_code(const py::object& code) {
  if (!PyCode_Check(code.ptr())) throw py::type_error("a code object is required");
  return reinterpret_cast<PyCodeObject*>(code.ptr());
}

PyTypeObject* as_type(const py::object& type) {
  if (!PyType_Check(type.ptr())) throw py::type_error("a type is required");
  return reinterpret_cast<PyTypeObject*>(type.ptr());
}

// (words, steps) of the memo that answered the last check; None if the program itself did, or if the guards failed.
py::object memory_of(const GuardSet& guards) {
  const GuardMemo* memory = guards.last_memory();
  return memory != nullptr ? py::object(py::make_tuple(memory->words(), memory->steps())) : py::none();
}

// Guards of one function on given slot values. Sources are identified by number.
class TestProgram : public GuardDeathListener {
 public:
  explicit TestProgram(py::object function) : function_(std::move(function)) {
    bytecode_ = Bytecode::of(code_of(function_));
  }
  void guarded_object_died() override { ++deaths_; }

  int source(const std::string& kind, std::optional<int> base, const py::object& key, int index) {
    BorrowedRef key_ref = key.is_none() ? nullptr : key.ptr();
    if (source_kind(kind) == SourceKind::StandIn)
      return guards_.sources().get(SourceKind::StandIn, nullptr, nullptr, index_of_stand_in(key_ref))->id();
    return guards_.sources().get(source_kind(kind), base ? at(*base) : nullptr, key_ref, index)->id();
  }
  int local(const std::string& name) {
    for (int slot = 0; slot < bytecode_->slot_count(); ++slot) {
      if (py::cast<std::string>(py::handle(bytecode_->slot_name(slot).get())) == name) {
        return guards_.sources().local(slot)->id();
      }
    }
    throw py::value_error("no local " + name);
  }
  int stack(int position) { return guards_.sources().local(bytecode_->slot_count() + position)->id(); }

  GuardSet& guards() { return guards_; }
  const Source* at(int id) const {
    if (id < 0 || id >= guards_.sources().size()) throw py::index_error("no such source");
    return guards_.sources()[id];
  }

  // Slots from a tuple; those in `unset` are null. The tuple keeps the objects alive.
  template <typename Use>
  auto with_view(const py::tuple& args, const std::vector<int>& unset, Use use) const {
    std::vector<PyObject*> slots;
    for (const py::handle& arg : args) slots.push_back(arg.ptr());
    for (int position : unset) slots.at(position) = nullptr;
    return use(LocalsView{slots.data(), static_cast<int>(slots.size()), function_.ptr()});
  }
  bool check(const py::tuple& args, const std::vector<int>& unset, int repeat) const {
    return with_view(args, unset, [&](const LocalsView& view) {
      bool holds = false;
      for (int i = 0; i < repeat; ++i) holds = guards_.check(view);
      return holds;
    });
  }
  std::string explain(const py::tuple& args, const std::vector<int>& unset) const {
    return with_view(args, unset, [&](const LocalsView& view) { return guards_.explain(view, *bytecode_); });
  }
  py::object fetch_source(int source, const py::tuple& args, const std::vector<int>& unset) const {
    Ref object = with_view(args, unset, [&](const LocalsView& view) { return fetch(at(source), view); });
    if (!object) throw py::key_error(name(at(source), *bytecode_));
    return py::reinterpret_steal<py::object>(object.release());
  }
  std::string source_name(int source) const { return name(at(source), *bytecode_); }
  std::vector<std::string> lines() const { return guards_.print(*bytecode_); }
  int deaths() const { return deaths_; }

 private:
  py::object function_;
  const Bytecode* bytecode_;
  int deaths_ = 0;
  GuardSet guards_;  // destroyed first: it calls the listener
};

// ---- how a test adds a guard, one function for each row of guard_kinds.def ----

void add_TENSOR_MATCH(TestProgram& program, int source, const py::object& tensor) {
  Tensor read = tensor_of_object(tensor.ptr());
  if (!read.defined()) throw py::type_error("a tensor is required");
  program.guards().tensor_match(program.at(source), Py_TYPE(tensor.ptr()), read.spec());
}
void add_TYPE_MATCH(TestProgram& program, int source, const py::object& type) {
  program.guards().type_match(program.at(source), as_type(type));
}
void add_EQUALS_MATCH(TestProgram& program, int source, const py::object& constant) {
  program.guards().equals_match(program.at(source), constant.ptr());
}
void add_ID_MATCH(TestProgram& program, int source, const py::object& object) {
  program.guards().id_match(program.at(source), object.ptr());
}
void add_CODE_MATCH(TestProgram& program, int source, const py::object& code) {
  program.guards().code_match(program.at(source), as_code(code));
}
void add_SLOT_MATCH(TestProgram& program, int source, const py::object& descriptor) {
  program.guards().slot_match(program.at(source), descriptor.ptr());
}
void add_MATCH_FLAGS(TestProgram& program, int source, const py::object& type) {
  program.guards().match_flags(program.at(source), as_type(type));
}
void add_LENGTH(TestProgram& program, int source, Py_ssize_t length) {
  program.guards().length(program.at(source), length);
}
void add_DICT_KEYS(TestProgram& program, int source, const py::tuple& keys) {
  program.guards().dict_keys(program.at(source), keys.ptr());
}
void add_SET_ITEMS(TestProgram& program, int source, const py::tuple& items) {
  program.guards().set_items(program.at(source), items.ptr());
}
void add_SET_TABLE(TestProgram& program, int source, const py::object& like) {
  program.guards().set_table(program.at(source), pv_set_fingerprint(like.ptr()));
}
void add_MRO(TestProgram& program, int source, const py::object& type) {
  program.guards().mro(program.at(source), as_type(type));
}
void add_DICT_CONTAINS(TestProgram& program, int source, const py::object& key) {
  program.guards().dict_contains(program.at(source), key.ptr(), true);
}
void add_DICT_MISSING(TestProgram& program, int source, const py::object& key) {
  program.guards().dict_contains(program.at(source), key.ptr(), false);
}
void add_PRESENT(TestProgram& program, int source) { program.guards().present(program.at(source)); }
void add_ABSENT(TestProgram& program, int source) { program.guards().absent(program.at(source)); }
void add_ALIAS(TestProgram& program, int a, int b) { program.guards().alias(program.at(a), program.at(b), true); }
void add_NOT_ALIAS(TestProgram& program, int a, int b) { program.guards().alias(program.at(a), program.at(b), false); }
void add_NO_OVERLAP(TestProgram& program, int a, int b) { program.guards().no_overlap(program.at(a), program.at(b)); }
// The first is written. More pairs than have a guard of their own.
void add_APART(TestProgram& program, int a, int b) {
  for (int i = 0; i <= GuardSet::kMostPairs; ++i) program.guards().no_overlap(program.at(a), program.at(b));
}
void add_WRITABLE(TestProgram& program, int source) { program.guards().writable(program.at(source)); }
void add_ALIGNED(TestProgram& program, int source, int64_t bytes) {
  program.guards().aligned(program.at(source), bytes);
}
// The size is below `bound`.
void add_SHAPE(TestProgram& program, int source, int dim, int64_t bound) {
  Dim size = Dim::symbol("s0", 0);
  SymbolList symbols;
  symbols.add(size);
  SizePlace place{program.at(source), dim};
  program.guards().shape(DimRelation::Less, size, bound, symbols, {&place, 1});
}
// number % divisor is `rest`.
void add_NUMBER(TestProgram& program, int source, const py::object& divisor, const py::object& rest) {
  NumberCode code;
  uint32_t number = code.add_place({program.at(source), -1});
  uint32_t by = code.add_constant(Ref::share(divisor.ptr()));
  code.add_op(ScalarOp::Remainder, {number, by});
  program.guards().number(std::move(code), rest.ptr());
}
void add_ABC_TOKEN(TestProgram& program, int source) { program.guards().abc_token(program.at(source)); }
void add_RECURSION_LIMIT(TestProgram& program) { program.guards().recursion_limit(); }
void add_TEXT_STREAM(TestProgram& program, int source) { program.guards().text_stream(program.at(source)); }
void add_GLOBAL_STATE(TestProgram& program) { program.guards().global_state(default_family()); }

// type_match for TYPE_MATCH.
std::string method_name(std::string kind) {
  std::ranges::transform(kind, kind.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return kind;
}

void bind_test_program(py::module_& testing) {
  testing.attr("GUARD_KINDS") =
      py::tuple(py::cast(std::vector<std::string>(std::begin(kGuardKinds), std::end(kGuardKinds))));
  testing.attr("SOURCE_KINDS") =
      py::tuple(py::cast(std::vector<std::string>(std::begin(kSourceKinds), std::end(kSourceKinds))));
  py::class_<TestProgram> program(testing, "GuardProgram");
#define MD_GUARD(name, ...) program.def(method_name(#name).c_str(), &add_##name);
#include "guards/guard_kinds.def"
#undef MD_GUARD
  program.def(py::init<py::object>(), py::arg("function"))
      .def("source", &TestProgram::source, py::arg("kind"), py::arg("base") = py::none(), py::arg("key") = py::none(),
           py::arg("index") = 0)
      .def("local", &TestProgram::local, py::arg("name"))
      .def("stack", &TestProgram::stack, py::arg("position"))
      .def("seal", [](TestProgram& program) { program.guards().seal(&program); })
      .def("check", &TestProgram::check, py::arg("args"), py::arg("unset") = std::vector<int>(), py::arg("repeat") = 1)
      .def("explain", &TestProgram::explain, py::arg("args"), py::arg("unset") = std::vector<int>())
      .def("fetch", &TestProgram::fetch_source, py::arg("source"), py::arg("args"),
           py::arg("unset") = std::vector<int>())
      .def("name", &TestProgram::source_name, py::arg("source"))
      .def("lines", &TestProgram::lines)
      .def("__len__", [](TestProgram& program) { return program.guards().size(); })
      .def_property_readonly("dead", [](TestProgram& program) { return program.guards().dead(); })
      .def_property_readonly("deaths", &TestProgram::deaths)
      .def_property_readonly("memory", [](TestProgram& program) { return memory_of(program.guards()); })
      .def_static(
          "can_hold", [](const py::object& object) { return GuardSet::can_hold(object.ptr()); }, py::arg("object"));
}

}  // namespace

void bind_guards(py::module_& module) {
  py::class_<GuardSet>(module, "GuardSet")
      .def("__len__", &GuardSet::size)
      .def(
          "lines",
          [](const GuardSet& guards, const py::object& code) { return guards.print(*Bytecode::of(as_code(code))); },
          py::arg("code"), "One line for each guard; `code` is the one that the region starts in.")
      .def_property_readonly("dead", &GuardSet::dead, "An object that the guards refer to is gone.");
  py::module_ testing = module.def_submodule("_testing", "What only tests use.");
  bind_test_program(testing);
}

}  // namespace md
