module @constants {
  func.func public @main() -> (tensor<f16>, tensor<bf16>, tensor<f32>, tensor<f64>, tensor<f8E5M2>, tensor<f8E4M3FN>, tensor<2xui8>, tensor<2xui16>, tensor<2xui32>, tensor<2xui64>, tensor<2xi8>, tensor<2xi16>, tensor<2xi32>, tensor<2xi64>, tensor<i1>, tensor<0xi1>, tensor<2x2xcomplex<f32>>, tensor<complex<f64>>, tensor<2xui32>) {
    %0 = "stablehlo.constant"() {value = dense<0.5> : tensor<f16>} : () -> tensor<f16>
    %1 = "stablehlo.constant"() {value = dense<0.5> : tensor<bf16>} : () -> tensor<bf16>
    %2 = "stablehlo.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
    %3 = "stablehlo.constant"() {value = dense<0.5> : tensor<f64>} : () -> tensor<f64>
    %4 = "stablehlo.constant"() {value = dense<0.5> : tensor<f8E5M2>} : () -> tensor<f8E5M2>
    %5 = "stablehlo.constant"() {value = dense<0.5> : tensor<f8E4M3FN>} : () -> tensor<f8E4M3FN>
    %6 = "stablehlo.constant"() {value = dense<7> : tensor<2xui8>} : () -> tensor<2xui8>
    %7 = "stablehlo.constant"() {value = dense<7> : tensor<2xui16>} : () -> tensor<2xui16>
    %8 = "stablehlo.constant"() {value = dense<7> : tensor<2xui32>} : () -> tensor<2xui32>
    %9 = "stablehlo.constant"() {value = dense<7> : tensor<2xui64>} : () -> tensor<2xui64>
    %10 = "stablehlo.constant"() {value = dense<7> : tensor<2xi8>} : () -> tensor<2xi8>
    %11 = "stablehlo.constant"() {value = dense<7> : tensor<2xi16>} : () -> tensor<2xi16>
    %12 = "stablehlo.constant"() {value = dense<7> : tensor<2xi32>} : () -> tensor<2xi32>
    %13 = "stablehlo.constant"() {value = dense<7> : tensor<2xi64>} : () -> tensor<2xi64>
    %14 = "stablehlo.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
    %15 = "stablehlo.constant"() {value = dense<false> : tensor<0xi1>} : () -> tensor<0xi1>
    %16 = "stablehlo.constant"() {value = dense<(1.0, -2.0)> : tensor<2x2xcomplex<f32>>} : () -> tensor<2x2xcomplex<f32>>
    %17 = "stablehlo.constant"() {value = dense<(3.0, 0.0)> : tensor<complex<f64>>} : () -> tensor<complex<f64>>
    %18 = "stablehlo.constant"() {value = dense<4294967295> : tensor<2xui32>} : () -> tensor<2xui32>
    "func.return"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18) : (tensor<f16>, tensor<bf16>, tensor<f32>, tensor<f64>, tensor<f8E5M2>, tensor<f8E4M3FN>, tensor<2xui8>, tensor<2xui16>, tensor<2xui32>, tensor<2xui64>, tensor<2xi8>, tensor<2xi16>, tensor<2xi32>, tensor<2xi64>, tensor<i1>, tensor<0xi1>, tensor<2x2xcomplex<f32>>, tensor<complex<f64>>, tensor<2xui32>) -> ()
  }
}
