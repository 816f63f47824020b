// torch as it is loaded in this process: its C functions, found by name, and where its objects have their words.
// Nothing is linked. torch's libraries are loaded RTLD_LOCAL, so a handle is looked for by the library's name.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>

#include "cpython/ref.h"
#include "tensor/dtype.h"

namespace md::torch {

// An at::Tensor, which is one pointer to a TensorImpl: a handle of torch's C shim is its address.
using TensorHandle = void*;

// torch's C shim (torch/csrc/inductor/aoti_torch/c/shim.h), stable across its versions. Each returns 0, or fails.
struct Shim {
  int32_t (*data_ptr)(TensorHandle, void**);  // for writing: copies what is copied on write
  int32_t (*dtype)(TensorHandle, int32_t*);
  int32_t (*rank)(TensorHandle, int64_t*);
  int32_t (*sizes)(TensorHandle, int64_t**);
  int32_t (*strides)(TensorHandle, int64_t**);
  int32_t (*storage_offset)(TensorHandle, int64_t*);
  int32_t (*empty_strided)(int64_t rank, const int64_t* sizes, const int64_t* strides, int32_t dtype,
                           int32_t device_type, int32_t device_index, TensorHandle*);
  int32_t (*delete_tensor)(TensorHandle);
  bool (*grad_mode)();
  void (*set_grad_mode)(bool);
};

// C++ functions without a C face, by their symbols: each takes and returns plain words.
struct Functions {
  PyObject* (*wrap)(TensorHandle);          // THPVariable_Wrap(const at::TensorBase&): a new reference
  bool (*requires_grad)(const void* impl);  // c10::TensorImpl::requires_grad() const
  bool (*inference_mode)();                 // c10::InferenceMode::is_enabled()
  int64_t (*function_modes)();              // at::impl::PythonTorchFunctionTLS::stack_len()
  int (*functions_disabled)();              // ... get_disabled_state()
  int8_t (*default_dtype)();                // c10::get_default_dtype_as_scalartype()
  void* (*context)();                       // at::globalContext()
  bool (*deterministic)(const void*);       // at::Context::deterministicAlgorithms() const
  int (*thread_count)();                    // at::get_num_threads()
  int8_t (*autocast_dtype)(int8_t device);  // at::autocast::get_autocast_dtype()
  bool (*keeps_casts)();                    // ... is_autocast_cache_enabled()
  int (*enter_autocast_block)();            // ... increment_nesting(): the new number
  int (*leave_autocast_block)();            // ... decrement_nesting()
};

// What autograd keeps with a tensor, by functions without a C face that take and return words. Optional: where one is
// missing, gradients are torch's alone.
struct GradientFunctions {
  const void* const* (*gradient)(const void* impl);  // c10::TensorImpl::grad() const: an at::Tensor
  const void* (*node)(TensorHandle);                 // impl::grad_fn_unsafe(): null for a leaf
  const void* (*as_view)(TensorHandle);              // impl::get_view_autograd_meta(): null if it is no view
  bool (*views_base)(TensorHandle);                  // TensorBase::is_view() const: it has a base
  const void* const* (*base)(TensorHandle);          // TensorBase::_base() const: an at::Tensor
  const void* (*hooks)(TensorHandle);                // impl::hooks(): a std::vector
  const void* (*later_hooks)(TensorHandle);          // impl::post_acc_grad_hooks(): a std::unique_ptr
  // AutogradMeta::grad_dtype() const: a std::optional<ScalarType>, the type below the flag. Null: as the tensor's.
  uint16_t (*dtype)(const void* autograd, TensorHandle);
  const void* (*saved_tensor_hooks)();  // at::SavedTensorDefaultHooks::get_tls_state(): a std::stack first
  const bool* anomaly_mode;             // AnomalyMode::_enabled
  bool are_known = false;
};

// Where a leaf has the node that adds to its gradient, and where that has its hooks; found as WordLayout is.
struct AccumulatorLayout {
  bool is_known = false;
  int node = -1;  // of the words of `autograd`: a pointer, null or to a node that may be at its end
  int hooks_before = -1, hooks_after = -1;  // std::vectors of a node
};

// Where torch's objects have their words, in bytes; found by looking for known values (layout.h).
struct WordLayout {
  bool is_known = false;    // false: the functions of the shim read tensors
  int impl_in_object = -1;  // the at::Tensor of a Python object
  int key_set = -1;         // from here on of a TensorImpl
  int dims = -1;            // the rank, then sizes and strides, or a pointer to them
  int offset = -1;          // of the first element in its storage
  int dtype = -1;
  int storage = -1;          // pointer to a StorageImpl
  int autograd = -1;         // null: requires_grad is false
  int version_counter = -1;  // pointer; null for inference tensors
  int data_in_storage = -1;
  int checked_in_storage = -1;  // a byte that is 1 where memory must be asked for: copied on write
  int version = -1;             // of a version counter
};

// Two words of a thread: which dispatch keys are switched on and off there.
struct LocalKeys {
  uint64_t included = 0, excluded = 0;
  bool operator==(const LocalKeys&) const = default;
};

// SizesAndStrides of a TensorImpl: sizes and strides of up to five dims are inside, more are behind a pointer.
inline constexpr int kInlineDims = 5;

template <typename Word>
Word word_at(const void* place, int offset) {
  Word word;
  std::memcpy(&word, static_cast<const char*>(place) + offset, sizeof word);
  return word;
}

struct Library {
  PyTypeObject* tensor;     // torch.Tensor; never released, as the next
  PyTypeObject* parameter;  // torch.nn.Parameter
  Shim shim;
  Functions functions;
  WordLayout layout;
  GradientFunctions gradients;
  AccumulatorLayout accumulators;
  uint64_t plain_keys;        // the dispatch keys of an ordinary tensor on the CPU
  uint64_t inference_keys;    // of one made in inference mode
  LocalKeys inference_local;  // in inference mode; outside of it both words are 0
};

// The loaded torch; valid after load().
Library& library();
// Finds the functions. False: torch cannot be a family, for the reason in `why`. Throws PythonError.
bool load(BorrowedRef module, std::string& why);
LocalKeys local_keys();  // of this thread

// ScalarType of torch's C shim; -1: none.
int32_t scalar_type(DType dtype);
// Whether tensors of the dtype are: torch has hardly an operator for uint16, uint32 and uint64, and views that
// conjugate complex numbers when they are read.
constexpr bool is_captured(DType dtype) {
  return dtype != DType::uint16 && dtype != DType::uint32 && dtype != DType::uint64 &&
         kDTypes[static_cast<int>(dtype)].category != DTypeCategory::Complex;
}
// False: a type that is not ours.
bool dtype_of_scalar_type(int32_t code, DType& dtype);

}  // namespace md::torch
