#include "frontends/tensor_language.h"

#include "frontends/operators.h"
#include "frontends/tensor_facts.h"

namespace md {

TensorAttributes common_attributes() {
  TensorAttributes rows{{"shape", {.kind = TensorAttribute::Kind::Shape}}};
  for (const TensorFact& fact : tensor_facts())
    if (!fact.is_method) rows.emplace(fact.name, TensorAttribute{.kind = TensorAttribute::Kind::Fact, .fact = &fact});
  for (const ViewAttribute& view : view_attributes())
    rows.emplace(view.name, TensorAttribute{.kind = TensorAttribute::Kind::View, .row = find_op(view.op)});
  return rows;
}

const TensorAttribute* find_attribute(const TensorAttributes& rows, std::string_view name) {
  auto found = rows.find(name);
  return found == rows.end() ? nullptr : &found->second;
}

void TensorCallables::add(BorrowedRef callable, const TensorCallable& meaning) {
  if (by_callable_.try_emplace(callable.get(), meaning).second) Ref::share(callable).release();
}

void TensorCallables::call_as_it_is(BorrowedRef callable) {
  auto found = by_callable_.find(callable.get());
  if (found != by_callable_.end()) found->second.as_it_is = callable.get();
}

const TensorCallable* TensorCallables::find(PyObject* callable) const {
  auto found = by_callable_.find(callable);
  return found == by_callable_.end() ? nullptr : &found->second;
}

}  // namespace md
