// The tape: one record for each operation, in order, with a closure that turns the gradients of its
// outputs into those of its inputs. Closures live in chunks that are used again, step after step.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "rapt/autograd/grads.h"

namespace rapt {

class Tape {
 public:
  struct Record {
    const char* op;
    void* function;
    int32_t first_output;
    uint32_t outputs;
    void (*call)(void*, std::span<const Tensor>, Grads&);
    void (*destroy)(void*);
  };

  Tape() = default;
  ~Tape() { clear(); }
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // f(span<const Tensor> dys, Grads&); outputs are the nodes first_output … + outputs - 1.
  template <class F>
  void push(const char* op, int32_t first_output, uint32_t outputs, F&& f) {
    using Function = std::remove_cvref_t<F>;
    static_assert(alignof(Function) <= alignof(std::max_align_t));
    void* place = allocate(sizeof(Function));
    new (place) Function(std::forward<F>(f));
    records_.push_back({op, place, first_output, outputs,
                        [](void* p, std::span<const Tensor> dys, Grads& grads) {
                          (*static_cast<Function*>(p))(dys, grads);
                        },
                        [](void* p) { static_cast<Function*>(p)->~Function(); }});
  }

  bool empty() const { return records_.empty(); }
  const Record& back() const { return records_.back(); }
  void pop() {  // releases what the record kept
    records_.back().destroy(records_.back().function);
    records_.pop_back();
  }
  void clear() {
    while (!empty()) pop();
    chunk_ = used_ = 0;
  }

 private:
  static constexpr size_t kChunk = size_t{64} << 10;
  void* allocate(size_t bytes);

  std::vector<Record> records_;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  size_t chunk_ = 0, used_ = 0;  // the chunk in use and the bytes taken of it
};

}  // namespace rapt
