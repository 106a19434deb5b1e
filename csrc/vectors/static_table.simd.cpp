#include "vectors/static_table.h"

namespace rc {
namespace RC_SIMD {
namespace {

// Rows lie anywhere in a table that is larger than the inner caches: those of the next text are asked for in advance.
template <class T>
void prefetch(const T* rows, const StaticTable& table, const int32_t* ids, int64_t first, int64_t last) {
  const int64_t bytes = table.H * static_cast<int64_t>(sizeof(T));
  for (int64_t t = first; t < last; t++) {
    const char* row = reinterpret_cast<const char*>(rows + ids[t] * table.H);
    for (int64_t b = 0; b < bytes; b += 64) __builtin_prefetch(row + b);
  }
}

template <class T>
int64_t gather_rows_of(const T* rows, const StaticTable& table, const int32_t* ids, const int64_t* offsets,
                       int64_t first, int64_t last, bool normalize, float* out) {
  for (int64_t s = first; s < last; s++) {
    if (s + 1 < last) prefetch(rows, table, ids, offsets[s + 1], offsets[s + 2]);
    if (!gather_row<Lanes>(rows, table.scale, table.H, ids + offsets[s], offsets[s + 1] - offsets[s], table.skip,
                           normalize, out + s * table.H))
      return s;
  }
  return -1;
}

}  // namespace

int64_t gather_rows(const StaticTable& table, const int32_t* ids, const int64_t* offsets, int64_t first, int64_t last,
                    bool normalize, float* out) {
  switch (table.type) {
    case StaticTable::Type::int8:
      return gather_rows_of(static_cast<const int8_t*>(table.rows), table, ids, offsets, first, last, normalize, out);
    case StaticTable::Type::half:
      return gather_rows_of(static_cast<const Half*>(table.rows), table, ids, offsets, first, last, normalize, out);
    default:
      return gather_rows_of(static_cast<const float*>(table.rows), table, ids, offsets, first, last, normalize, out);
  }
}

}  // namespace RC_SIMD
}  // namespace rc
