#include "bindings/tensor_meaning.h"

#include "bindings/table_names.h"
#include "frontends/tensor_conversions.h"
#include "frontends/tensor_facts.h"

namespace py = pybind11;

namespace md {
namespace {

template <typename Table>
auto* found_by_name(const Table& table, const std::string& name) {
  for (const auto& row : table)
    if (name == row.name) return &row;
  raise(ErrorKind::Key, "no row is named ", name);
}

}  // namespace

TensorCallable meaning_of(const py::object& callable, const std::string& name, const std::string& kind,
                          const py::object& operand, bool is_method) {
  TensorCallable meaning{.kind = tensor_callable_kind(kind), .name = kept_name(name)};
  meaning.form = is_method ? CallForm::Method : CallForm::Function;
  switch (meaning.kind) {
    case TensorCallableKind::Op:
    case TensorCallableKind::InPlaceOp:
      meaning.row = find_op(operand.cast<std::string>());
      MD_ASSERT(meaning.row != nullptr, "no op is named ", operand.cast<std::string>());
      meaning.function = Py_NewRef(callable.ptr());
      break;
    case TensorCallableKind::Fact:
      meaning.fact = found_by_name(tensor_facts(), operand.cast<std::string>());
      break;
    case TensorCallableKind::Conversion:
      meaning.conversion = found_by_name(conversion_methods(), operand.cast<std::string>());
      break;
    case TensorCallableKind::StandIn:
    case TensorCallableKind::Rewritten:
    case TensorCallableKind::Constant:
    case TensorCallableKind::Overrides:
      meaning.function = Py_NewRef(operand.ptr());
      break;
    case TensorCallableKind::Asked:
    case TensorCallableKind::HostCall:
      meaning.function = Py_NewRef(callable.ptr());
      break;
    case TensorCallableKind::Converted:
      meaning.function = Py_NewRef(callable.ptr());
      meaning.refusal = TensorRefusal::Memory;
      break;
    case TensorCallableKind::AutocastBlock:
      meaning.blocks = operand.cast<int>();
      break;
    case TensorCallableKind::Breaks:
      meaning.refusal = tensor_refusal(operand.cast<std::string>());
      break;
    case TensorCallableKind::Element:
    case TensorCallableKind::Elements:
      meaning.refusal = meaning.kind == TensorCallableKind::Element ? TensorRefusal::Number : TensorRefusal::List;
      break;
    case TensorCallableKind::Writable:
    case TensorCallableKind::Sizes:
    case TensorCallableKind::CountOfSizes:
    case TensorCallableKind::State:
    case TensorCallableKind::GradMode:
    case TensorCallableKind::SetGradMode:
      break;
  }
  return meaning;
}

}  // namespace md
