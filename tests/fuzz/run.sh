#!/usr/bin/env bash
# Builds every fuzz target with the sanitizers and runs it: run.sh [SECONDS of each]. With clang these are libFuzzer targets;
# with any other compiler their own main() feeds them random input for about that long.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-10}
out=build/fuzz
mkdir -p "$out"

stages=()
for source in csrc/*/*.cpp; do
  case $source in csrc/bindings/* | *.simd.cpp) ;; *) stages+=("$source") ;; esac
done
cxx=${CXX:-c++}
flags=(-std=c++17 -O1 -g -Icsrc -ffp-contract=off -pthread -fsanitize=address,undefined
  -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
engine=(-DRC_FUZZ_MAIN)
for clang in clang++ clang++-{19,18,17,16,15,14}; do
  if command -v "$clang" > /dev/null &&
    echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
    "$clang" -fsanitize=fuzzer,address -x c++ - -o "$out/probe" 2> /dev/null; then
    cxx=$clang engine=(-fsanitize=fuzzer)
    break
  fi
done

# Objects, so that the targets share them; baseline only: the levels are compared by the tests.
objects=()
jobs=$(nproc 2> /dev/null || echo 2)
compile() {
  local object=$2
  if [ ! -e "$object" ] || [ -n "$(find csrc "$1" -newer "$object" -type f -print -quit)" ]; then
    "$cxx" "${flags[@]}" ${3:-} -c "$1" -o "$object"
  fi
}
for source in "${stages[@]}"; do
  object=$out/$(basename "$(dirname "$source")")-$(basename "$source" .cpp).o
  objects+=("$object")
  compile "$source" "$object" &
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
done
for source in csrc/*/*.simd.cpp; do
  for level in baseline avx2 avx512; do
    options=-DRC_SIMD=$level
    case $(uname -m) in
      x86_64 | amd64)
        [ $level = baseline ] || options+=" -mavx2 -mfma -mf16c -mbmi -mbmi2 -mlzcnt -mpopcnt"
        [ $level = avx512 ] && options+=" -mavx512f -mavx512bw -mavx512vl -mavx512dq -mprefer-vector-width=512"
        ;;
      *) [ $level = baseline ] || continue ;;
    esac
    object=$out/$(basename "$source" .simd.cpp)-$level.o
    objects+=("$object")
    compile "$source" "$object" "$options" &
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
  done
done
wait

for target in tests/fuzz/fuzz_*.cpp; do
  program=$out/$(basename "$target" .cpp)
  "$cxx" "${flags[@]}" "${engine[@]}" "$target" "${objects[@]}" -o "$program"
  # What long runs found worth keeping comes first.
  seeds=(tests/fuzz/seeds/"$(basename "$program")"/*)
  if [ "${engine[0]}" = -fsanitize=fuzzer ]; then
    mkdir -p "$program-corpus"
    "$program" -seed=1 -max_total_time="$seconds" -max_len=4096 -verbosity=0 -artifact_prefix="$out/" \
      "$program-corpus" "${seeds[0]%/*}"
  else
    "$program" "${seeds[@]}"
    end=$((SECONDS + seconds)) rounds=0
    while [ $SECONDS -lt $end ]; do
      "$program" 2000 $((rounds + 1))
      rounds=$((rounds + 1))
    done
    echo "$(basename "$target" .cpp): $((rounds * 2000)) inputs"
  fi
done
