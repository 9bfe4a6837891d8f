// The families of lowerings. A new file adds two lines here.
#pragma once

#include "lowering/registry.h"

namespace torch_tpu::lowering {

OpRows ActivationRows();
OpRows AmpRows();
OpRows ArithmeticRows();
OpRows AdaptivePoolingRows();
OpRows AttentionRows();
OpRows BatchNormRows();
OpRows BesselRows();
OpRows BitwiseRows();
OpRows ClassLossRows();
OpRows ComparisonRows();
OpRows ComplexRows();
OpRows ConvolutionRows();
OpRows DistanceRows();
OpRows DataDependentRows();
OpRows ElementwiseRows();
OpRows EmbeddingBagRows();
OpRows EmbeddingRows();
OpRows ExtremumRows();
OpRows FactoryRows();
OpRows FftRows();
OpRows ForeachRows();
OpRows GridSampleRows();
OpRows GammaRows();
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
OpRows ViewCopyRows();
OpRows UnfoldRows();
OpRows ViewRows();
OpRows ViewWriteRows();

inline constexpr OpRows (*kFamilies[])() = {
    // clang-format off
    ActivationRows,
    AmpRows,
    ArithmeticRows,
    AdaptivePoolingRows,
    AttentionRows,
    BatchNormRows,
    BesselRows,
    BitwiseRows,
    ClassLossRows,
    ComparisonRows,
    ComplexRows,
    ConvolutionRows,
    DistanceRows,
    DataDependentRows,
    ElementwiseRows,
    EmbeddingBagRows,
    EmbeddingRows,
    ExtremumRows,
    FactoryRows,
    FftRows,
    ForeachRows,
    GridSampleRows,
    GammaRows,
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
    ViewCopyRows,
    UnfoldRows,
    ViewRows,
    ViewWriteRows,
    // clang-format on
};

}  // namespace torch_tpu::lowering
