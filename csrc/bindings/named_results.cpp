#include "bindings/named_results.h"

#include <deque>
#include <string>
#include <unordered_map>

namespace md {
namespace {

// The descriptions point into the names, which are kept with them.
struct NamedResults {
  std::string name;
  std::deque<std::string> field_names;
  std::vector<PyStructSequence_Field> fields;
  PyTypeObject* type = nullptr;
};

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
  return made;
}

}  // namespace

PyTypeObject* named_results_type(const OpRow& row) {
  bool named = row.schema.return_names.size() > 1;
  for (const std::string& name : row.schema.return_names) named = named && !name.empty();
  if (!named) return nullptr;
  static auto* types = new std::unordered_map<const OpRow*, NamedResults*>;
  NamedResults*& known = (*types)[&row];
  if (known == nullptr) known = make(row);
  return known->type;
}

}  // namespace md
