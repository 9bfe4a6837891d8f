module @products {
  func.func public @main(%0: tensor<7x2x3xbf16>, %1: tensor<7x3x4xbf16>, %2: tensor<3xf32>) -> (tensor<7x2x4xf32>, tensor<f32>, tensor<3x3xf32>) {
    %3 = "stablehlo.dot_general"(%0, %1) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<7x2x3xbf16>, tensor<7x3x4xbf16>) -> tensor<7x2x4xf32>
    %4 = "stablehlo.dot_general"(%2, %2) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
    %5 = "stablehlo.dot_general"(%2, %2) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [], rhs_contracting_dimensions = []>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3x3xf32>
    "func.return"(%3, %4, %5) : (tensor<7x2x4xf32>, tensor<f32>, tensor<3x3xf32>) -> ()
  }
}
