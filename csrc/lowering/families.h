// The families of lowerings. A new file adds one line here.
#pragma once

#include "lowering/registry.h"

namespace torch_tpu::lowering {

OpRows ActivationRows();
OpRows AttentionRows();
OpRows ConvolutionRows();
OpRows ElementwiseRows();
OpRows ComparisonRows();
OpRows EmbeddingRows();
OpRows FactoryRows();
OpRows FftRows();
OpRows ForeachRows();
OpRows IndexRows();
OpRows InternalRows();
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
    ActivationRows, AttentionRows, ConvolutionRows, ElementwiseRows, ComparisonRows,
    EmbeddingRows,  FactoryRows,   FftRows,         ForeachRows,     IndexRows,      InternalRows,
    LinalgRows,     LossRows,      MatmulRows,      NormalizationRows, OptimizerRows,
    PaddingRows,    PoolingRows,   RandomRows,      ReductionRows,   ScanRows,
    ScatterRows,    SortRows,      ViewRows};

}  // namespace torch_tpu::lowering
