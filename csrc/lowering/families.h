// The families of lowerings. A new file adds one line here.
#pragma once

#include "lowering/registry.h"

namespace torch_tpu::lowering {

OpRows ActivationRows();
OpRows AttentionRows();
OpRows ComparisonRows();
OpRows ConvolutionRows();
OpRows ElementwiseRows();
OpRows EmbeddingRows();
OpRows FactoryRows();
OpRows FftRows();
OpRows ForeachRows();
OpRows IndexRows();
OpRows InternalRows();
OpRows InterpolationRows();
OpRows LinalgRows();
OpRows LossRows();
OpRows MatmulRows();
OpRows NormalizationRows();
OpRows OptimizerRows();
OpRows PaddingRows();
OpRows PoolingRows();
OpRows RandomRows();
OpRows ReductionRows();
OpRows ScanRows();
OpRows ScatterRows();
OpRows SortRows();
OpRows ViewRows();

inline constexpr OpRows (*kFamilies[])() = {
    // clang-format off
    ActivationRows,
    AttentionRows,
    ComparisonRows,
    ConvolutionRows,
    ElementwiseRows,
    EmbeddingRows,
    FactoryRows,
    FftRows,
    ForeachRows,
    IndexRows,
    InternalRows,
    InterpolationRows,
    LinalgRows,
    LossRows,
    MatmulRows,
    NormalizationRows,
    OptimizerRows,
    PaddingRows,
    PoolingRows,
    RandomRows,
    ReductionRows,
    ScanRows,
    ScatterRows,
    SortRows,
    ViewRows,
    // clang-format on
};

}  // namespace torch_tpu::lowering
