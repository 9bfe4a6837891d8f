// One program for many sizes. When a call has come with a few sizes of one dimension, a program is
// compiled whose arrays are padded to a bucket and that takes the real size as an operand. Values
// are those of the exact program: see hlo/padded_program.h for what keeps the padding out.
//
// Nothing but the lowering itself says how a call depends on the size: it is run at the size that
// is asked for, at the bucket's bound and once between, and the three must agree.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "exec/compile_log.h"
#include "exec/compiled_program.h"
#include "exec/shape_fields.h"
#include "hlo/size_pattern.h"

namespace torch_tpu::exec {

// The smallest extent of a padded dimension that holds `size` elements: extents follow each other
// at the ratio that the memory setting allows.
int64_t PaddedExtent(int64_t size);

class GrowingShapes {
 public:
  static GrowingShapes& Get();
  static bool Enabled();

  // The program for these bytes by what is compiled already; nullptr: there is none.
  std::shared_ptr<const CompiledProgram> Find(std::string_view key);
  // Counts the size; where it is one of many, the program for these bytes, compiled or loaded if
  // need be. nullptr: compile an exact one.
  std::shared_ptr<const CompiledProgram> FindOrCompile(std::string_view key, Origin& origin);
  // Forgets all sizes and programs.
  void Clear();

 private:
  // Calls that differ in one size.
  struct Family {
    std::vector<hlo::Form> fields;  // of the size
    size_t reference = 0;           // a field that is the size
    struct Bucket {
      hlo::SizePattern pattern;
      std::shared_ptr<const pjrt::Executable> executable;
      std::shared_ptr<const Padding> padding;
      const char* producer;
    };
    // By the padded dims of all arrays.
    std::map<std::vector<int64_t>, std::shared_ptr<const Bucket>> buckets;
    // A second size, and the dims of parameters and results there.
    int64_t other_size = 0;
    std::vector<Dims> other_parameters, other_results;
    int refusals = 0;
    std::mutex mutex;

    // The size of a call of the family; -1: it is none.
    int64_t SizeOf(const std::vector<int64_t>& values) const;
  };
  // Calls that are equal but for numbers.
  struct Kin {
    std::vector<std::vector<int64_t>> seen;  // the numbers of some
    std::vector<std::shared_ptr<Family>> families;
  };

  std::shared_ptr<Family> FamilyOf(const ShapeFields& fields, int64_t& size, bool learn);
  static std::shared_ptr<Family> NewFamily(const Kin& kin, const std::vector<int64_t>& values);
  std::shared_ptr<const CompiledProgram> Find(std::string_view key, bool compile, Origin& origin);
  std::shared_ptr<const Family::Bucket> MakeBucket(const ShapeFields& fields, const Family& family,
                                                   int64_t size, int64_t bound,
                                                   std::shared_ptr<const Padding> padding,
                                                   Origin& origin);

  std::mutex mutex_;
  std::unordered_map<std::string, Kin> kin_;
};

}  // namespace torch_tpu::exec
