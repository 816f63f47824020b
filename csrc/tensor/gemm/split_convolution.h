// A convolution in pieces for the threads of the pool, each a single-threaded call of oneDNN: some images, or if there
// are few, some output channels. The split depends only on the shapes.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tensor/gemm/onednn.h"
#include "tensor/gemm/packed_weights.h"
#include "tensor/ops/op_row.h"
#include "tensor/parallel/threads.h"

namespace md {

// The spec of a call of the op `convolution` with result `out`. Tensors may be fake.
ConvolutionSpec convolution_spec(const OpCall& call, const TensorSpec& out);

struct ConvolutionOperands {
  const void* src;
  const void* weights;
  const void* bias;  // null if there is none
  void* dst;
};

// A contiguous part of the result.
struct ConvolutionBlock {
  int64_t first_element, elements;
};

class SplitConvolution : public WeightPacking {
 public:
  // Null if neither oneDNN nor we have an optimised implementation. With spec.packs_weights, weights were packed by
  // pack(); then also null if there is nothing to pack.
  static std::shared_ptr<const SplitConvolution> make(const ConvolutionSpec& spec);

  // done(block) is called by the thread that computed it.
  template <typename Done>
  void run(const ConvolutionOperands& operands, const Done& done) const {
    parallel_for(static_cast<int64_t>(pieces_.size()), ns_per_piece_, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Piece& piece = pieces_[static_cast<size_t>(i)];
        run_piece(piece, operands);
        done(piece.block);
      }
    });
  }
  void run(const ConvolutionOperands& operands) const {
    run(operands, [](const ConvolutionBlock&) {});
  }

  const ConvolutionSpec& spec() const { return spec_; }
  size_t packed_bytes() const override { return packed_bytes_; }
  void pack(const void* weights, void* packed) const override;
  const std::string& packed_layout() const override { return packed_layout_; }
  std::string implementation() const;
  size_t nbytes() const;

 private:
  // Offsets in elements, for packed weights in bytes.
  struct Piece {
    OnednnPackingPtr primitive;
    int64_t src_start, weights_start, bias_start;
    size_t packed_at;
    ConvolutionBlock block;
  };

  explicit SplitConvolution(const ConvolutionSpec& spec) : spec_(spec) {}
  // A part of the result: some channels of whole images, or some rows of one image with all channels.
  struct Part {
    int64_t first_image, images, first_channel, channels, first_row, rows;
  };

  bool add_channels(int64_t first, int64_t channels, int64_t images_per_piece);
  bool add_rows(int64_t rows_per_piece);
  bool share_packing(size_t leader_at);
  bool add_piece(const Part& part);
  void run_piece(const Piece& piece, const ConvolutionOperands& operands) const;

  ConvolutionSpec spec_;
  std::vector<Piece> pieces_;
  double ns_per_piece_ = 0;
  size_t packed_bytes_ = 0;
  std::string packed_layout_;
};
using SplitConvolutionPtr = std::shared_ptr<const SplitConvolution>;

}  // namespace md
