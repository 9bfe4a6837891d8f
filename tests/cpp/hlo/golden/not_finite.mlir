module @not_finite {
  func.func public @main() -> (tensor<f16>, tensor<f16>, tensor<2xf16>, tensor<bf16>, tensor<bf16>, tensor<2xbf16>, tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<f64>, tensor<f64>, tensor<2xf64>, tensor<f8E5M2>, tensor<f8E5M2>, tensor<2xf8E5M2>, tensor<f8E4M3FN>) {
    %0 = "stablehlo.constant"() {value = dense<0x7E00> : tensor<f16>} : () -> tensor<f16>
    %1 = "stablehlo.constant"() {value = dense<0x7C00> : tensor<f16>} : () -> tensor<f16>
    %2 = "stablehlo.constant"() {value = dense<0xFC00> : tensor<2xf16>} : () -> tensor<2xf16>
    %3 = "stablehlo.constant"() {value = dense<0x7FC0> : tensor<bf16>} : () -> tensor<bf16>
    %4 = "stablehlo.constant"() {value = dense<0x7F80> : tensor<bf16>} : () -> tensor<bf16>
    %5 = "stablehlo.constant"() {value = dense<0xFF80> : tensor<2xbf16>} : () -> tensor<2xbf16>
    %6 = "stablehlo.constant"() {value = dense<0x7FC00000> : tensor<f32>} : () -> tensor<f32>
    %7 = "stablehlo.constant"() {value = dense<0x7F800000> : tensor<f32>} : () -> tensor<f32>
    %8 = "stablehlo.constant"() {value = dense<0xFF800000> : tensor<2xf32>} : () -> tensor<2xf32>
    %9 = "stablehlo.constant"() {value = dense<0x7FF8000000000000> : tensor<f64>} : () -> tensor<f64>
    %10 = "stablehlo.constant"() {value = dense<0x7FF0000000000000> : tensor<f64>} : () -> tensor<f64>
    %11 = "stablehlo.constant"() {value = dense<0xFFF0000000000000> : tensor<2xf64>} : () -> tensor<2xf64>
    %12 = "stablehlo.constant"() {value = dense<0x7F> : tensor<f8E5M2>} : () -> tensor<f8E5M2>
    %13 = "stablehlo.constant"() {value = dense<0x7C> : tensor<f8E5M2>} : () -> tensor<f8E5M2>
    %14 = "stablehlo.constant"() {value = dense<0xFC> : tensor<2xf8E5M2>} : () -> tensor<2xf8E5M2>
    %15 = "stablehlo.constant"() {value = dense<0x7F> : tensor<f8E4M3FN>} : () -> tensor<f8E4M3FN>
    "func.return"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15) : (tensor<f16>, tensor<f16>, tensor<2xf16>, tensor<bf16>, tensor<bf16>, tensor<2xbf16>, tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<f64>, tensor<f64>, tensor<2xf64>, tensor<f8E5M2>, tensor<f8E5M2>, tensor<2xf8E5M2>, tensor<f8E4M3FN>) -> ()
  }
}
