// Bands of results of sliding windows over contiguous planes: rows of results that are computed from the same rows of a
// plane, which a thread keeps in its cache, each in a line of its own.
#pragma once
#include <algorithm>
#include <vector>

#include "tensor/kernels/window_rows.h"
#include "tensor/parallel/threads.h"

namespace md {

class WindowBands {
 public:
  // line: items of the line of a row.
  WindowBands(const WindowGeometry& geometry, int64_t line) : geometry_(geometry), line_(line) {
    constexpr int64_t kItems = 1 << 13;  // of lines, which the L1 cache keeps
    const auto& [d, h, w] = geometry.dims;
    int64_t span = (h.kernel - 1) * h.dilation + 1, deep = std::min(d.kernel, d.input);
    int64_t wanted = (kItems / (line * deep) - span) / h.stride + 1;
    rows_ = std::clamp<int64_t>(wanted, std::min(4 * span, h.output), h.output);
    count_ = (h.output + rows_ - 1) / rows_;
    most_items_ = deep * std::min((rows_ - 1) * h.stride + span, h.input) * line;
  }
  int64_t rows() const { return rows_; }              // of results in a band
  int64_t most_items() const { return most_items_; }  // of the lines of a band

  // Some rows of results of one depth, and the rows that they read: `read` from `begin` on of each of the layers.
  struct Band {
    int64_t plane, depth, first, count;
    WindowRange layers;
    int64_t begin, read;
  };

  // run(band, room) for all bands of the planes; each thread has a room that make_room() returns.
  template <typename MakeRoom, typename Run>
  void for_each(int64_t planes, double ns, const MakeRoom& make_room, const Run& run) const {
    int64_t pieces = geometry_.dims[0].output * count_;
    parallel_for(planes * pieces, ns, [&](int64_t begin, int64_t end) {
      auto room = make_room();
      for (int64_t i = begin; i < end; ++i) run(band_at(i / pieces, i % pieces / count_, i % count_ * rows_), room);
    });
  }

  // row(place in the plane's rows, its line) for the rows that the band reads.
  template <typename T, typename Row>
  void for_each_row(const Band& band, T* lines, const Row& row) const {
    for (int64_t z = band.layers.begin; z < band.layers.end; z += band.layers.step)
      for (int64_t y = band.begin; y < band.begin + band.read; ++y, lines += line_)
        row(z * geometry_.dims[1].input + y, lines);
  }

  // result(row of results in its depth, the lines that it reads) for those of the band.
  template <typename T, typename Result>
  void for_each_result(const Band& band, const T* lines, std::vector<const T*>& rows, const Result& result) const {
    for (int64_t y = band.first; y < band.first + band.count; ++y) {
      WindowRange height = covered_range(geometry_.dims[1], y);
      rows.clear();
      for (int64_t z = 0; z < band.layers.count(); ++z)
        for (int64_t at = height.begin; at < height.end; at += height.step)
          rows.push_back(lines + (z * band.read + at - band.begin) * line_);
      result(y, rows);
    }
  }

 private:
  Band band_at(int64_t plane, int64_t depth, int64_t first) const {
    const auto& [d, h, w] = geometry_.dims;
    int64_t count = std::min(rows_, h.output - first), begin = std::max<int64_t>(first * h.stride - h.padding, 0);
    int64_t end = (first + count - 1) * h.stride - h.padding + (h.kernel - 1) * h.dilation + 1;
    int64_t read = std::max<int64_t>(std::min(end, h.input) - begin, 0);
    return {plane, depth, first, count, covered_range(d, depth), begin, read};
  }

  const WindowGeometry& geometry_;
  int64_t line_, rows_, count_, most_items_;  // count: bands of one depth
};

}  // namespace md
