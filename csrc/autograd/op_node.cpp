#include "autograd/op_node.h"

#include "autograd/derivative.h"
#include "autograd/grad_history.h"
#include "autograd/node_names.h"
#include "autograd/saved_tensor.h"
#include "base/error.h"

namespace md {
namespace {

Tensor spec_alone(const Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  TensorSpec spec = tensor.spec();
  spec.requires_grad = false;
  return Tensor::fake(spec, tensor->offset());
}

Tensor copy_with_edge(const Tensor& tensor) {
  static const OpRow* const clone = find_op("clone");
  std::vector<Arg> args = {tensor};
  fill_defaults(*clone, args);
  return alias_with_edge(run_op(*clone, args).at(0), edge_of(tensor));
}

class OpNode : public GradNode {
 public:
  OpNode(const OpRow& row, const Derivative* derivative) : row_(row), derivative_(derivative) {}

  std::string name() const override { return names_ == nullptr ? default_node_name(row_) : names_->names[choice_]; }

  void save_args(std::span<const Arg> args, const Tensor& written) {
    find_edges(args);
    names_ = node_names_of(row_);
    if (names_ != nullptr) choice_ = static_cast<size_t>(names_->choose(args));
    if (derivative_ == nullptr) return;
    reads_ = derivative_->reads({wanted_.get(), args.size()});
    for (size_t i = 0; i < args.size(); ++i) args_.push_back(saved_arg(args[i], i, written));
  }

  void save_results(std::span<const Tensor> results) {
    for (const Tensor& result : results) outputs.push_back({result->dtype(), result.spec().sizes});
    if (derivative_ == nullptr) return;
    for (size_t i = 0; i < results.size(); ++i) {
      // All results of a list are saved or none.
      size_t bit = row_.returns_list() ? 0 : i;
      bool elements = reads_.result_elements >> bit & 1;
      if (elements) has_saved_ = true;
      results_.emplace_back(elements ? results[i] : spec_alone(results[i]), true, static_cast<int>(i));
    }
  }

  std::vector<Tensor> apply(std::vector<Tensor> gradients) override {
    if (derivative_ == nullptr)
      raise(ErrorKind::NotImplemented, "the derivative for '", row_.name, "' is not implemented");
    if (is_released_) raise_freed();
    Running running(*this);
    std::vector<Arg> args = unpacked_args();
    std::vector<Tensor> results;
    for (const SavedTensor& result : results_) results.push_back(result.unpacked(this));
    std::span<const bool> wanted(wanted_.get(), args.size());
    std::vector<Arg> slopes = gradients_of(*derivative_, {row_, args, results, gradients, wanted});
    gradients.clear();
    return by_edge(slopes);
  }

  void release_saved() override {
    if (!has_saved_) return;
    is_released_ = true;
    if (running_ == 0) clear();
  }

 private:
  // Hooks of saved tensors may let another thread run, which frees what this one reads: the last one that runs does.
  class Running {
   public:
    explicit Running(OpNode& node) : node_(node) { ++node_.running_; }
    ~Running() {
      if (--node_.running_ == 0 && node_.is_released_) node_.clear();
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    OpNode& node_;
  };
  void clear() {
    args_.clear();
    results_.clear();
  }

  struct SavedArg {
    Arg plain;                         // no tensor
    std::vector<SavedTensor> tensors;  // of a tensor or a list
    bool is_list = false;
  };

  void find_edges(std::span<const Arg> args) {
    wanted_ = std::make_unique<bool[]>(args.size());
    // An operand that gradients never flow to has no edge, one that requires none an edge to nothing.
    auto add = [&](const Tensor& tensor, size_t param) {
      bool requires_grad = tensor.defined() && tensor.requires_grad();
      wanted_[param] = wanted_[param] || requires_grad;
      edges.push_back(requires_grad ? edge_of(tensor) : GradEdge{});
    };
    for (size_t i = 0; i < args.size(); ++i) {
      bool has_edge = has_edges(static_cast<int>(i), args[i]);
      has_edges_.push_back(has_edge);
      if (!has_edge) continue;
      if (const auto* tensor = std::get_if<Tensor>(&args[i])) {
        add(*tensor, i);
      } else if (const auto* list = std::get_if<std::vector<Tensor>>(&args[i])) {
        for (const Tensor& element : *list) add(element, i);
      } else {
        edges.emplace_back();
      }
    }
  }

  // Whether gradients may flow to a parameter, which is given a tensor, a list or a number in a tensor's place.
  bool has_edges(int param, const Arg& arg) const {
    if (derivative_ != nullptr && derivative_->whole == nullptr && derivative_->slope_of(param) == nullptr)
      return false;
    return std::holds_alternative<Tensor>(arg) || std::holds_alternative<std::vector<Tensor>>(arg) ||
           (row_.schema.params[static_cast<size_t>(param)].type == ParamType::Tensor &&
            std::holds_alternative<Scalar>(arg));
  }

  SavedArg saved_arg(const Arg& arg, size_t param, const Tensor& written) {
    bool elements = reads_.argument_elements >> param & 1;
    auto saved = [&](const Tensor& tensor) {
      if (!elements) return SavedTensor(spec_alone(tensor), false, 0);
      if (tensor.defined()) has_saved_ = true;
      return SavedTensor(tensor.defined() && is_same(tensor, written) ? copy_with_edge(tensor) : tensor, false, 0);
    };
    SavedArg result;
    if (const auto* tensor = std::get_if<Tensor>(&arg)) {
      result.tensors.push_back(saved(*tensor));
    } else if (const auto* list = std::get_if<std::vector<Tensor>>(&arg)) {
      result.is_list = true;
      for (const Tensor& element : *list) result.tensors.push_back(saved(element));
    } else {
      result.plain = arg;
    }
    return result;
  }

  std::vector<Arg> unpacked_args() {
    std::vector<Arg> args;
    for (const SavedArg& saved : args_) {
      if (saved.is_list) {
        std::vector<Tensor> list;
        for (const SavedTensor& tensor : saved.tensors) list.push_back(tensor.unpacked(this));
        args.emplace_back(std::move(list));
      } else if (!saved.tensors.empty()) {
        args.emplace_back(saved.tensors[0].unpacked(this));
      } else {
        args.push_back(saved.plain);
      }
    }
    return args;
  }

  std::vector<Tensor> by_edge(std::vector<Arg>& slopes) {
    std::vector<Tensor> gradients;
    for (size_t i = 0; i < slopes.size(); ++i) {
      if (!has_edges_[i]) continue;
      auto* list = std::get_if<std::vector<Tensor>>(&slopes[i]);
      auto* tensor = std::get_if<Tensor>(&slopes[i]);
      if (args_[i].is_list) {
        for (size_t k = 0; k < args_[i].tensors.size(); ++k)
          gradients.push_back(list == nullptr ? Tensor() : std::move((*list)[k]));
      } else {
        gradients.push_back(tensor == nullptr ? Tensor() : std::move(*tensor));
      }
    }
    return gradients;
  }

  const OpRow& row_;
  const Derivative* derivative_;
  const NodeNames* names_ = nullptr;
  size_t choice_ = 0;  // of the names
  ReadSet reads_;
  std::unique_ptr<bool[]> wanted_;  // by parameter
  std::vector<bool> has_edges_;     // by parameter: one edge for each tensor, some without a node
  std::vector<SavedArg> args_;
  std::vector<SavedTensor> results_;
  bool has_saved_ = false, is_released_ = false;
  int running_ = 0;
};

}  // namespace

GradNodePtr make_op_node(const OpRow& row, std::span<const Arg> args, std::span<const Tensor> results) {
  GradNodePtr node = begin_op_node(row, args);
  finish_op_node(*node, results);
  return node;
}

GradNodePtr begin_op_node(const OpRow& row, std::span<const Arg> args, const Tensor& written) {
  auto node = make_grad_node<OpNode>(row, derivative_of(row));
  node->save_args(args, written);
  return node;
}

void finish_op_node(GradNode& node, std::span<const Tensor> results) {
  static_cast<OpNode&>(node).save_results(results);
}

}  // namespace md
