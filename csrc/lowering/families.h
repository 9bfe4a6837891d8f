// The families of lowerings. A new file adds two lines here.
#pragma once

#include "lowering/registry.h"

namespace torch_tpu::lowering {

OpRows ActivationRows();
OpRows AdaptivePoolingRows();
OpRows AmpRows();
OpRows ArithmeticRows();
OpRows AttentionRows();
OpRows BatchNormRows();
OpRows BesselRows();
OpRows BitwiseRows();
OpRows ClassLossRows();
OpRows ComparisonRows();
OpRows ComplexRows();
OpRows ConvolutionRows();
OpRows DataDependentRows();
OpRows DistanceRows();
OpRows DistributionGradRows();
OpRows DistributionRows();
OpRows ElementwiseRows();
OpRows EmbeddingBagRows();
OpRows EmbeddingRows();
OpRows ExtremumRows();
OpRows FactoryRows();
OpRows FftRows();
OpRows ForeachRows();
OpRows GammaRows();
OpRows GridSampleRows();
OpRows GroupedMatmulRows();
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
OpRows RecurrentRows();
OpRows ReductionRows();
OpRows SamplingRows();
OpRows ScanRows();
OpRows ScatterRows();
OpRows SearchRows();
OpRows SignalWindowRows();
OpRows SoftmaxRows();
OpRows SortRows();
OpRows SpecialFunctionRows();
OpRows UnfoldRows();
OpRows ViewCopyRows();
OpRows ViewRows();
OpRows ViewWriteRows();

inline constexpr OpRows (*kFamilies[])() = {
    // clang-format off
    ActivationRows,
    AdaptivePoolingRows,
    AmpRows,
    ArithmeticRows,
    AttentionRows,
    BatchNormRows,
    BesselRows,
    BitwiseRows,
    ClassLossRows,
    ComparisonRows,
    ComplexRows,
    ConvolutionRows,
    DataDependentRows,
    DistanceRows,
    DistributionGradRows,
    DistributionRows,
    ElementwiseRows,
    EmbeddingBagRows,
    EmbeddingRows,
    ExtremumRows,
    FactoryRows,
    FftRows,
    ForeachRows,
    GammaRows,
    GridSampleRows,
    GroupedMatmulRows,
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
    RecurrentRows,
    ReductionRows,
    SamplingRows,
    ScanRows,
    ScatterRows,
    SearchRows,
    SignalWindowRows,
    SoftmaxRows,
    SortRows,
    SpecialFunctionRows,
    UnfoldRows,
    ViewCopyRows,
    ViewRows,
    ViewWriteRows,
    // clang-format on
};

}  // namespace torch_tpu::lowering
