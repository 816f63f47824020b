#include "tensor/gemm/narrowed_matmul.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "base/rounding.h"
#include "tensor/gemm/operand_copy.h"
#include "tensor/storage.h"

namespace md {
namespace {

constexpr int64_t kAlignment = 64;

size_t aligned(int64_t elements, size_t item) {
  return static_cast<size_t>(round_up(elements * static_cast<int64_t>(item), kAlignment));
}

class RoundedMatmul final : public OnednnPacking {
 public:
  explicit RoundedMatmul(const MatmulSpec& spec) : spec_(spec) {
    MatmulSpec narrow = spec;
    a_ = OperandCopy::of_matrices(spec.batch, spec.m, spec.k, narrow.a_strides);
    b_ = OperandCopy::of_matrices(spec.batch, spec.k, spec.n, narrow.b_strides);
    primitive_ = make_narrow_matmul(narrow);
  }
  bool ok() const { return primitive_ != nullptr; }

  void execute(std::span<const void* const> inputs, void* dst, void* scratchpad) const override {
    MD_ASSERT(inputs.size() == (spec_.has_bias ? 3u : 2u), "a rounded product got ", inputs.size(), " inputs");
    auto* memory = static_cast<std::byte*>(scratchpad);
    const void* narrow[3] = {round(a_, inputs[0], memory), inputs[1], spec_.has_bias ? inputs[2] : nullptr};
    memory += bytes_of(a_);
    if (!spec_.packs_weights) {
      narrow[1] = round(b_, inputs[1], memory);
      memory += bytes_of(b_);
    }
    primitive_->execute({narrow, inputs.size()}, dst, primitive_->scratchpad_bytes() > 0 ? memory : nullptr);
  }
  size_t scratchpad_bytes() const override {
    return bytes_of(a_) + (spec_.packs_weights ? 0 : bytes_of(b_)) + primitive_->scratchpad_bytes();
  }
  std::string implementation() const override { return primitive_->implementation() + of_precision(spec_.precision); }
  size_t packed_bytes() const override { return primitive_->packed_bytes(); }
  std::string packed_layout() const override {
    return str_cat("rounded by ", b_.line_stride, ":", primitive_->packed_layout());
  }
  void pack(const void* weights, void* packed) const override {
    StoragePtr memory = Storage::allocate(bytes_of(b_));
    primitive_->pack(round(b_, weights, static_cast<std::byte*>(memory->data())), packed);
  }

 private:
  static size_t bytes_of(const OperandCopy& copy) { return aligned(copy.numel(), item_size(DType::bfloat16)); }
  static const void* round(const OperandCopy& copy, const void* from, std::byte* to) {
    copy.convert(DType::float32, from, DType::bfloat16, to);
    return to;
  }

  MatmulSpec spec_;
  OperandCopy a_, b_;
  OnednnPackingPtr primitive_;
};

// A row of a as bytes: (byte - zero) * step. What the row has in common with 0 is in the range, so that 0 is exact. A
// row that is not finite has no step, and its results are NaN.
struct RowStep {
  float step = 0;
  int32_t zero = 0;
};

RowStep quantize_row(const float* row, int64_t n, uint8_t* bytes) {
  float low = loops().f32.min(row, n), high = loops().f32.max(row, n);
  if (!std::isfinite(low) || !std::isfinite(high)) {
    std::memset(bytes, 0, static_cast<size_t>(n));
    return {.step = std::numeric_limits<float>::quiet_NaN()};
  }
  low = std::min(low, 0.0f);
  high = std::max(high, 0.0f);
  float step = high / UINT8_MAX - low / UINT8_MAX;
  if (step < FLT_MIN) {
    std::memset(bytes, 0, static_cast<size_t>(n));
    return {};
  }
  float inverse = 1 / step;
  auto zero = static_cast<int32_t>(std::lrint(-low * inverse));
  loops().bytes.bytes(row, n, inverse, zero, bytes);
  return {step, zero};
}

class QuantizedMatmul final : public OnednnPacking {
 public:
  explicit QuantizedMatmul(const MatmulSpec& spec) : spec_(spec) {
    MatmulSpec narrow = spec;
    narrow.has_bias = false;
    narrow.a_strides = {0, spec.k, 1};
    narrow.c_strides = {0, spec.n, 1};
    b_ = OperandCopy::of_matrices(1, spec.k, spec.n, narrow.b_strides);
    primitive_ = make_narrow_matmul(narrow);
  }
  bool ok() const { return primitive_ != nullptr; }

  void execute(std::span<const void* const> inputs, void* dst, void* scratchpad) const override {
    MD_ASSERT(inputs.size() == (spec_.has_bias ? 3u : 2u), "a quantized product got ", inputs.size(), " inputs");
    auto* memory = static_cast<std::byte*>(scratchpad);
    auto* bytes = reinterpret_cast<uint8_t*>(memory);
    auto* rows = reinterpret_cast<RowStep*>(memory + a_bytes());
    auto* sums = reinterpret_cast<int32_t*>(memory + a_bytes() + row_bytes());
    quantize(static_cast<const float*>(inputs[0]), bytes, rows);
    const auto* packed = static_cast<const std::byte*>(inputs[1]);
    const void* narrow[2] = {bytes, packed + 2 * column_bytes()};
    std::byte* rest = memory + a_bytes() + row_bytes() + sum_bytes();
    primitive_->execute(narrow, sums, primitive_->scratchpad_bytes() > 0 ? rest : nullptr);
    ByteSums line = {.n = spec_.n,
                     .step = 0,
                     .zero = 0,
                     .column_sums = reinterpret_cast<const int32_t*>(packed + column_bytes()),
                     .column_steps = reinterpret_cast<const float*>(packed),
                     .bias = spec_.has_bias ? static_cast<const float*>(inputs[2]) : nullptr};
    for (int64_t i = 0; i < spec_.m; ++i) {
      line.step = rows[i].step;
      line.zero = rows[i].zero;
      loops().bytes.floats_of_sums(line, sums + i * spec_.n, static_cast<float*>(dst) + i * spec_.c_strides[1]);
    }
  }
  size_t scratchpad_bytes() const override {
    return a_bytes() + row_bytes() + sum_bytes() + primitive_->scratchpad_bytes();
  }
  std::string implementation() const override { return primitive_->implementation() + of_precision(spec_.precision); }
  // The steps of the columns, the sums of their bytes, and the bytes as the primitive wants them.
  size_t packed_bytes() const override { return 2 * column_bytes() + primitive_->packed_bytes(); }
  std::string packed_layout() const override {
    return str_cat("bytes by ", b_.line_stride, ":", primitive_->packed_layout());
  }
  void pack(const void* weights, void* packed) const override {
    auto* memory = static_cast<std::byte*>(packed);
    auto* steps = reinterpret_cast<float*>(memory);
    auto* sums = reinterpret_cast<int32_t*>(memory + column_bytes());
    StoragePtr dense = Storage::allocate(static_cast<size_t>(b_.numel()));
    auto* bytes = static_cast<int8_t*>(dense->data());
    by_columns() ? quantize_columns(static_cast<const float*>(weights), steps, sums, bytes)
                 : quantize_rows(static_cast<const float*>(weights), steps, sums, bytes);
    primitive_->pack(bytes, memory + 2 * column_bytes());
  }

 private:
  static constexpr float kMostByte = INT8_MAX;

  size_t a_bytes() const { return aligned(spec_.m * spec_.k, 1); }
  size_t row_bytes() const { return aligned(spec_.m, sizeof(RowStep)); }
  size_t sum_bytes() const { return aligned(spec_.m * spec_.n, sizeof(int32_t)); }
  size_t column_bytes() const { return aligned(spec_.n, sizeof(float)); }
  // Whether the columns of b are contiguous.
  bool by_columns() const { return b_.lines == spec_.n && spec_.b_strides[1] == 1; }

  void quantize(const float* a, uint8_t* bytes, RowStep* rows) const {
    std::vector<float> line(spec_.a_strides[2] == 1 ? 0 : static_cast<size_t>(spec_.k));
    for (int64_t i = 0; i < spec_.m; ++i) {
      const float* row = a + i * spec_.a_strides[1];
      for (size_t p = 0; p < line.size(); ++p) line[p] = row[static_cast<int64_t>(p) * spec_.a_strides[2]];
      rows[i] = quantize_row(line.empty() ? row : line.data(), spec_.k, bytes + i * spec_.k);
    }
  }

  // The step of a column whose largest magnitude this is; what divides its numbers is in `inverse`.
  static float step_of(float largest, float& inverse) {
    float step = largest / kMostByte;
    inverse = std::isfinite(step) && step >= FLT_MIN ? 1 / step : 0;
    if (std::isfinite(step)) return inverse == 0 ? 0 : step;
    return std::numeric_limits<float>::quiet_NaN();
  }
  // The nearest integer, which a sum with this number has in its lowest bits. Of what is not finite any byte: the step
  // of its column is NaN.
  static int8_t byte_of(float value, float inverse) {
    constexpr float kRounder = 12582912;
    return static_cast<int8_t>(std::bit_cast<int32_t>(value * inverse + kRounder));
  }
  static float larger(float largest, float value) {
    float magnitude = std::fabs(value);
    return magnitude > largest || std::isnan(magnitude) ? magnitude : largest;
  }

  void quantize_columns(const float* weights, float* steps, int32_t* sums, int8_t* bytes) const {
    for (int64_t j = 0; j < spec_.n; ++j, bytes += spec_.k) {
      const float* column = weights + j * spec_.b_strides[2];
      float low = loops().f32.min(column, spec_.k), high = loops().f32.max(column, spec_.k), inverse;
      steps[j] = step_of(larger(std::fabs(low), high), inverse);
      for (int64_t p = 0; p < spec_.k; ++p) bytes[p] = byte_of(column[p], inverse);
      sums[j] = std::accumulate(bytes, bytes + spec_.k, int32_t{0});
    }
  }
  void quantize_rows(const float* weights, float* steps, int32_t* sums, int8_t* bytes) const {
    std::vector<float> inverses(static_cast<size_t>(spec_.n));
    std::fill_n(steps, spec_.n, 0.0f);
    std::fill_n(sums, spec_.n, 0);
    for (int64_t p = 0; p < spec_.k; ++p) {
      const float* line = weights + p * spec_.b_strides[1];
      for (int64_t j = 0; j < spec_.n; ++j) steps[j] = std::isnan(steps[j]) ? steps[j] : larger(steps[j], line[j]);
    }
    for (int64_t j = 0; j < spec_.n; ++j) steps[j] = step_of(steps[j], inverses[static_cast<size_t>(j)]);
    for (int64_t p = 0; p < spec_.k; ++p, bytes += spec_.n) {
      const float* line = weights + p * spec_.b_strides[1];
      for (int64_t j = 0; j < spec_.n; ++j) bytes[j] = byte_of(line[j], inverses[static_cast<size_t>(j)]);
      for (int64_t j = 0; j < spec_.n; ++j) sums[j] += bytes[j];
    }
  }

  MatmulSpec spec_;
  OperandCopy b_;
  OnednnPackingPtr primitive_;
};

}  // namespace

OnednnPackingPtr make_narrowed_matmul(const MatmulSpec& spec) {
  if (spec.dtype != DType::float32 || !is_fast(spec.precision)) return nullptr;
  if (spec.precision == Precision::BFloat16) return made_if_ok<RoundedMatmul>(spec);
  bool fits = spec.packs_weights && spec.batch == 1 && spec.k <= kMostByteProducts;
  return fits ? made_if_ok<QuantizedMatmul>(spec) : nullptr;
}

}  // namespace md
