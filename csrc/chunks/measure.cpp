#include "chunks/measure.h"

namespace rc {

bool Measure::starts_word(int64_t at) const {
  const char* text = text_.data();
  if (at > 0 && at < bytes() && is_visible_ascii(text[at]) && static_cast<int8_t>(text[at - 1]) >= 0)
    return is_ascii_space(text[at - 1]);
  if (at >= bytes() || is_continuation(text[at]) || is_space(decode(text, bytes(), at).value)) return false;
  return at == 0 || is_space(decode(text, bytes(), previous(text, at)).value);
}

int64_t Measure::last_word(int64_t low, int64_t high) const {
  for (int64_t at = high; at >= low; at--)
    if (starts_word(at)) return at;
  return -1;
}

int64_t Measure::first_word(int64_t low, int64_t high) const {
  for (int64_t at = low; at <= high; at++)
    if (starts_word(at)) return at;
  return -1;
}

int64_t CharMeasure::reach(int64_t start, int64_t tokens) const {
  // As many bytes as tokens are left hold at most as many code points: step by that, seldom more than three times.
  const char* text = text_.data();
  const int64_t end = bytes();
  if (tokens <= 0) return start;
  int64_t at = start, left = tokens;
  while (left >= 16 && at < end) {
    const int64_t step = left < end - at ? left : end - at;
    left -= count_(text + at, step);
    at += step;
  }
  for (; at < end; at++) {
    if (is_continuation(text[at])) continue;
    if (left == 0) break;
    left--;
  }
  reached_ = {start, at, tokens - left};
  return at;
}

int64_t CharMeasure::count(int64_t start, int64_t end) const {
  if (start != reached_.start || end > reached_.end || end - start < reached_.end - end) return size(start, end);
  return reached_.tokens - size(end, reached_.end);
}

int64_t CharMeasure::back(int64_t end, int64_t tokens) const {
  const char* text = text_.data();
  int64_t at = end;
  while (tokens >= 16 && at > 0) {
    const int64_t step = tokens < at ? tokens : at;
    at -= step;
    tokens -= count_(text + at, step);
  }
  // The loop may stop inside a character, of which it has not counted the first byte.
  while (at < end && is_continuation(text[at])) at++;
  while (at > 0 && tokens > 0) {
    at = previous(text, at);
    tokens--;
  }
  return at;
}

}  // namespace rc
