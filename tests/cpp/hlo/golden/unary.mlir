module @unary {
  func.func public @main(%0: tensor<3xf32>, %1: tensor<3xcomplex<f32>>, %2: tensor<3xi1>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xi1>, tensor<3xcomplex<f32>>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
    %3 = "stablehlo.abs"(%0) : (tensor<3xf32>) -> tensor<3xf32>
    %4 = "stablehlo.abs"(%1) : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
    %5 = "stablehlo.not"(%2) : (tensor<3xi1>) -> tensor<3xi1>
    %6 = "stablehlo.negate"(%1) : (tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
    %7 = "stablehlo.exponential"(%0) : (tensor<3xf32>) -> tensor<3xf32>
    %8 = "stablehlo.exponential_minus_one"(%0) : (tensor<3xf32>) -> tensor<3xf32>
    %9 = "stablehlo.log"(%0) : (tensor<3xf32>) -> tensor<3xf32>
    %10 = "stablehlo.log_plus_one"(%0) : (tensor<3xf32>) -> tensor<3xf32>
    %11 = "stablehlo.sqrt"(%0) : (tensor<3xf32>) -> tensor<3xf32>
    %12 = "stablehlo.rsqrt"(%0) : (tensor<3xf32>) -> tensor<3xf32>
    %13 = "stablehlo.tanh"(%0) : (tensor<3xf32>) -> tensor<3xf32>
    %14 = "stablehlo.logistic"(%0) : (tensor<3xf32>) -> tensor<3xf32>
    %15 = "stablehlo.sine"(%0) : (tensor<3xf32>) -> tensor<3xf32>
    %16 = "stablehlo.cosine"(%0) : (tensor<3xf32>) -> tensor<3xf32>
    %17 = "stablehlo.floor"(%0) : (tensor<3xf32>) -> tensor<3xf32>
    %18 = "stablehlo.ceil"(%0) : (tensor<3xf32>) -> tensor<3xf32>
    %19 = "stablehlo.sign"(%0) : (tensor<3xf32>) -> tensor<3xf32>
    %20 = "stablehlo.round_nearest_even"(%0) : (tensor<3xf32>) -> tensor<3xf32>
    %21 = "chlo.erf"(%0) : (tensor<3xf32>) -> tensor<3xf32>
    "func.return"(%3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21) : (tensor<3xf32>, tensor<3xf32>, tensor<3xi1>, tensor<3xcomplex<f32>>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> ()
  }
}
