#include "frontends/indexing.h"

#include <string>
#include <utility>

#include "base/error.h"
#include "frontends/foreign_tensors.h"
#include "guards/tensor_family.h"
#include "tensor/simd/copy.h"

namespace md {
namespace {

bool is_integer_item(BorrowedRef item) {
  return !PyBool_Check(item.get()) && family_of(item) == nullptr && PyIndex_Check(item.get()) &&
         !PySequence_Check(item.get());
}

// One item of a key, parsed once: tensors, and objects converted to tensors, are needed twice.
struct Item {
  enum class Kind : uint8_t { Int, Slice, None, Ellipsis, Bool, Tensor } kind;
  BorrowedRef object;
  Tensor tensor = {};  // Tensor: int64 indices, or a bool mask
};

// Slices with negative steps.
enum class StepsBack : uint8_t { Refused, AreViews };

class IndexParser {
 public:
  IndexParser(const TensorSpec& spec, const TensorFromKey& as_tensor, StepsBack steps_back)
      : spec_(spec), as_tensor_(as_tensor), steps_back_(steps_back) {}

  IndexPlan parse(BorrowedRef key) {
    Py_ssize_t count = PyTuple_Check(key.get()) ? PyTuple_GET_SIZE(key.get()) : 1;
    std::vector<Item> items;
    int consumed = 0;
    for (Py_ssize_t i = 0; i < count; ++i) {
      items.push_back(read(PyTuple_Check(key.get()) ? PyTuple_GET_ITEM(key.get(), i) : key.get()));
      consumed += dims_of(items.back());
    }
    if (consumed > spec_.rank()) refuse_count(items);
    ellipsis_dims_ = spec_.rank() - consumed;
    for (const Item& item : items) add(item);
    if (count == 1 && items[0].kind == Item::Kind::Tensor && items[0].tensor->dtype() == DType::bool_) {
      plan_.mask = items[0].tensor;
    }
    return std::move(plan_);
  }

 private:
  [[noreturn]] void refuse_count(const std::vector<Item>& items) const {
    if (spec_.rank() == 0 && items.size() == 1 && items[0].kind == Item::Kind::Slice)
      raise(ErrorKind::Index, "slice() cannot be applied to a 0-dim tensor.");
    if (spec_.rank() == 0 && items.size() == 1 && items[0].kind == Item::Kind::Int && !items[0].tensor.defined())
      raise(ErrorKind::Index,
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
            "0-dim tensor to a number");
    raise(ErrorKind::Index, "too many indices for tensor of dimension ", spec_.rank());
  }
  static int dims_of(const Item& item) {
    switch (item.kind) {
      case Item::Kind::Int:
      case Item::Kind::Slice:
        return 1;
      case Item::Kind::Tensor:
        return item.tensor->dtype() == DType::bool_ ? item.tensor->rank() : 1;
      case Item::Kind::None:
      case Item::Kind::Ellipsis:
      case Item::Kind::Bool:
        break;
    }
    return 0;
  }

  Item read(BorrowedRef item) const {
    if (item.get() == Py_Ellipsis) return {Item::Kind::Ellipsis, item};
    if (item.get() == Py_None) return {Item::Kind::None, item};
    if (PySlice_Check(item.get())) return {Item::Kind::Slice, item};
    if (is_foreign_tensor(item) && !PyObject_CheckBuffer(item.get())) raise_foreign_tensor("__getitem__", item);
    if (is_integer_item(item)) return {Item::Kind::Int, item};
    Tensor known = tensor_of_object(item);
    bool is_bool = PyBool_Check(item.get());
    bool is_text = PyUnicode_Check(item.get()) || PyBytes_Check(item.get());
    bool becomes_tensor = known.defined() || (PySequence_Check(item.get()) && !is_text);
    if (!is_bool && !becomes_tensor) {
      raise(is_text ? ErrorKind::Type : ErrorKind::Index,
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got ",
            item.type()->tp_name, ")");
    }
    if (as_tensor_ == nullptr) {
      raise(ErrorKind::NotImplemented, "an index of type ", item.type()->tp_name, " is not captured");
    }
    if (is_bool) return {Item::Kind::Bool, item};
    Tensor tensor = known.defined() ? known : as_tensor_(item);
    bool is_planned = !known.defined() && tensor->kind() == TensorKind::Fake;
    if (is_planned) return {Item::Kind::Tensor, item, tensor};
    if (!known.defined() && tensor->numel() == 0)
      tensor = Tensor::empty(TensorSpec::contiguous(DType::int64, tensor.spec().sizes));
    return item_of_tensor(item, tensor);
  }

  // A 0-d integer tensor is a number; uint8 counts as bool.
  static Item item_of_tensor(BorrowedRef object, const Tensor& tensor) {
    if (tensor->kind() != TensorKind::Real) {
      raise(ErrorKind::NotImplemented, "indexing by a tensor whose values are not known while it is traced");
    }
    if (tensor->dtype() == DType::bool_) return {Item::Kind::Tensor, object, tensor};
    if (tensor->dtype() == DType::uint8) return {Item::Kind::Tensor, object, as_contiguous(tensor, DType::bool_)};
    if (is_inexact(tensor->dtype()) || is_unsigned(tensor->dtype())) {
      raise(ErrorKind::Index, "tensors used as indices must be long, int, byte or bool tensors");
    }
    Tensor indices = as_contiguous(tensor, DType::int64);
    return {tensor->rank() == 0 ? Item::Kind::Int : Item::Kind::Tensor, object, indices};
  }

  void add(const Item& item) {
    switch (item.kind) {
      case Item::Kind::Ellipsis:
        // A second ellipsis stands for no dims, as in torch.
        skip(std::exchange(ellipsis_dims_, 0));
        return;
      case Item::Kind::None:
        push("unsqueeze", {Scalar(int64_t{out_dim_++})});
        return;
      case Item::Kind::Slice:
        return add_slice(item.object);
      case Item::Kind::Int:
        push("select", {Scalar(int64_t{out_dim_}), Scalar(int_index(item))});
        ++in_dim_;
        return;
      case Item::Kind::Bool: {
        Tensor one = Tensor::scalar(DType::bool_, Scalar(item.object.get() == Py_True));
        return add_mask(one);
      }
      case Item::Kind::Tensor:
        if (item.tensor->dtype() == DType::bool_) return add_mask(item.tensor);
        add_indices(item.tensor);
        return skip(1);
    }
  }

  void skip(int dims) {
    in_dim_ += dims;
    out_dim_ += dims;
  }

  void add_indices(const Tensor& indices, int dims_from_here = 0) {
    plan_.indices.push_back(indices);
    plan_.dims.push_back(out_dim_ + dims_from_here);
  }

  // A mask stands for the indices of its True elements; a 0-d mask indexes a new dim of size one.
  void add_mask(const Tensor& mask) {
    static const OpRow* const nonzero = find_op("nonzero");
    if (mask->rank() == 0) {
      push("unsqueeze", {Scalar(int64_t{out_dim_})});
      int64_t count = *mask.data<bool>() ? 1 : 0;
      Tensor zeros = Tensor::empty(DType::int64, {&count, 1});
      if (count > 0) *zeros.data<int64_t>() = 0;
      add_indices(zeros);
      ++out_dim_;
      return;
    }
    for (int i = 0; i < mask->rank(); ++i) {
      if (known_equal(mask.spec().sizes[i], spec_.sizes[in_dim_ + i])) continue;
      raise(ErrorKind::Index, "The shape of the mask ", list_str(mask.spec().sizes.span()), " at index ", i,
            " does not match the shape of the indexed tensor ", list_str(spec_.sizes.span()), " at index ",
            in_dim_ + i);
    }
    Arg args[] = {mask};
    Tensor rows = run_op(*nonzero, args).at(0);
    for (int i = 0; i < mask->rank(); ++i) {
      TensorSpec column;
      column.dtype = DType::int64;
      column.sizes = DimVec({rows->sizes()[0]});
      column.strides = DimVec({int64_t{mask->rank()}});
      add_indices(Tensor::view(rows, column, i), i);
    }
    skip(mask->rank());
  }

  void add_slice(BorrowedRef slice) {
    Py_ssize_t start = 0, stop = 0, step = 0;
    check_status(PySlice_Unpack(slice, &start, &stop, &step));
    if (step < 0 && steps_back_ == StepsBack::AreViews) return add_slice_back(start, stop, step);
    if (step <= 0) raise(ErrorKind::Value, "step must be greater than zero");
    Dim size = spec_.sizes[in_dim_];
    bool reaches_end = size.is_symbolic() ? stop == PY_SSIZE_T_MAX : stop >= size.value();
    bool whole = start == 0 && step == 1 && reaches_end;
    if (!whole) {
      push("slice", {Scalar(int64_t{out_dim_}), Scalar(int64_t{start}), Scalar(int64_t{stop}), Scalar(int64_t{step})});
    }
    skip(1);
  }

  void add_slice_back(Py_ssize_t start, Py_ssize_t stop, Py_ssize_t step) {
    Arg first, end;
    if (start != PY_SSIZE_T_MAX) first = Scalar(int64_t{start});
    if (stop != PY_SSIZE_T_MIN) end = Scalar(int64_t{stop});
    push("slice", {Scalar(int64_t{out_dim_}), first, end, Scalar(int64_t{step})});
    skip(1);
  }

  static int64_t int_index(const Item& item) {
    if (item.tensor.defined()) return *item.tensor.data<int64_t>();
    Py_ssize_t index = PyNumber_AsSsize_t(item.object, PyExc_IndexError);
    if (index == -1 && PyErr_Occurred()) throw PythonError();
    return index;
  }

  void push(const char* op, const std::vector<Arg>& parameters) {
    const OpRow* row = find_op(op);
    MD_ASSERT(row != nullptr, op);
    std::vector<Arg> args(1, Tensor());  // placeholder for the value produced by the previous step
    args.insert(args.end(), parameters.begin(), parameters.end());
    plan_.steps.push_back({row, std::move(args)});
  }

  const TensorSpec& spec_;
  const TensorFromKey& as_tensor_;
  StepsBack steps_back_;
  IndexPlan plan_;
  int in_dim_ = 0;   // next dim of the indexed tensor
  int out_dim_ = 0;  // next dim of the value after the steps so far
  int ellipsis_dims_ = 0;
};

}  // namespace

IndexPlan index_plan(const TensorSpec& spec, BorrowedRef key, const TensorFromKey& as_tensor) {
  return IndexParser(spec, as_tensor, StepsBack::Refused).parse(key);
}

IndexPlan index_plan_both_ways(const TensorSpec& spec, BorrowedRef key, const TensorFromKey& as_tensor) {
  return IndexParser(spec, as_tensor, StepsBack::AreViews).parse(key);
}

}  // namespace md
