#include "frontends/torch/gradients.h"

#include <algorithm>
#include <vector>

#include "frontends/torch/state.h"
#include "frontends/torch/tensors.h"

namespace md::torch {
namespace {

constexpr int kWord = 8;
// An AutogradMeta has more words than these, and a node no more than those before its tensor.
constexpr int kAutogradWords = 16, kMostNodeWords = 96;

const void* impl_of(PyObject* object) { return word_at<const void*>(object, library().layout.impl_in_object); }
const void* autograd_of(PyObject* object) { return word_at<const void*>(impl_of(object), library().layout.autograd); }
TensorHandle handle_of(PyObject* object) { return reinterpret_cast<char*>(object) + library().layout.impl_in_object; }

// The node of its Python object, whose first word after the head is the pointer.
const void* node_in(PyObject* object) { return word_at<const void*>(object, sizeof(PyObject)); }

// Where `autograd` has the pointer to the node; -1: nowhere, or as a pair with another pointer, as torch once had it.
int place_of_node(const AccumulatorSample& sample) {
  const void* autograd = autograd_of(sample.leaf);
  for (int at = kWord; autograd != nullptr && at < (kAutogradWords - 1) * kWord; at += kWord) {
    if (word_at<const void*>(autograd, at) != node_in(sample.node)) continue;
    return word_at<const void*>(autograd, at + kWord) == nullptr ? at : -1;
  }
  return -1;
}

// How many words a node has before the pointer to its tensor; -1: it has none.
int words_of_node(const AccumulatorSample& sample) {
  for (int at = 1; at < kMostNodeWords; ++at)
    if (word_at<const void*>(node_in(sample.node), at * kWord) == impl_of(sample.leaf)) return at;
  return -1;
}

bool is_empty_vector(const void* node, int at) {
  return word_at<const void*>(node, at) == word_at<const void*>(node, at + kWord);
}

// The vector that has one pointer in one node and is null in the other; -1: none has, or several have.
int place_of_hooks(const void* plain, const void* hooked, int words) {
  int found = -1;
  for (int at = kWord; at + 2 * kWord < words * kWord; at += kWord) {
    bool is_null = true;
    for (int i = 0; i < 3; ++i) is_null = is_null && word_at<const void*>(plain, at + i * kWord) == nullptr;
    auto begin = word_at<uint64_t>(hooked, at), end = word_at<uint64_t>(hooked, at + kWord);
    if (!is_null || begin == 0 || end != begin + kWord || word_at<uint64_t>(hooked, at + 2 * kWord) < end) continue;
    if (found >= 0) return -1;
    found = at;
  }
  return found;
}

// Hooks of the node that adds to the gradient, also of one that is at its end by now.
bool has_accumulator_hooks(const void* autograd) {
  const AccumulatorLayout& layout = library().accumulators;
  const void* node = word_at<const void*>(autograd, layout.node);
  return node != nullptr && !(is_empty_vector(node, layout.hooks_before) && is_empty_vector(node, layout.hooks_after));
}

bool has_hooks(PyObject* object, const void* autograd) {
  const GradientFunctions& torch = library().gradients;
  TensorHandle handle = handle_of(object);
  return !is_empty_vector(torch.hooks(handle), 0) || word_at<const void*>(torch.later_hooks(handle), 0) != nullptr ||
         has_accumulator_hooks(autograd);
}

// Whether gradients of the tensor have its dtype.
bool is_of_own_dtype(PyObject* object, const void* autograd) {
  const Library& torch = library();
  if (torch.gradients.dtype == nullptr) return true;
  uint16_t asked = torch.gradients.dtype(autograd, handle_of(object));
  return asked >> 8 == 1 && (asked & 0xff) == word_at<uint16_t>(impl_of(object), torch.layout.dtype);
}

// Whether torch may make a node for a view without one, by that of its base.
bool may_view_history(PyObject* object) {
  const GradientFunctions& torch = library().gradients;
  TensorHandle handle = handle_of(object);
  if (torch.as_view(handle) == nullptr) return false;
  return !torch.views_base(handle) || library().functions.requires_grad(*torch.base(handle));
}

PyObject* freed_recorder = nullptr;  // never released

}  // namespace

bool find_accumulators(const AccumulatorSample& plain, const AccumulatorSample& before, const AccumulatorSample& after,
                       AccumulatorLayout& layout) {
  const Library& torch = library();
  if (!torch.layout.is_known || !torch.gradients.are_known) return false;
  layout.node = place_of_node(plain);
  if (layout.node < 0 || place_of_node(before) != layout.node || place_of_node(after) != layout.node) return false;
  int words = words_of_node(plain);
  layout.hooks_before = place_of_hooks(node_in(plain.node), node_in(before.node), words);
  layout.hooks_after = place_of_hooks(node_in(plain.node), node_in(after.node), words);
  layout.is_known = layout.hooks_before >= 0 && layout.hooks_after >= 0 && layout.hooks_before != layout.hooks_after;
  return layout.is_known;
}

// Null where torch's words are not known, too: then no gradient is captured.
PyObject* plain_gradient(PyObject* object) {
  const Library& torch = library();
  TensorView view;
  if (!torch.accumulators.is_known || !read(object, view)) return nullptr;
  const void* autograd = autograd_of(object);
  if (autograd == nullptr) return Py_None;
  TensorHandle handle = handle_of(object);
  bool is_plain = !may_view_history(object) && torch.gradients.node(handle) == nullptr &&
                  is_of_own_dtype(object, autograd) && !has_hooks(object, autograd);
  if (!is_plain) return nullptr;
  const void* const* gradient = torch.gradients.gradient(impl_of(object));
  // The tensor keeps its Python object for as long as it is the gradient.
  return check(torch.functions.wrap(const_cast<const void**>(gradient))).get();
}

void put_gradient(PyObject* object, PyObject* gradient) {
  static PyObject* const kGrad = PyUnicode_InternFromString("grad");
  check_status(PyObject_SetAttr(object, kGrad, gradient));
}

bool are_gradients_watched() {
  const GradientFunctions& torch = library().gradients;
  if (!torch.are_known) return false;
  if (*torch.anomaly_mode) return true;
  // A std::deque is a map and two iterators, of four words each: where the first and the last element are.
  const void* hooks = torch.saved_tensor_hooks();
  return word_at<const void*>(hooks, 2 * kWord) != word_at<const void*>(hooks, 6 * kWord);
}

void set_freed_recorder(BorrowedRef function) { freed_recorder = Py_NewRef(function.get()); }

Ref with_freed_history(BorrowedRef result, std::span<const Ref> leaves) {
  std::vector<PyObject*> arguments{result.get()};
  for (const Ref& leaf : leaves) arguments.push_back(leaf.get());
  ModeSwitch mode(modes, set_modes, true);
  return check(PyObject_Vectorcall(freed_recorder, arguments.data(), arguments.size(), nullptr));
}

}  // namespace md::torch
