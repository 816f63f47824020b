// What Python keeps with a node: its metadata, in anomaly mode where it was made.
#pragma once
#include <vector>

#include "autograd/grad_node.h"
#include "cpython/ref.h"

namespace md {

// The dict, made when it is first asked for.
Ref metadata_of(GradNode& node);
// _set_node_observer(stack, failed): anomaly mode's functions, None for off.
std::vector<PyMethodDef> node_note_functions();

}  // namespace md
