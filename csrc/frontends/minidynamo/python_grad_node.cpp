#include "frontends/minidynamo/python_grad_node.h"

#include "base/error.h"
#include "frontends/minidynamo/grad_node_object.h"
#include "frontends/minidynamo/gradient_hooks.h"

namespace md {

std::vector<Tensor> PythonGradNode::apply(std::vector<Tensor> gradients) {
  Ref tuple = check(PyTuple_New(static_cast<Py_ssize_t>(gradients.size())));
  for (size_t i = 0; i < gradients.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap_gradient(gradients[i]).release());
  gradients.clear();
  Ref node = grad_node_object(shared_from_this());
  Ref result = check(PyObject_CallFunctionObjArgs(run_, context_.get(), tuple.get(), node.get(), nullptr));
  return gradients_from(result, name_.c_str());
}

void PythonGradNode::release_saved() { check(PyObject_CallOneArg(release_, context_)); }

}  // namespace md
