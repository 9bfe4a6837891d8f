#include "exec/growing_shapes.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <stdexcept>

#include "base/intern.h"
#include "base/log.h"
#include "base/settings.h"
#include "exec/executable_cache.h"
#include "exec/resize.h"
#include "exec/stats.h"
#include "hlo/padded_program.h"

namespace torch_tpu::exec {
namespace {

using hlo::Builder;
using hlo::Form;
using Numbers = std::vector<int64_t>;

constexpr size_t kMaxSeen = 32;      // calls of one kind that are remembered
constexpr size_t kMaxFamilies = 16;  // of one kind
constexpr int kMaxRefusals = 3;

// A program lowered with its operations kept.
struct Kept {
  std::unique_ptr<Builder> builder =
      std::make_unique<Builder>("program", ExecutableCache::target());
  LoweredProgram program;

  explicit Kept(std::string_view key) {
    builder->KeepOperations();
    program = Lower(key, *builder);
  }
  static std::vector<Dims> DimsOf(const hlo::Values& values) {
    std::vector<Dims> list;
    for (const hlo::Value& value : values) list.push_back(value.dims());
    return list;
  }
  std::vector<Dims> parameters() const { return DimsOf(builder->parameters()); }
  std::vector<Dims> results() const { return DimsOf(builder->results()); }
};

// The form through two points; nothing where there is none of whole numbers.
std::optional<Form> Through(int64_t x0, int64_t y0, int64_t x1, int64_t y1) {
  if (y0 == y1) return Form{0, y0};
  if (x0 == x1 || (y1 - y0) % (x1 - x0) != 0) return std::nullopt;
  const int64_t slope = (y1 - y0) / (x1 - x0);
  return Form{slope, y0 - slope * x0};
}

// A varying dimension of an array that the program takes or gives.
struct Edge {
  Form form;
  int64_t size, extent;  // now, and padded
};

}  // namespace

int64_t PaddedExtent(int64_t size) {
  const int64_t percent = GetSettings().growing_memory;
  int64_t extent = 1;
  while (extent < size) extent = std::max(extent + 1, extent * percent / 100);
  return extent;
}

GrowingShapes& GrowingShapes::Get() {
  static GrowingShapes& shapes = *new GrowingShapes();
  return shapes;
}

bool GrowingShapes::Enabled() { return GetSettings().growing_shapes > 0; }

void GrowingShapes::Clear() {
  const std::lock_guard lock(mutex_);
  kin_.clear();
}

int64_t GrowingShapes::Family::SizeOf(const Numbers& values) const {
  const int64_t size = values[reference];
  for (size_t i = 0; i < fields.size(); ++i) {
    if (values[i] != fields[i].At(size)) return -1;
  }
  return size;
}

// A family that the new call and enough of those seen before belong to; nullptr: none.
std::shared_ptr<GrowingShapes::Family> GrowingShapes::NewFamily(const Kin& kin,
                                                                const Numbers& values) {
  const size_t enough = std::max<int64_t>(2, GetSettings().growing_shapes);
  for (auto it = kin.seen.rbegin(); it != kin.seen.rend(); ++it) {
    // The two calls as a line: its parameter is the number that differs least.
    const Numbers& other = *it;
    std::optional<size_t> reference;
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] == other[i]) continue;
      const auto distance = [&](size_t k) { return std::abs(values[k] - other[k]); };
      if (!reference || distance(i) < distance(*reference)) reference = i;
    }
    if (!reference) continue;
    auto family = std::make_shared<Family>();
    family->reference = *reference;
    for (size_t i = 0; i < values.size() && family != nullptr; ++i) {
      const auto form = Through(other[*reference], other[i], values[*reference], values[i]);
      if (form) {
        family->fields.push_back(*form);
      } else {
        family = nullptr;
      }
    }
    if (family == nullptr) continue;
    int64_t least = values[*reference], most = least;
    size_t members = 1;
    for (const Numbers& seen : kin.seen) {
      const int64_t size = family->SizeOf(seen);
      if (size < 0) continue;
      // Sizes far apart are as likely those of different layers.
      if (std::max(size, most) > 2 * std::min(size, least)) continue;
      least = std::min(size, least);
      most = std::max(size, most);
      ++members;
    }
    if (members < enough || least < 2) continue;
    family->other_size = other[*reference];
    return family;
  }
  return nullptr;
}

std::shared_ptr<GrowingShapes::Family> GrowingShapes::FamilyOf(const ShapeFields& fields,
                                                               int64_t& size, bool learn) {
  if (fields.values.empty()) return nullptr;
  std::shared_ptr<Family> made;
  {
    const std::lock_guard lock(mutex_);
    const auto found = kin_.find(fields.rest);
    if (found == kin_.end() && !learn) return nullptr;
    Kin& kin = found == kin_.end() ? kin_[fields.rest] : found->second;
    for (const auto& family : kin.families) {
      size = family->SizeOf(fields.values);
      if (size > 0) return family;
    }
    if (!learn) return nullptr;
    if (kin.families.size() < kMaxFamilies) made = NewFamily(kin, fields.values);
    if (made == nullptr) {
      if (std::find(kin.seen.begin(), kin.seen.end(), fields.values) == kin.seen.end()) {
        if (kin.seen.size() == kMaxSeen) kin.seen.erase(kin.seen.begin());
        kin.seen.push_back(fields.values);
      }
      return nullptr;
    }
    kin.families.push_back(made);
    made->mutex.lock();
  }
  const std::lock_guard family_lock(made->mutex, std::adopt_lock);
  size = made->SizeOf(fields.values);
  Numbers values;
  for (const Form& form : made->fields) values.push_back(form.At(made->other_size));
  const Kept other(fields.With(values));
  made->other_parameters = other.parameters();
  made->other_results = other.results();
  return made;
}

std::shared_ptr<const CompiledProgram> GrowingShapes::Find(std::string_view key) {
  Origin origin = Origin::kCompiled;
  return Find(key, /*compile=*/false, origin);
}

std::shared_ptr<const CompiledProgram> GrowingShapes::FindOrCompile(std::string_view key,
                                                                    Origin& origin) {
  return Find(key, /*compile=*/true, origin);
}

std::shared_ptr<const CompiledProgram> GrowingShapes::Find(std::string_view key, bool compile,
                                                           Origin& origin) {
  if (!Enabled() || ResizeView::Is(key)) return nullptr;
  const ShapeFields fields(key);
  int64_t size = 0;
  const std::shared_ptr<Family> family = FamilyOf(fields, size, compile);
  if (family == nullptr || size < 2) return nullptr;
  const std::lock_guard lock(family->mutex);
  if (family->refusals >= kMaxRefusals || size == family->other_size) return nullptr;

  Kept now(key);
  const std::vector<Dims> parameters = now.parameters(), results = now.results();
  if (parameters.size() != family->other_parameters.size() ||
      results.size() != family->other_results.size()) {
    return nullptr;
  }
  // The varying dimensions of what goes in and out, and how long each is to be.
  auto padding = std::make_shared<Padding>(Padding{parameters, results});
  std::vector<std::pair<int64_t*, Edge>> edges;
  for (const bool input : {true, false}) {
    const auto& others = input ? family->other_parameters : family->other_results;
    auto& arrays = input ? padding->inputs : padding->outputs;
    for (size_t i = 0; i < arrays.size(); ++i) {
      if (arrays[i].size() != others[i].size()) return nullptr;
      for (size_t d = 0; d < arrays[i].size(); ++d) {
        const auto form = Through(family->other_size, others[i][d], size, arrays[i][d]);
        if (!form || form->slope < 0) return nullptr;
        if (!form->varies()) continue;
        edges.push_back({&arrays[i][d], {*form, arrays[i][d], PaddedExtent(arrays[i][d])}});
      }
    }
  }
  // What grows alike is padded alike where memory allows: then a program does not change arrays'
  // extents, and fewer of them are needed.
  Numbers key_of_bucket;
  int64_t bound = edges.empty() ? PaddedExtent(size) : std::numeric_limits<int64_t>::max();
  const int64_t percent = GetSettings().growing_memory;
  for (auto& [dim, edge] : edges) {
    for (const auto& [other_dim, other] : edges) {
      if (other.form.slope == edge.form.slope && other.extent > edge.extent &&
          other.extent * 100 <= edge.size * percent) {
        edge.extent = other.extent;
      }
    }
  }
  for (const auto& [dim, edge] : edges) {
    *dim = edge.extent;
    key_of_bucket.push_back(edge.extent);
    bound = std::min(bound, (edge.extent - edge.form.base) / edge.form.slope);
  }
  if (edges.empty()) key_of_bucket.push_back(bound);
  if (bound < size || bound < 3) return nullptr;

  auto found = family->buckets.find(key_of_bucket);
  if (found == family->buckets.end()) {
    if (!compile) return nullptr;
    std::shared_ptr<const Family::Bucket> bucket;
    std::string why;
    // Views of a varying size over a base of a fixed one end with the base; one of all of it may be
    // another program.
    std::vector<int64_t> bounds = {bound, bound - 1};
    for (size_t i = 0; i < fields.values.size(); ++i) {
      const Form& field = family->fields[i];
      if (!field.varies() && field.base >= size && field.base < bound) {
        bounds.push_back(field.base);
        bounds.push_back(field.base - 1);
      }
    }
    std::erase_if(bounds, [size](int64_t n) { return n < std::max<int64_t>(size, 3); });
    std::sort(bounds.rbegin(), bounds.rend());
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
    for (size_t i = 0; i < bounds.size() && bucket == nullptr; ++i) {
      try {
        bucket = MakeBucket(fields, *family, size, bounds[i], padding, origin);
      } catch (const c10::Error& error) {
        why = error.what_without_backtrace();
      } catch (const std::runtime_error& error) {
        if (why.empty()) why = error.what();
      }
    }
    if (bucket == nullptr) {
      ++family->refusals;
      if (CompileLog::Get().printing()) {
        Log(fmt::format("{} is compiled for each size: {}", Describe(key).text, why));
      }
    }
    found = family->buckets.emplace(key_of_bucket, std::move(bucket)).first;
  }
  const Family::Bucket* bucket = found->second.get();
  if (bucket == nullptr || bucket->pattern.bound_size() < size) return nullptr;
  try {
    bucket->pattern.Check(*now.builder, size);
  } catch (const std::runtime_error&) {
    return nullptr;
  }
  auto made = std::make_shared<CompiledProgram>();
  made->program = std::move(now.program);
  made->program.text = {};
  made->producer = bucket->producer;
  made->executable = bucket->executable;
  made->padding = bucket->padding;
  made->size = size;
  return made;
}

std::shared_ptr<const GrowingShapes::Family::Bucket> GrowingShapes::MakeBucket(
    const ShapeFields& fields, const Family& family, int64_t size, int64_t bound,
    std::shared_ptr<const Padding> padding, Origin& origin) {
  const auto at = [&](int64_t n) {
    Numbers values;
    for (const Form& form : family.fields) values.push_back(form.At(n));
    return Kept(fields.With(values));
  };
  Kept last = at(bound), before = at(bound - 1);
  LoweredProgram program = std::move(last.program);
  hlo::SizePattern pattern(std::move(last.builder), bound, std::move(before.builder), bound - 1);
  pattern.Check(*at(size).builder, size);
  Builder padded("program", ExecutableCache::target());
  hlo::EmitPadded(pattern, padding->inputs, padding->outputs, padded);
  program.use_xnnpack = ForXnnpack(padded);
  if (program.use_xnnpack) padded.FlattenParameters();
  program.text = padded.Text();
  program.outputs.resize(padding->outputs.size());
  double seconds = 0;
  auto executable = ExecutableCache::GetExecutable(program, origin, seconds);
  ++GetStats().padded_programs;
  return std::make_shared<Family::Bucket>(Family::Bucket{std::move(pattern), std::move(executable),
                                                         std::move(padding), Intern(program.name)});
}

}  // namespace torch_tpu::exec
