#include "tensor/gemm/split_convolution.h"

#include <algorithm>
#include <numeric>

#include "base/rounding.h"
#include "tensor/gemm/depthwise.h"
#include "tensor/gemm/image_products.h"
#include "tensor/gemm/pointwise_convolution.h"
#include "tensor/gemm/winograd.h"
#include "tensor/ops/call_args.h"

namespace md {
namespace {

constexpr double kProductsInNs = 60;  // single-threaded
constexpr double kPieceNs = 40e3;
constexpr int64_t kLeastChannels = 32, kMostChannelPieces = 4, kMostRowPieces = 4;
constexpr int64_t kLeastPositions = 96;  // of a piece that reads all weights

std::vector<int64_t> numbers(const DimVec& dims) {
  std::vector<int64_t> values;
  for (Dim dim : dims) values.push_back(dim.value());
  return values;
}

int64_t volume(const std::vector<int64_t>& sizes, size_t from) {
  return std::accumulate(sizes.begin() + static_cast<std::ptrdiff_t>(from), sizes.end(), int64_t{1}, std::multiplies());
}

double estimate_ns(const ConvolutionSpec& spec) {
  double products = static_cast<double>(volume(spec.weights, 1)) *
                    static_cast<double>(volume(spec.transposed ? spec.src : spec.dst, 0));
  return products / kProductsInNs;
}

// Output channels per piece, whole groups if there are several. Those of transposed convolutions are the second dim of
// the weights: these are not split.
int64_t channels_per_piece(const ConvolutionSpec& spec, double ns) {
  int64_t channels = spec.dst[1];
  if (spec.transposed || spec.dst[0] > 1 || spec.src_last || spec.dst_last) return channels;
  // Each piece of a pointwise product rounds the whole image.
  int64_t most = is_pointwise_product(spec) ? 2 : kMostChannelPieces;
  int64_t parts = std::clamp<int64_t>(static_cast<int64_t>(ns / kPieceNs), 1, most);
  parts = std::clamp<int64_t>(channels / kLeastChannels, 1, parts);
  int64_t unit = spec.groups > 1 ? std::lcm(kLeastChannels, channels / spec.groups) : kLeastChannels;
  return round_up(ceil_div(channels, parts), unit);
}

// Positions of the input that rows of the result read, in the first spatial dim.
struct RowsRead {
  int64_t begin, end, before;  // `before`: rows of padding
};
RowsRead rows_read(const ConvolutionSpec& spec, int64_t first, int64_t rows) {
  int64_t begin = first * spec.strides[0] - spec.padding[0];
  int64_t end = begin + (rows - 1) * spec.strides[0] + (spec.weights[2] - 1) * spec.dilations[0] + 1;
  int64_t from = std::max<int64_t>(begin, 0);
  return {from, std::min(end, spec.src[2]), from - begin};
}

// Rows of the result per piece where channels lie last, so that pieces are contiguous; 0: pieces are whole images.
int64_t rows_per_piece(const ConvolutionSpec& spec, double ns) {
  if (!spec.src_last || !spec.dst_last || spec.transposed || spec.dst[0] > 1) return 0;
  int64_t height = spec.dst[2], most = std::clamp<int64_t>(volume(spec.dst, 2) / kLeastPositions, 1, kMostRowPieces);
  int64_t parts = std::clamp<int64_t>(static_cast<int64_t>(ns / kPieceNs), 1, std::min(height, most));
  int64_t rows = ceil_div(height, parts);
  for (int64_t first = 0; first < height; first += rows) {
    RowsRead read = rows_read(spec, first, std::min(rows, height - first));
    if (read.begin >= read.end) return 0;
  }
  return rows;
}

bool reads_weights_in_place(const ConvolutionSpec& spec) {
  return is_depthwise(spec) || is_image_product(spec) ||
         (is_pointwise_product(spec) && spec.precision == Precision::Float32);
}

OnednnPackingPtr make_primitive(const ConvolutionSpec& spec) {
  for (auto* make : {make_image_product, make_winograd, make_pointwise_convolution})
    if (OnednnPackingPtr made = make(spec)) return made;
  return make_convolution(spec);
}

}  // namespace

ConvolutionSpec convolution_spec(const OpCall& call, const TensorSpec& out) {
  ConvolutionSpec spec;
  auto list = [&](const char* name) { return numbers(dims_arg(call, call.row.schema.find(name))); };
  spec.dtype = tensor_arg(call, 0).spec().dtype;
  spec.src = numbers(tensor_arg(call, 0).spec().sizes);
  spec.weights = numbers(tensor_arg(call, 1).spec().sizes);
  spec.dst = numbers(out.sizes);
  spec.strides = list("stride");
  spec.dilations = list("dilation");
  spec.padding = list("padding");
  spec.groups = int_arg(call, call.row.schema.find("groups"));
  spec.transposed = bool_arg(call, call.row.schema.find("transposed"));
  spec.has_bias = !arg_is_none(call, 2);
  return spec;
}

SplitConvolutionPtr SplitConvolution::make(const ConvolutionSpec& spec) {
  if (spec.packs_weights && reads_weights_in_place(spec)) return nullptr;
  if (volume(spec.src, 0) == 0 || volume(spec.weights, 0) == 0 || volume(spec.dst, 0) == 0) return nullptr;
  std::shared_ptr<SplitConvolution> split(new SplitConvolution(spec));
  double ns = estimate_ns(spec);
  int64_t images = spec.dst[0];
  double ns_per_image = ns / static_cast<double>(images);
  int64_t images_per_piece =
      std::clamp<int64_t>(static_cast<int64_t>(kPieceNs / std::max(ns_per_image, 1.0)), 1, images);
  int64_t each = channels_per_piece(spec, ns), rows = rows_per_piece(spec, ns);
  if (rows > 0 && !split->add_rows(rows)) return nullptr;
  for (int64_t channel = 0; rows == 0 && channel < spec.dst[1]; channel += each) {
    if (!split->add_channels(channel, std::min(each, spec.dst[1] - channel), images_per_piece)) return nullptr;
  }
  split->ns_per_piece_ = ns / static_cast<double>(split->pieces_.size());
  return split;
}

bool SplitConvolution::add_channels(int64_t first, int64_t channels, int64_t images_per_piece) {
  size_t leader_at = pieces_.size();
  for (int64_t image = 0; image < spec_.dst[0]; image += images_per_piece) {
    int64_t images = std::min(images_per_piece, spec_.dst[0] - image);
    if (!add_piece({image, images, first, channels, 0, spec_.dst[2]})) return false;
  }
  return share_packing(leader_at);
}

bool SplitConvolution::add_rows(int64_t rows_per_piece) {
  for (int64_t row = 0; row < spec_.dst[2]; row += rows_per_piece) {
    if (!add_piece({0, 1, 0, spec_.dst[1], row, std::min(rows_per_piece, spec_.dst[2] - row)})) return false;
  }
  return share_packing(0);
}

// The pieces from the leader on read the weights that it packs.
bool SplitConvolution::share_packing(size_t leader_at) {
  if (!spec_.packs_weights) return true;
  const OnednnPacking& leader = *pieces_[leader_at].primitive;
  for (size_t i = leader_at; i < pieces_.size(); ++i) {
    if (pieces_[i].primitive->packed_layout() != leader.packed_layout()) return false;
  }
  packed_bytes_ += (leader.packed_bytes() + 63) / 64 * 64;
  packed_layout_ += leader.packed_layout() + ";";
  return true;
}

bool SplitConvolution::add_piece(const Part& of) {
  const auto& [first_image, images, first_channel, channels, first_row, rows] = of;
  ConvolutionSpec part = spec_;
  part.src[0] = part.dst[0] = images;
  part.dst[1] = channels;
  if (!spec_.transposed) part.weights[0] = channels;
  int64_t first_src_channel = 0;
  if (spec_.groups > 1) {
    int64_t of_group = spec_.dst[1] / spec_.groups, src_of_group = spec_.src[1] / spec_.groups;
    part.groups = channels / of_group;
    part.src[1] = part.groups * src_of_group;
    first_src_channel = first_channel / of_group * src_of_group;
  }
  int64_t dst_channel = volume(spec_.dst, 2), first_row_read = 0;
  if (rows < spec_.dst[2]) {
    RowsRead read = rows_read(spec_, first_row, rows);
    part.src[2] = read.end - read.begin;
    part.dst[2] = rows;
    part.padding[0] = read.before;
    first_row_read = read.begin;
  }
  Piece piece = {.primitive = is_depthwise(spec_) ? make_depthwise(part) : make_primitive(part),
                 .src_start = first_image * volume(spec_.src, 1) + first_src_channel * volume(spec_.src, 2) +
                              first_row_read * spec_.src[1] * volume(spec_.src, 3),
                 .weights_start = spec_.transposed ? 0 : first_channel * volume(spec_.weights, 1),
                 .bias_start = first_channel,
                 .packed_at = packed_bytes_,
                 .block = {.first_element = (first_image * spec_.dst[1] + first_channel) * dst_channel +
                                            first_row * spec_.dst[1] * volume(spec_.dst, 3),
                           .elements = volume(part.dst, 0)}};
  if (piece.primitive == nullptr) return false;
  pieces_.push_back(std::move(piece));
  return true;
}

void SplitConvolution::run_piece(const Piece& piece, const ConvolutionOperands& operands) const {
  int64_t item = static_cast<int64_t>(item_size(spec_.dtype));
  auto at = [](const void* data, int64_t bytes) { return static_cast<const std::byte*>(data) + bytes; };
  int64_t weights = spec_.packs_weights ? static_cast<int64_t>(piece.packed_at) : piece.weights_start * item;
  const void* inputs[] = {at(operands.src, piece.src_start * item), at(operands.weights, weights),
                          spec_.has_bias ? at(operands.bias, piece.bias_start * item) : nullptr};
  execute(*piece.primitive, {inputs, spec_.has_bias ? size_t{3} : size_t{2}},
          static_cast<std::byte*>(operands.dst) + piece.block.first_element * item);
}

void SplitConvolution::pack(const void* weights, void* packed) const {
  const Piece* done = nullptr;
  for (const Piece& piece : pieces_) {
    if (done != nullptr && done->packed_at == piece.packed_at) continue;
    done = &piece;
    size_t start = static_cast<size_t>(piece.weights_start) * item_size(spec_.dtype);
    piece.primitive->pack(static_cast<const std::byte*>(weights) + start,
                          static_cast<std::byte*>(packed) + piece.packed_at);
  }
}

size_t SplitConvolution::nbytes() const {
  return pieces_.size() * sizeof(Piece) + nbytes_of_primitives(pieces_, &Piece::primitive);
}

std::string SplitConvolution::implementation() const {
  std::string what = pieces_[0].primitive->implementation();
  return pieces_.size() == 1 ? what : str_cat(what, " in ", pieces_.size(), " pieces");
}

}  // namespace md
