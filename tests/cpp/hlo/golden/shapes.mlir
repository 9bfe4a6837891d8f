module @shapes {
  func.func public @main(%0: tensor<2x3xf32>, %1: tensor<f32>) -> (tensor<3x2x1xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<4x2x3xf32>, tensor<2xf32>, tensor<2x3xf32>) {
    %2 = "stablehlo.reshape"(%0) : (tensor<2x3xf32>) -> tensor<3x2x1xf32>
    %3 = "stablehlo.transpose"(%0) {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %4 = "stablehlo.broadcast_in_dim"(%0) {broadcast_dimensions = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %5 = "stablehlo.broadcast_in_dim"(%0) {broadcast_dimensions = array<i64: 1, 2>} : (tensor<2x3xf32>) -> tensor<4x2x3xf32>
    %6 = "stablehlo.broadcast_in_dim"(%1) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<2xf32>
    %7 = "stablehlo.reverse"(%0) {dimensions = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    "func.return"(%2, %3, %4, %5, %6, %7) : (tensor<3x2x1xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<4x2x3xf32>, tensor<2xf32>, tensor<2x3xf32>) -> ()
  }
}
