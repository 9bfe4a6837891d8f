// The families of lowerings. A new file adds two lines here.
#pragma once

#include "lowering/registry.h"

namespace torch_tpu::lowering {

OpRows ActivationRows();
OpRows AdaptivePoolingRows();
OpRows AiryRows();
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
OpRows CtcRows();
OpRows DataDependentRows();
OpRows DistanceRows();
OpRows DistributionGradRows();
OpRows DistributionRows();
OpRows EighRows();
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
OpRows HistogramRows();
OpRows IndexRows();
OpRows InternalRows();
OpRows InterpolationRows();
OpRows LinalgRows();
OpRows LossRows();
OpRows LstsqRows();
OpRows LuRows();
OpRows MatmulRows();
OpRows MatrixExpRows();
OpRows NormalizationRows();
OpRows OptimizerRows();
OpRows PaddingRows();
OpRows PolynomialRows();
OpRows PoolingRows();
OpRows QrRows();
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
OpRows SvdRows();
OpRows UnfoldRows();
OpRows ViewCopyRows();
OpRows ViewRows();
OpRows ViewWriteRows();

inline constexpr OpRows (*kFamilies[])() = {
    // clang-format off
    ActivationRows,
    AdaptivePoolingRows,
    AiryRows,
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
    CtcRows,
    DataDependentRows,
    DistanceRows,
    DistributionGradRows,
    DistributionRows,
    EighRows,
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
    HistogramRows,
    IndexRows,
    InternalRows,
    InterpolationRows,
    LinalgRows,
    LossRows,
    LstsqRows,
    LuRows,
    MatmulRows,
    MatrixExpRows,
    NormalizationRows,
    OptimizerRows,
    PaddingRows,
    PolynomialRows,
    PoolingRows,
    QrRows,
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
    SvdRows,
    UnfoldRows,
    ViewCopyRows,
    ViewRows,
    ViewWriteRows,
    // clang-format on
};

}  // namespace torch_tpu::lowering
