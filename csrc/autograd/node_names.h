// The names of nodes: torch's, where its op is another one or has several derivatives.
#pragma once
#include <span>
#include <string>

#include "tensor/ops/op_row.h"

namespace md {

// Names of a row's nodes, and which of them a call's node has.
struct NodeNames {
  int (*choose)(std::span<const Arg> args);
  std::vector<const char*> names;
};

// Null: the node is named after the row.
const NodeNames* node_names_of(const OpRow& row);
// "LogSoftmaxBackward0" of log_softmax.
std::string default_node_name(const OpRow& row);

}  // namespace md
