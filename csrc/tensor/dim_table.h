// Ownership of the expression tables of symbolic dims.
#pragma once
#include <memory>

#include "tensor/dim.h"

namespace md {

namespace dim_expressions {
struct Expressions;
}

// Owns the symbols that a thread creates during its lifetime; symbols created without a scope are never freed. Whoever
// stores dims with such symbols must own the table.
class DimTableScope {
 public:
  DimTableScope();
  ~DimTableScope();
  DimTableScope(const DimTableScope&) = delete;
  // Null if no symbol was created.
  std::shared_ptr<const void> table() const { return table_; }
  // The table of the innermost scope, created on first use; without a scope the permanent one.
  static dim_expressions::Expressions& current();

 private:
  std::shared_ptr<dim_expressions::Expressions> table_;
  DimTableScope* outer_;
};

// Number of live tables, for tests.
int dim_table_count();

}  // namespace md
