// The means of sliding windows over contiguous planes: rows are padded with zeros, which leave sums as they are, so
// that all windows of a row are summed side by side, each read row by row.
#pragma once
#include <algorithm>
#include <vector>

#include "base/rounding.h"
#include "tensor/kernels/window_rows.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/loops.h"

namespace md {

template <typename T>
class WindowMeans {
 public:
  explicit WindowMeans(const WindowGeometry& geometry) : geometry_(geometry) {
    constexpr int64_t kBandItems = 1 << 13;  // of padded rows, which the L1 cache keeps
    const auto& [d, h, w] = geometry.dims;
    int64_t read = (round_up(w.output, kMostLanes) + kMostLanes) * w.stride + (w.kernel - 1) * w.dilation;
    pitch_ = round_up(std::max(read, w.padding + w.input), kMostLanes);
    deep_ = std::min(d.kernel, d.input);
    int64_t wanted = (kBandItems / (pitch_ * deep_) - h.kernel) / h.stride + 1;
    band_ = std::clamp<int64_t>(wanted, std::min(4 * h.kernel, h.output), h.output);
    bands_ = (h.output + band_ - 1) / band_;
  }
  // along(dim, o): what the window o of a dim counts for; the divisor is the product over the dims. A window that
  // counts for nothing has no elements.
  template <typename Along>
  void run(const T* src, int64_t planes, T* dst, const Along& along) const {
    const auto& [d, h, w] = geometry_.dims;
    int64_t pieces = d.output * bands_;
    double ns = 0.05 * static_cast<double>(band_ * w.output * geometry_.kernel_size());
    parallel_for(planes * pieces, ns, [&](int64_t begin, int64_t end) {
      Room room(*this);
      for (int64_t i = begin; i < end; ++i) {
        int64_t plane = i / pieces, depth = i % pieces / bands_, first = i % bands_ * band_;
        run_band(src + plane * geometry_.input_size(), depth, first, std::min(band_, h.output - first), room,
                 dst + plane * geometry_.output_size(), along);
      }
    });
  }

 private:
  static constexpr int64_t kMostLanes = 16;

  // Of one thread: the padded rows of a band, those of one result, and the divisors of the windows of a row.
  struct Room {
    explicit Room(const WindowMeans& of) {
      const WindowDim& h = of.geometry_.dims[1];
      int64_t rows = std::min((of.band_ - 1) * h.stride + h.kernel, h.input);
      padded.assign(static_cast<size_t>(of.deep_ * rows * of.pitch_), T(0));
      divisors.resize(static_cast<size_t>(round_up(of.geometry_.dims[2].output, kMostLanes)), T(1));
    }
    std::vector<T> padded, divisors;
    std::vector<const T*> rows;
    int64_t factor = -1;  // of the divisors, by the dims before the last
  };

  template <typename Along>
  void run_band(const T* plane, int64_t depth, int64_t first, int64_t count, Room& room, T* dst,
                const Along& along) const {
    const auto& [d, h, w] = geometry_.dims;
    WindowRange layers = covered_range(d, depth);
    int64_t begin = std::max<int64_t>(first * h.stride - h.padding, 0);
    int64_t end = std::min((first + count - 1) * h.stride - h.padding + h.kernel, h.input);
    int64_t read = std::max<int64_t>(end - begin, 0);
    T* line = room.padded.data();
    for (int64_t z = layers.begin; z < layers.end; ++z)
      for (int64_t y = begin; y < begin + read; ++y, line += pitch_)
        std::copy_n(plane + (z * h.input + y) * w.input, w.input, line + w.padding);
    T* to = dst + (depth * h.output + first) * w.output;
    const T* last = to + count * w.output;
    for (int64_t i = 0; i < count; ++i, to += w.output) {
      WindowRange height = covered_range(h, first + i);
      room.rows.clear();
      for (int64_t z = 0; z < layers.count(); ++z)
        for (int64_t y = height.begin; y < height.end; ++y)
          room.rows.push_back(room.padded.data() + (z * read + y - begin) * pitch_);
      divide_by(along(d, depth) * along(h, first + i), room, along);
      loops().lanes->template of<T>().means_of_rows(room.rows, {w.output, w.kernel, w.stride, 1}, room.divisors.data(),
                                                    last, to);
    }
  }

  template <typename Along>
  void divide_by(int64_t factor, Room& room, const Along& along) const {
    if (factor == room.factor) return;
    room.factor = factor;
    const WindowDim& w = geometry_.dims[2];
    for (int64_t x = 0; x < w.output; ++x) {
      int64_t divisor = factor * along(w, x);
      room.divisors[static_cast<size_t>(x)] = divisor == 0 ? T(1) : static_cast<T>(divisor);
    }
  }

  const WindowGeometry& geometry_;
  int64_t pitch_, deep_;  // items of a padded row; the most layers of a window
  int64_t band_, bands_;  // rows of results that are computed from the same rows
};

}  // namespace md
