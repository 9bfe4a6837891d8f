module @joined {
  func.func public @main(%0: tensor<2x3xf32>, %1: tensor<2x1xf32>) -> (tensor<2x7xf32>, tensor<3x2xf32>, tensor<2x7xf32>) {
    %2 = "stablehlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
    %3 = "stablehlo.concatenate"(%0, %1, %0) {dimension = 1 : i64} : (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x3xf32>) -> tensor<2x7xf32>
    %4 = "stablehlo.pad"(%0, %2) {edge_padding_low = array<i64: 1, 0>, edge_padding_high = array<i64: 0, -1>, interior_padding = array<i64: 0, 0>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<3x2xf32>
    %5 = "stablehlo.pad"(%0, %2) {edge_padding_low = array<i64: 0, 0>, edge_padding_high = array<i64: 0, 2>, interior_padding = array<i64: 0, 1>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x7xf32>
    "func.return"(%3, %4, %5) : (tensor<2x7xf32>, tensor<3x2xf32>, tensor<2x7xf32>) -> ()
  }
}
