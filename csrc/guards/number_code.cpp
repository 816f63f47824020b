#include "guards/number_code.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "cpython/no_collections.h"
#include "cpython/text.h"
#include "guards/constants.h"

namespace md {

namespace {

bool is_number(PyObject* object) {
  return PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyBool_Check(object);
}

Ref number_at(const SizePlace& place, PyObject* object) {
  if (place.dim == SizePlace::kNumber) return is_number(object) ? Ref::share(object) : Ref();
  std::optional<int64_t> size = read_size(place, object);
  return size ? Ref::steal(PyLong_FromLongLong(*size)) : Ref();
}

Ref size_of(const NumberStep& step, std::span<const Ref> values) {
  std::vector<int64_t> sizes;
  for (uint32_t operand : step.operands) {
    int overflow = 0;
    bool is_whole = PyLong_CheckExact(values[operand].get());
    long long size = is_whole ? PyLong_AsLongLongAndOverflow(values[operand], &overflow) : 0;
    if (!is_whole || overflow != 0) return nullptr;
    sizes.push_back(size);
  }
  std::optional<int64_t> result = step.size.evaluate(sizes);
  return result ? Ref::steal(PyLong_FromLongLong(*result)) : Ref();
}

bool same(const NumberStep& a, const NumberStep& b) {
  bool same_constants = a.constant.get() == b.constant.get() ||
                        (a.constant && b.constant && is_guardable_constant(a.constant.get()) &&
                         is_guardable_constant(b.constant.get()) && identical_constants(a.constant, b.constant));
  return a.kind == b.kind && same_constants && a.place == b.place && a.size_text == b.size_text && a.op == b.op &&
         a.operands == b.operands;
}

std::string text_of_constant(BorrowedRef constant) {
  return PyCFunction_Check(constant.get()) || Py_IS_TYPE(constant.get(), &PyMethodDescr_Type)
             ? text_of(check(PyObject_GetAttrString(constant, "__name__")))
             : repr_constant(constant);
}

}  // namespace

uint32_t NumberCode::add(NumberStep step) {
  steps_.push_back(std::move(step));
  return static_cast<uint32_t>(steps_.size() - 1);
}

uint32_t NumberCode::add_constant(Ref constant) {
  return add({.kind = NumberStepKind::Constant, .constant = std::move(constant)});
}

uint32_t NumberCode::add_place(const SizePlace& place) {
  auto known = std::ranges::find(places_, place);
  auto index = static_cast<uint32_t>(known - places_.begin());
  if (known == places_.end()) places_.push_back(place);
  return add({.kind = NumberStepKind::Place, .place = index});
}

uint32_t NumberCode::add_size(Dim dim, const SymbolList& symbols, std::vector<uint32_t> operands) {
  return add({.kind = NumberStepKind::Size,
              .size = DimCode(dim, symbols),
              .size_text = dim.str(),
              .operands = std::move(operands)});
}

uint32_t NumberCode::add_op(ScalarOp op, std::vector<uint32_t> operands) {
  return add({.kind = NumberStepKind::Op, .op = op, .operands = std::move(operands)});
}

Ref NumberCode::evaluate(const NumberStep& step, std::span<const Ref> values,
                         std::span<PyObject* const> objects) const {
  switch (step.kind) {
    case NumberStepKind::Constant:
      return step.constant;
    case NumberStepKind::Place:
      return number_at(places_[step.place], objects[step.place]);
    case NumberStepKind::Size:
      return size_of(step, values);
    case NumberStepKind::Op: {
      std::vector<PyObject*> operands;
      for (uint32_t operand : step.operands) operands.push_back(values[operand].get());
      return compute(step.op, operands);
    }
  }
  return nullptr;
}

Ref NumberCode::evaluate(std::span<PyObject* const> objects) const {
  NoCollections none;
  std::vector<Ref> values;
  values.reserve(steps_.size());
  try {
    for (const NumberStep& step : steps_) {
      values.push_back(evaluate(step, values, objects));
      if (values.back()) continue;
      PyErr_Clear();
      return nullptr;
    }
  } catch (const PythonError&) {
    PyErr_Clear();
    return nullptr;
  }
  return std::move(values.back());
}

std::string NumberCode::text(const NumberStep& step, std::span<const std::string> places) const {
  std::vector<std::string> operands;
  for (uint32_t operand : step.operands) operands.push_back(text(steps_[operand], places));
  switch (step.kind) {
    case NumberStepKind::Constant:
      return text_of_constant(step.constant);
    case NumberStepKind::Place:
      return places[step.place];
    case NumberStepKind::Size: {
      std::string sizes;
      for (const std::string& operand : operands) sizes += (sizes.empty() ? "" : ", ") + operand;
      return str_cat(step.size_text, " of ", sizes);
    }
    case NumberStepKind::Op:
      return scalar_op_text(step.op, operands);
  }
  return "";
}

std::string NumberCode::text(std::span<const std::string> places) const { return text(steps_.back(), places); }

bool same(const NumberCode& a, const NumberCode& b) {
  return a.places_ == b.places_ &&
         std::ranges::equal(a.steps_, b.steps_, [](const NumberStep& x, const NumberStep& y) { return same(x, y); });
}

}  // namespace md
