module @operators {
  func.func public @main(%0: tensor<2xf32>, %1: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
    %2 = "stablehlo.add"(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %3 = "stablehlo.subtract"(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %4 = "stablehlo.multiply"(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %5 = "stablehlo.divide"(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %6 = "stablehlo.negate"(%0) : (tensor<2xf32>) -> tensor<2xf32>
    %7 = "stablehlo.constant"() {value = dense<1.0> : tensor<2xf32>} : () -> tensor<2xf32>
    %8 = "stablehlo.add"(%0, %7) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %9 = "stablehlo.constant"() {value = dense<2.0> : tensor<2xf32>} : () -> tensor<2xf32>
    %10 = "stablehlo.subtract"(%0, %9) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %11 = "stablehlo.constant"() {value = dense<0.5> : tensor<2xf32>} : () -> tensor<2xf32>
    %12 = "stablehlo.multiply"(%0, %11) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %13 = "stablehlo.constant"() {value = dense<4.0> : tensor<2xf32>} : () -> tensor<2xf32>
    %14 = "stablehlo.divide"(%0, %13) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %15 = "stablehlo.constant"() {value = dense<1.0> : tensor<2xf32>} : () -> tensor<2xf32>
    %16 = "stablehlo.add"(%15, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %17 = "stablehlo.constant"() {value = dense<2.0> : tensor<2xf32>} : () -> tensor<2xf32>
    %18 = "stablehlo.subtract"(%17, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %19 = "stablehlo.constant"() {value = dense<3.0> : tensor<2xf32>} : () -> tensor<2xf32>
    %20 = "stablehlo.multiply"(%19, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %21 = "stablehlo.constant"() {value = dense<1.0> : tensor<2xf32>} : () -> tensor<2xf32>
    %22 = "stablehlo.divide"(%21, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    "func.return"(%2, %3, %4, %5, %6, %8, %10, %12, %14, %16, %18, %20, %22) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> ()
  }
}
