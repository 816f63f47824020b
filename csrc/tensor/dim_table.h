// Who owns the expressions that symbolic dims are.
#pragma once
#include <memory>

#include "tensor/dim.h"

namespace md {

namespace dim_expressions {
struct Expressions;
}

// What the symbols that a thread makes while it exists belong to; without one they are never freed. Whoever keeps dims over
// those symbols keeps the table.
class DimTableScope {
 public:
  DimTableScope();
  ~DimTableScope();
  DimTableScope(const DimTableScope&) = delete;
  // Null: no symbol was made.
  std::shared_ptr<const void> table() const { return table_; }
  // The innermost scope's, made when first asked for; the lasting one without a scope.
  static dim_expressions::Expressions& current();

 private:
  std::shared_ptr<dim_expressions::Expressions> table_;
  DimTableScope* outer_;
};

// Tables that there are, for tests.
int dim_table_count();

}  // namespace md
