// The gradients that torch keeps with its tensors (GradientAccess), and where its objects have what sees them.
#pragma once
#include <span>

#include "cpython/ref.h"
#include "frontends/torch/library.h"

namespace md::torch {

// A leaf, and the object of the node that adds to its gradient (torch.autograd.graph.get_gradient_edge).
struct AccumulatorSample {
  PyObject *leaf, *node;
};

// Finds the words by leaves whose nodes have no hooks, one that is called before the node, and one that is called
// after it. False: not found, and gradients that such a node has accumulated are torch's alone.
bool find_accumulators(const AccumulatorSample& plain, const AccumulatorSample& before, const AccumulatorSample& after,
                       AccumulatorLayout& layout);

PyObject* plain_gradient(PyObject* object);
void put_gradient(PyObject* object, PyObject* gradient);
bool are_gradients_watched();
Ref with_freed_history(BorrowedRef result, std::span<const Ref> leaves);

// `function([results], *leaves)` gives results the history of an operation on the leaves that has been gone back
// through; set once.
void set_freed_recorder(BorrowedRef function);

}  // namespace md::torch
