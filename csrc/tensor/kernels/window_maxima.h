// The largest values of sliding windows over contiguous planes: of each row of a plane by columns, then of rows. In
// both the first of equal elements stays, as in a window that is read row by row, and the last NaN.
#pragma once
#include <algorithm>
#include <vector>

#include "base/rounding.h"
#include "tensor/kernels/window_rows.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/loops.h"

namespace md {

template <typename T>
class WindowMaxima {
 public:
  // lowest: of a window without elements.
  WindowMaxima(const WindowGeometry& geometry, T lowest) : geometry_(geometry), lowest_(lowest) {
    constexpr int64_t kBandItems = 1 << 13;  // of lines, which the L1 cache keeps
    const auto& [d, h, w] = geometry.dims;
    line_ = round_up(w.output, kMostLanes);
    int64_t span = (h.kernel - 1) * h.dilation + 1, deep = std::min(d.kernel, d.input);
    int64_t wanted = (kBandItems / (line_ * deep) - span) / h.stride + 1;
    band_ = std::clamp<int64_t>(wanted, std::min(4 * span, h.output), h.output);
    bands_ = (h.output + band_ - 1) / band_;
  }
  void run(const T* src, int64_t planes, T* dst) const {
    const auto& [d, h, w] = geometry_.dims;
    int64_t pieces = d.output * bands_;
    double ns = 0.05 * static_cast<double>(band_ * w.output * (h.kernel + w.kernel * h.stride));
    parallel_for(planes * pieces, ns, [&](int64_t begin, int64_t end) {
      Room room(*this);
      for (int64_t i = begin; i < end; ++i) {
        int64_t plane = i / pieces, depth = i % pieces / bands_, first = i % bands_ * band_;
        run_band(src + plane * geometry_.input_size(), depth, first, std::min(band_, h.output - first), room,
                 dst + plane * geometry_.output_size());
      }
    });
  }

 private:
  static constexpr int64_t kMostLanes = 16, kRowsAtOnce = 8;

  // Of one thread: rows with their padding, the largest elements of rows by columns, and those that one result reads.
  struct Room {
    explicit Room(const WindowMaxima& of) {
      const WindowDim& w = of.geometry_.dims[2];
      int64_t read = (of.line_ + kMostLanes) * w.stride + (w.kernel - 1) * w.dilation + w.padding;
      pitch = round_up(std::max(read, w.padding + w.input), kMostLanes);
      padded.assign(static_cast<size_t>(kRowsAtOnce * pitch), of.lowest_);
    }
    int64_t pitch;
    std::vector<T> padded, lines;
    std::vector<const T*> rows;
  };

  // The largest elements by columns of `count` rows. Rows are read again when what was written of them has left the
  // store buffer, from which vectors across two stores cannot be forwarded.
  void take_rows(const T* src, int64_t count, Room& room, T* lines) const {
    const WindowDim& w = geometry_.dims[2];
    WindowsOfRow windows = {w.output, w.kernel, w.stride, w.dilation};
    for (int64_t first = 0; first < count; first += kRowsAtOnce) {
      int64_t rows = std::min(kRowsAtOnce, count - first);
      for (int64_t i = 0; i < rows; ++i, src += w.input)
        std::copy_n(src, w.input, room.padded.data() + i * room.pitch + w.padding);
      for (int64_t i = 0; i < rows; ++i, lines += line_)
        loops().lanes->template of<T>().largest_by_columns(room.padded.data() + i * room.pitch, windows, lines);
    }
  }

  // `count` rows of results of one depth.
  void run_band(const T* plane, int64_t depth, int64_t first, int64_t count, Room& room, T* dst) const {
    const auto& [d, h, w] = geometry_.dims;
    WindowRange layers = covered_range(d, depth);
    int64_t begin = std::max<int64_t>(first * h.stride - h.padding, 0);
    int64_t end = (first + count - 1) * h.stride - h.padding + (h.kernel - 1) * h.dilation + 1;
    int64_t read = std::max<int64_t>(std::min(end, h.input) - begin, 0);
    room.lines.resize(static_cast<size_t>(layers.count() * read * line_));
    T* line = room.lines.data();
    for (int64_t z = layers.begin; z < layers.end; z += layers.step, line += read * line_)
      take_rows(plane + (z * h.input + begin) * w.input, read, room, line);
    T* to = dst + (depth * h.output + first) * w.output;
    const T* last = to + count * w.output;
    for (int64_t i = 0; i < count; ++i, to += w.output) {
      WindowRange height = covered_range(h, first + i);
      room.rows.clear();
      for (int64_t z = 0; z < layers.count(); ++z)
        for (int64_t y = height.begin; y < height.end; y += height.step)
          room.rows.push_back(room.lines.data() + (z * read + y - begin) * line_);
      if (room.rows.empty())
        std::fill_n(to, w.output, lowest_);
      else
        loops().lanes->template of<T>().largest_of_rows(room.rows, w.output, last, to);
    }
  }

  const WindowGeometry& geometry_;
  T lowest_;
  int64_t line_;          // items of a line of results, in whole vectors
  int64_t band_, bands_;  // rows of results that are computed from the same lines
};

}  // namespace md
