// Text that grows. Unlike std::string it does not write to memory before there is text for it: room for the longest
// that a text may become costs nothing, and what is left of a large one goes back.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>

namespace rc {

class TextBuffer {
 public:
  TextBuffer() = default;
  explicit TextBuffer(std::string_view text) { add(text); }
  TextBuffer(TextBuffer&& other) noexcept { swap(other); }
  TextBuffer& operator=(TextBuffer&& other) noexcept {
    swap(other);
    return *this;
  }

  const char* data() const { return memory_.get(); }
  size_t size() const { return size_; }
  std::string_view view() const { return {memory_.get(), size_}; }

  // Where the next n bytes go; they count once `grow` says so.
  char* room(size_t n) {
    if (size_ + n > capacity_) reserve(std::max(size_ + n, capacity_ + capacity_ / 2));
    return memory_.get() + size_;
  }
  void grow(size_t n) { size_ += n; }
  void add(std::string_view text) {
    if (text.empty()) return;
    std::memcpy(room(text.size()), text.data(), text.size());
    size_ += text.size();
  }
  void clear() { size_ = 0; }
  void reserve(size_t n) {
    if (n > capacity_) resize_memory(n);
  }
  void shrink() {
    if (size_ < capacity_) resize_memory(size_);
  }

 private:
  void swap(TextBuffer& other) noexcept {
    memory_.swap(other.memory_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }
  void resize_memory(size_t n) {
    void* moved = std::realloc(memory_.get(), std::max<size_t>(n, 1));
    if (!moved) throw std::bad_alloc();
    static_cast<void>(memory_.release());
    memory_.reset(static_cast<char*>(moved));
    capacity_ = n;
  }

  std::unique_ptr<char, decltype(&std::free)> memory_{nullptr, &std::free};
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace rc
