// Ops as rules of derivatives call them.
#pragma once
#include <atomic>
#include <span>
#include <vector>

#include "tensor/ops/op_row.h"

namespace md {

// Runs an op on arguments of final dtypes and keeps its history, as eager code does; real operands beside complex ones,
// and narrow floats beside wide ones, are cast first. args: complete, in schema order.
std::vector<Tensor> run_with_history(const OpRow& row, std::span<Arg> args);

// Adds to `sum` in place, without a history, if each of its elements has memory of its own and the result has its dtype
// and sizes; returns whether it did.
bool add_in_place(const Tensor& sum, const Tensor& added);

// An op by the name of its row, which is looked up once. Calls give its first result; omitted trailing arguments are
// defaults.
class RuleOp {
 public:
  constexpr explicit RuleOp(const char* name) : name_(name) {}
  template <typename... Args>
  Tensor operator()(Args&&... args) const {
    return all(std::forward<Args>(args)...).at(0);
  }
  template <typename... Args>
  std::vector<Tensor> all(Args&&... args) const {
    std::vector<Arg> list;
    list.reserve(sizeof...(args));
    (list.emplace_back(std::forward<Args>(args)), ...);
    return run(std::move(list));
  }

 private:
  std::vector<Tensor> run(std::vector<Arg> args) const;
  const char* name_;
  mutable std::atomic<const OpRow*> row_{nullptr};
};

namespace rule_ops {
inline const RuleOp abs("abs"), add("add"), arange("arange"), cast("cast"), cat("cat"), clone("clone"), conj("conj"),
    contiguous("contiguous"), convolution("convolution"), convolution_weights("convolution_weights"),
    cumprod("cumprod"), div("div"), eq("eq"), expand("expand"), eye("eye"), full_like("full_like"), gather("gather"),
    gt("gt"), index_add("index_add"), index_put("index_put"), isfinite("isfinite"), linalg_eigh("linalg_eigh"),
    linalg_inv("linalg_inv"), linalg_solve("linalg_solve"), linalg_svd("linalg_svd"),
    linalg_pivot_order("linalg_pivot_order"), linalg_triangular("linalg_triangular"), matmul("matmul"),
    movedim("movedim"), mT("mT"), mul("mul"), narrow("narrow"), neg("neg"), ones("ones"), outer("outer"), pow("pow"),
    prod("prod"), reshape("reshape"), scatter_add("scatter_add"), scatter_view("scatter_view"), select("select"),
    sigmoid("sigmoid"), sign("sign"), stack("stack"), sub("sub"), sum("sum"), t("t"), tanh("tanh"),
    transpose("transpose"), tril("tril"), triu("triu"), unbind("unbind"), unfold("unfold"), unsqueeze("unsqueeze"),
    where("where"), zeros("zeros"), zeros_like("zeros_like"), complex("complex"), fft_c2c("fft_c2c"),
    fft_r2c("fft_r2c"), real_part("real_part"), imag_part("imag_part"), squeeze("squeeze");
}  // namespace rule_ops

inline Scalar whole(int64_t value) { return Scalar(value); }
inline Scalar truth(bool value) { return Scalar(value); }

}  // namespace md
