#include "guards/return_types.h"

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

namespace md {
namespace {

// The descriptions point into the names, which are stored with them.
struct NamedResults {
  std::string name;
  std::deque<std::string> field_names;
  std::vector<PyStructSequence_Field> fields;
  PyTypeObject* type = nullptr;
};

// Both are filled under the GIL and never destroyed.
std::unordered_map<const OpRow*, NamedResults*>& by_row() {
  static auto* types = new std::unordered_map<const OpRow*, NamedResults*>;
  return *types;
}
std::unordered_map<PyTypeObject*, const NamedResults*>& by_type() {
  static auto* types = new std::unordered_map<PyTypeObject*, const NamedResults*>;
  return *types;
}

// One result per line, as torch prints them.
PyObject* repr(PyObject* self) {
  try {
    const NamedResults& results = *by_type().at(Py_TYPE(self));
    std::string text = results.name + "(";
    for (size_t i = 0; i < results.field_names.size(); ++i) {
      Ref item = check(PyObject_Repr(PyTuple_GET_ITEM(self, static_cast<Py_ssize_t>(i))));
      const char* item_text = PyUnicode_AsUTF8(item);
      if (item_text == nullptr) return nullptr;
      text += str_cat(i == 0 ? "\n" : ",\n", results.field_names[i], "=", item_text);
    }
    text += ")";
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  } catch (const PythonError&) {
    return nullptr;
  }
}

NamedResults* make(const OpRow& row) {
  auto* made = new NamedResults;
  made->name = str_cat("minidynamo.return_types.", python_name(row));
  for (const std::string& field : row.schema.return_names) {
    made->fields.push_back({made->field_names.emplace_back(field).c_str(), nullptr});
  }
  made->fields.push_back({nullptr, nullptr});
  PyStructSequence_Desc description = {made->name.c_str(), nullptr, made->fields.data(),
                                       static_cast<int>(row.schema.return_names.size())};
  made->type = PyStructSequence_NewType(&description);
  if (made->type == nullptr) throw PythonError();
  made->type->tp_repr = repr;
  by_type()[made->type] = made;
  return made;
}

}  // namespace

PyTypeObject* return_type_of(const OpRow& row) {
  bool named = row.schema.return_names.size() > 1;
  for (const std::string& name : row.schema.return_names) named = named && !name.empty();
  if (!named) return nullptr;
  NamedResults*& known = by_row()[&row];
  if (known == nullptr) known = make(row);
  return known->type;
}

void add_return_type(PyTypeObject* type, PyTypeObject* own) {
  if (by_type().try_emplace(type, by_type().at(own)).second) Py_INCREF(type);
}

void add_return_type(PyTypeObject* type, const std::vector<std::string>& names) {
  if (by_type().contains(type)) return;
  auto* results = new NamedResults;
  for (const std::string& name : names) results->field_names.push_back(name);
  results->type = type;
  by_type()[type] = results;
  Py_INCREF(type);
}

bool is_return_type(PyTypeObject* type) { return by_type().contains(type); }

std::optional<int> return_field(PyTypeObject* type, BorrowedRef name) {
  auto found = by_type().find(type);
  if (found == by_type().end()) return std::nullopt;
  const auto& names = found->second->field_names;
  for (size_t i = 0; i < names.size(); ++i)
    if (PyUnicode_CompareWithASCIIString(name, names[i].c_str()) == 0) return static_cast<int>(i);
  return std::nullopt;
}

Ref make_returned(PyTypeObject* type, BorrowedRef tuple) {
  return check(PyObject_CallOneArg(reinterpret_cast<PyObject*>(type), tuple));
}

}  // namespace md
