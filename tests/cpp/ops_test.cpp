// The op table: every row parses, has a rule and, if needed, a kernel, and rules work on fakes with symbolic sizes.
#include "tensor/ops/op_row.h"

#include <algorithm>
#include <set>

#include "check.h"
#include "graph/text.h"
#include "tensor/dim_table.h"
#include "tensor/simd/pointwise.h"
#include "tensor/tensor_modes.h"

namespace {

using namespace md;

Tensor fake(DimVec sizes, DType dtype = DType::float32) {
  return Tensor::fake(TensorSpec::contiguous(dtype, std::move(sizes)));
}

std::vector<Tensor> call(const char* name, std::vector<Arg> args) {
  const OpRow* row = find_op(name);
  if (row == nullptr) throw Error(ErrorKind::Key, name);
  fill_defaults(*row, args);
  return run_op(*row, args);
}
std::string shape(const Tensor& tensor) { return str(tensor.spec().sizes.span()); }

TEST(rows) {
  std::set<std::string> names;
  for (const OpRow* row : op_rows()) {
    CHECK(names.insert(row->name).second);
    CHECK(row->shape_rule != nullptr);
    CHECK(row->kernel != nullptr || row->kind == OpKind::View);
    CHECK(!row->doc.empty());
    CHECK(row->kind != OpKind::PointwiseBinary || row->pointwise >= 0);
    CHECK(find_op(row->name) == row);
    CHECK(std::ranges::count(op_overloads(python_name(*row)), row) == 1);
  }
  CHECK(names.size() > 120);
  CHECK(find_op("no_such_op") == nullptr);
  CHECK(op_overloads("max").size() == 3);
  CHECK(op_overloads("max")[1]->schema.return_names[1] == "indices");
}

TEST(symbolic_shapes) {
  Dim n = Dim::symbol("s0", 4);
  CHECK(shape(call("add", {fake({n, 3}), fake({3})})[0]) == "(s0, 3)");
  CHECK(shape(call("reshape", {fake({n, 3}), DimVec{-1}})[0]) == "(3*s0,)");
  CHECK(shape(call("view", {fake({n, 6}), DimVec{n, 2, -1}})[0]) == "(s0, 2, 3)");
  CHECK(shape(call("matmul", {fake({n, 3}), fake({3, 5})})[0]) == "(s0, 5)");
  CHECK(shape(call("sum", {fake({n, 3}), DimVec{-1}})[0]) == "(s0,)");
  CHECK(shape(call("cat", {std::vector<Tensor>{fake({n, 3}), fake({2, 3})}})[0]) == "(s0 + 2, 3)");
  CHECK(call("to", {fake({n}), DType::float64})[0]->dtype() == DType::float64);
}

TEST(errors) {
  CHECK_THROWS(call("add", {fake({2, 3}), fake({4})}), Error, "[add] The size of tensor a (3) must match");
  CHECK_THROWS(call("matmul", {fake({2, 3}), fake({4, 5})}), Error,
               "[matmul] last dim of self (2, 3) must equal dim -2 of other (4, 5)");
  CHECK_THROWS(call("sum", {fake({2, 3}), DimVec{5}}), Error,
               "Dimension out of range (expected to be in range of [-2, 1], but got 5)");
  CHECK_THROWS(call("neg", {fake({2}, DType::bool_)}), Error, "Negation, the `-` operator");
  CHECK_THROWS(call("zeros", {DimVec{-1}}), Error, "non-negative");
  CHECK_THROWS(call("zeros", {DimVec{int64_t{1} << 62, 4}}), Error, "overflowed");
  CHECK_THROWS(call("select", {fake({2, 3}), Scalar(int64_t{0}), Scalar(int64_t{5})}), Error,
               "index 5 is out of bounds");
  CHECK_THROWS(call("pow", {fake({2}, DType::int64), Scalar(int64_t{-1})}), Error, "negative integer powers");
}

TEST(whole_numbers) {
  Tensor largest = Tensor::scalar(DType::int64, Scalar(INT64_MAX)),
         least = Tensor::scalar(DType::int64, Scalar(INT64_MIN)),
         three = Tensor::scalar(DType::int64, Scalar(int64_t{3}));
  CHECK(get_element(call("checked_add", {largest, Scalar(int64_t{-1})})[0], 0).as_int() == INT64_MAX - 1);
  CHECK(get_element(call("checked_sub", {least, least})[0], 0).as_int() == 0);
  CHECK(get_element(call("checked_mul", {largest, Scalar(int64_t{-1})})[0], 0).as_int() == -INT64_MAX);
  CHECK(get_element(call("checked_div", {three, Scalar(int64_t{2})})[0], 0).as_double() == 1.5);
  CHECK_THROWS(call("checked_div", {three, Scalar(int64_t{0})}), Error, "not that of two floats");
  CHECK_THROWS(call("checked_div", {largest, Scalar(int64_t{2})}), Error, "not that of two floats");
  CHECK_THROWS(call("checked_add", {largest, Scalar(int64_t{1})}), Error, "more than 64 bits");
  CHECK_THROWS(call("checked_sub", {least, Scalar(int64_t{1})}), Error, "more than 64 bits");
  CHECK_THROWS(call("checked_mul", {least, Scalar(int64_t{-1})}), Error, "more than 64 bits");
  CHECK_THROWS(call("checked_mul", {fake({2}, DType::int64), Scalar(int64_t{2})}), Error, "tensors of no dims");
}

TEST(dims_die_with_their_table) {
  int before = dim_table_count();
  std::shared_ptr<const void> kept;
  Dim n = 0;
  {
    DimTableScope scope;
    CHECK(scope.table() == nullptr);
    n = Dim::symbol("s0", 4);
    Dim twice = n * 2;
    CHECK((twice + 1).str() == "2*s0 + 1" && same(twice, n + n) && twice.hint() == 8);
    kept = scope.table();
    CHECK(dim_table_count() == before + 1);
  }
  // Symbols with the same name in two scopes are different.
  DimTableScope other;
  Dim m = Dim::symbol("s0", 4);
  CHECK(!same(m, n) && (n * 3).str() == "3*s0");
  kept = nullptr;
  CHECK(dim_table_count() == before + 1);
  CHECK_THROWS(n.str(), Error, "outlived its capture");
}

}  // namespace
