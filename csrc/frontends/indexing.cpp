#include "frontends/indexing.h"

#include <string>
#include <utility>

#include "base/error.h"
#include "guards/tensor_type.h"

namespace md {
namespace {

class IndexParser {
 public:
  explicit IndexParser(const TensorSpec& spec) : spec_(spec) {}

  std::vector<IndexStep> parse(BorrowedRef key) {
    Py_ssize_t count = PyTuple_Check(key.get()) ? PyTuple_GET_SIZE(key.get()) : 1;
    auto item = [&](Py_ssize_t i) { return PyTuple_Check(key.get()) ? PyTuple_GET_ITEM(key.get(), i) : key.get(); };
    int consumed = 0;
    for (Py_ssize_t i = 0; i < count; ++i) consumed += consumes_dim(item(i));
    if (consumed > spec_.rank()) {
      raise(ErrorKind::Index, "too many indices for tensor of dimension ", spec_.rank());
    }
    ellipsis_dims_ = spec_.rank() - consumed;
    for (Py_ssize_t i = 0; i < count; ++i) add(item(i));
    if (steps_.empty()) push("alias", {});
    return std::move(steps_);
  }

 private:
  static bool consumes_dim(BorrowedRef item) { return item.get() != Py_None && item.get() != Py_Ellipsis; }

  void add(BorrowedRef item) {
    if (item.get() == Py_Ellipsis) {
      // A second one stands for no dims, as torch has it.
      skip(std::exchange(ellipsis_dims_, 0));
    } else if (item.get() == Py_None) {
      push("unsqueeze", {Scalar(int64_t{out_dim_++})});
    } else if (PySlice_Check(item.get())) {
      add_slice(item);
    } else {
      push("select", {Scalar(int64_t{out_dim_}), Scalar(int_index(item))});
      ++in_dim_;
    }
  }

  void skip(int dims) {
    in_dim_ += dims;
    out_dim_ += dims;
  }

  void add_slice(BorrowedRef slice) {
    Py_ssize_t start = 0, stop = 0, step = 0;
    check_status(PySlice_Unpack(slice, &start, &stop, &step));
    if (step <= 0) raise(ErrorKind::Value, "step must be greater than zero");
    Dim size = spec_.sizes[in_dim_];
    bool whole = start == 0 && step == 1 && stop >= size.hint();
    if (!whole || size.is_symbolic()) {
      push("slice", {Scalar(int64_t{out_dim_}), Scalar(int64_t{start}), Scalar(int64_t{stop}), Scalar(int64_t{step})});
    }
    skip(1);
  }

  static int64_t int_index(BorrowedRef item) {
    if (PyBool_Check(item.get()) || tensor_type_of(item) != nullptr || PyList_Check(item.get())) {
      raise(ErrorKind::NotImplemented, "Tensor.__getitem__ with an index of type ", item.type()->tp_name,
            " is not implemented: int, slice, None, Ellipsis and tuples of them are");
    }
    if (!PyIndex_Check(item.get())) {
      raise(ErrorKind::Index,
            "only integers, slices (`:`), ellipsis (`...`), None and tuples of them are valid indices (got ",
            item.type()->tp_name, ")");
    }
    Py_ssize_t index = PyNumber_AsSsize_t(item, PyExc_IndexError);
    if (index == -1 && PyErr_Occurred()) throw PythonError();
    return index;
  }

  void push(const char* op, const std::vector<Arg>& parameters) {
    const OpRow* row = find_op(op);
    MD_ASSERT(row != nullptr, op);
    std::vector<Arg> args(1, Tensor());  // the place of the value that the step before made
    args.insert(args.end(), parameters.begin(), parameters.end());
    steps_.push_back({row, std::move(args)});
  }

  const TensorSpec& spec_;
  std::vector<IndexStep> steps_;
  int in_dim_ = 0;   // next dim of the tensor that is indexed
  int out_dim_ = 0;  // next dim of the value after the steps so far
  int ellipsis_dims_ = 0;
};

}  // namespace

std::vector<IndexStep> index_steps(const TensorSpec& spec, BorrowedRef key) { return IndexParser(spec).parse(key); }

}  // namespace md
