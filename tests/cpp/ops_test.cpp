// The op table: every row parses, has a rule and a kernel where it needs one, and rules work on fakes with symbolic sizes.
#include "tensor/op_row.h"

#include <set>

#include "check.h"
#include "tensor/pointwise.h"
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

void test_rows() {
  std::set<std::string> names;
  for (const OpRow* row : op_rows()) {
    CHECK(names.insert(row->name).second);
    CHECK(row->shape_rule != nullptr);
    CHECK(row->kernel != nullptr || row->kind == OpKind::View);
    CHECK(!row->doc.empty());
    CHECK(row->kind != OpKind::PointwiseBinary || row->pointwise >= 0);
    CHECK(find_op(row->name) == row);
  }
  CHECK(names.size() > 120);
  CHECK(find_op("no_such_op") == nullptr);
  CHECK(op_overloads("max").size() == 3);
  CHECK(op_overloads("max")[1]->schema.return_names[1] == "indices");
}

void test_symbolic_shapes() {
  Dim n = Dim::symbol("s0", 4);
  CHECK(shape(call("add", {fake({n, 3}), fake({3})})[0]) == "(s0, 3)");
  CHECK(shape(call("reshape", {fake({n, 3}), DimVec{-1}})[0]) == "(3*s0,)");
  CHECK(shape(call("view", {fake({n, 6}), DimVec{n, 2, -1}})[0]) == "(s0, 2, 3)");
  CHECK(shape(call("matmul", {fake({n, 3}), fake({3, 5})})[0]) == "(s0, 5)");
  CHECK(shape(call("sum", {fake({n, 3}), DimVec{-1}})[0]) == "(s0,)");
  CHECK(shape(call("cat", {std::vector<Tensor>{fake({n, 3}), fake({2, 3})}})[0]) == "(s0 + 2, 3)");
  CHECK(call("to", {fake({n}), DType::float64})[0]->dtype() == DType::float64);
}

void test_errors() {
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

}  // namespace

int main() {
  test_rows();
  test_symbolic_shapes();
  test_errors();
  return md_test::result();
}
