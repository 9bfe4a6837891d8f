#include "lowering/registry.h"

#include <c10/util/Exception.h>

#include <unordered_map>

#include "lowering/families.h"

namespace torch_tpu::lowering {

const OpRows& Rows() {
  static const OpRows rows = [] {
    OpRows all;
    for (const auto& family : kFamilies) {
      const bool products = family == MatmulRows || family == ConvolutionRows ||
                            family == AttentionRows || family == LinalgRows;
      const bool disjoint = family == IndexRows || family == ScatterRows;
      const bool exact_out = family == ViewCopyRows || family == ViewWriteRows ||
                             family == LinalgRows || family == LuRows || family == QrRows ||
                             family == SvdRows || family == EighRows || family == SoftmaxRows ||
                             family == PoolingRows || family == SortRows || family == UnfoldRows;
      for (OpRow& row : family()) {
        row.flags.products = products;
        row.flags.disjoint |= disjoint;
        row.flags.exact_out |= disjoint || exact_out;
        all.push_back(std::move(row));
      }
    }
    for (size_t i = 0; i < all.size(); ++i) all[i].index = static_cast<int>(i);
    return all;
  }();
  return rows;
}

const OpRow* FindRow(std::string_view name) {
  static const auto& by_name = *[] {
    auto* map = new std::unordered_map<std::string_view, const OpRow*>();
    for (const OpRow& row : Rows()) {
      TORCH_INTERNAL_ASSERT(map->emplace(row.name, &row).second, row.name, " has two rows");
    }
    return map;
  }();
  const auto it = by_name.find(name);
  return it == by_name.end() ? nullptr : it->second;
}

}  // namespace torch_tpu::lowering
