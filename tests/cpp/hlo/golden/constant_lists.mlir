module @constant_lists {
  func.func public @main() -> (tensor<1x2x3xi64>, tensor<2xui8>, tensor<i32>, tensor<3x1xi1>, tensor<4xf32>, tensor<2x1xf64>) {
    %0 = "stablehlo.constant"() {value = dense<[[[1, 2, 3], [4, 5, 6]]]> : tensor<1x2x3xi64>} : () -> tensor<1x2x3xi64>
    %1 = "stablehlo.constant"() {value = dense<[255, 0]> : tensor<2xui8>} : () -> tensor<2xui8>
    %2 = "stablehlo.constant"() {value = dense<9> : tensor<i32>} : () -> tensor<i32>
    %3 = "stablehlo.constant"() {value = dense<[[false], [true], [true]]> : tensor<3x1xi1>} : () -> tensor<3x1xi1>
    %4 = "stablehlo.constant"() {value = dense<[0.1, -0.0, 1.0e-40, 0x7F800000]> : tensor<4xf32>} : () -> tensor<4xf32>
    %5 = "stablehlo.constant"() {value = dense<[[0.1], [1.0e+300]]> : tensor<2x1xf64>} : () -> tensor<2x1xf64>
    "func.return"(%0, %1, %2, %3, %4, %5) : (tensor<1x2x3xi64>, tensor<2xui8>, tensor<i32>, tensor<3x1xi1>, tensor<4xf32>, tensor<2x1xf64>) -> ()
  }
}
