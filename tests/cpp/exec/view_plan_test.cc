// Plans of views, checked on the host against the strides they stand for.
#include "exec/view_plan.h"

#include <gtest/gtest.h>

#include <vector>

namespace torch_tpu::exec {
namespace {

// The next index of `sizes` in row-major order; false after the last one.
bool Next(Dims& index, IntArrayRef sizes) {
  for (int64_t i = static_cast<int64_t>(sizes.size()) - 1; i >= 0; --i) {
    if (++index[i] < sizes[i]) return true;
    index[i] = 0;
  }
  return false;
}

// Where the plan finds the element at `index`, as ReadView and WriteView do.
int64_t PositionByPlan(const ViewPlan& plan, IntArrayRef index, int64_t offset) {
  int64_t position = 0;
  for (size_t i = 0; i < plan.extents.size(); ++i) {
    const bool whole = (plan.counts[i] - 1) * plan.steps[i] + 1 == plan.extents[i];
    const int64_t start = whole ? 0 : offset / plan.units[i] % plan.extents[i];
    const int64_t step = plan.view_dims[i] < 0 ? 0 : index[plan.view_dims[i]] * plan.steps[i];
    position += (start + step) * plan.units[i];
  }
  return position;
}

struct Counts {
  int64_t views = 0, sliced = 0;
};

// Every offset that keeps the view inside a base of `base` elements.
void CheckOffsets(IntArrayRef base, IntArrayRef sizes, IntArrayRef strides, Counts& counts) {
  int64_t last = 0;
  for (size_t i = 0; i < sizes.size(); ++i) last += (sizes[i] - 1) * strides[i];
  const int64_t elements = NumElements(base);
  if (last >= elements) return;
  const ViewPlan plan = PlanView(base, sizes, strides);
  counts.views += elements - last;
  if (!plan.slices) return;
  ASSERT_EQ(NumElements(plan.extents), elements);
  for (int64_t offset = 0; offset + last < elements; ++offset) {
    if (!plan.Fits(offset)) continue;
    ++counts.sliced;
    ASSERT_TRUE(plan.dynamic || offset == 0);
    Dims index(sizes.size(), 0);
    do {
      int64_t expected = offset;
      for (size_t i = 0; i < sizes.size(); ++i) expected += index[i] * strides[i];
      ASSERT_EQ(PositionByPlan(plan, index, offset), expected)
          << "base " << ToString(base) << " sizes " << ToString(sizes) << " strides "
          << ToString(strides) << " offset " << offset << " index " << ToString(index);
    } while (Next(index, sizes));
  }
}

const std::vector<Dims> kBases = {{1},    {7},       {12},      {24},      {2, 3},    {4, 6},
                                  {5, 5}, {3, 4, 2}, {2, 3, 4}, {6, 1, 4}, {2, 2, 5}, {2, 2, 3, 2}};

TEST(PlanView, EveryPlanOfOneAndTwoDimensionsIsRight) {
  Counts counts;
  for (const Dims& base : kBases) {
    for (int64_t size = 1; size <= 8; ++size) {
      for (int64_t stride = 0; stride <= 24; ++stride) CheckOffsets(base, {size}, {stride}, counts);
    }
    Dims index = {0, 0, 0, 0};
    do {
      CheckOffsets(base, {index[0] + 1, index[1] + 1}, {index[2], index[3]}, counts);
      if (HasFatalFailure()) return;
    } while (Next(index, {5, 5, 13, 13}));
  }
  EXPECT_GT(counts.sliced, counts.views / 4);
}

TEST(PlanView, EveryPlanOfThreeDimensionsIsRight) {
  constexpr int64_t kStrides[] = {0, 1, 2, 3, 4, 6, 8, 12};
  Counts counts;
  for (const Dims& base : kBases) {
    Dims index(6, 0);
    do {
      CheckOffsets(base, {index[0] + 1, index[1] + 1, index[2] + 1},
                   {kStrides[index[3]], kStrides[index[4]], kStrides[index[5]]}, counts);
      if (HasFatalFailure()) return;
    } while (Next(index, {3, 3, 3, 8, 8, 8}));
  }
  EXPECT_GT(counts.sliced, counts.views / 4);
}

struct Usual {
  const char* made_by;
  Dims base, sizes, strides;
  int64_t offset;
  bool dynamic;
};

TEST(PlanView, TheUsualViewsAreSlices) {
  for (const Usual& view : std::vector<Usual>{
           {"x[1]", {3, 4}, {4}, {1}, 4, true},
           {"x[:, 2]", {3, 4}, {3}, {4}, 2, true},
           {"x[1:3, ::2]", {3, 4}, {2, 2}, {4, 2}, 4, true},
           {"x[::2]", {6, 4}, {3, 4}, {8, 1}, 0, true},
           {"x.T", {3, 4}, {4, 3}, {1, 4}, 0, false},
           {"x.permute(2, 0, 1)", {2, 3, 4}, {4, 2, 3}, {1, 12, 4}, 0, false},
           {"x.expand(5, 3, 4)", {3, 4}, {5, 3, 4}, {0, 4, 1}, 0, false},
           {"x[:, None]", {3, 4}, {3, 1, 4}, {4, 4, 1}, 0, false},
           {"x.view(2, 6)", {3, 4}, {2, 6}, {6, 1}, 0, false},
           {"x.diagonal()", {3, 3}, {3}, {4}, 0, false},
           {"x.unfold(0, 2, 2)", {8}, {4, 2}, {2, 1}, 0, false},
           {"qkv.chunk(3, -1)[1].view(b, t, h, d).transpose(1, 2)",
            {2, 5, 12},
            {2, 2, 5, 2},
            {60, 2, 12, 1},
            4,
            true},
           {"x.narrow(1, 3, 2)", {2, 8, 4}, {2, 2, 4}, {32, 4, 1}, 12, true},
       }) {
    SCOPED_TRACE(view.made_by);
    const ViewPlan plan = PlanView(view.base, view.sizes, view.strides);
    EXPECT_TRUE(plan.slices);
    EXPECT_TRUE(plan.Fits(view.offset));
    EXPECT_EQ(plan.dynamic, view.dynamic);
  }
}

TEST(PlanView, OverlappingWindowsAreGathers) {
  EXPECT_FALSE(PlanView({8}, {4, 3}, {1, 1}).slices);
  EXPECT_FALSE(PlanView({8}, {3, 3}, {2, 1}).slices);
}

TEST(PlanView, AnAxisThatWouldWrapAroundDoesNotFit) {
  const ViewPlan plan = PlanView({3, 4}, {2, 3}, {4, 1});  // rows of three from four
  ASSERT_TRUE(plan.slices);
  EXPECT_TRUE(plan.Fits(0));
  EXPECT_TRUE(plan.Fits(5));
  EXPECT_FALSE(plan.Fits(2));  // as_strided from column 2: each row runs into the next
}

}  // namespace
}  // namespace torch_tpu::exec
