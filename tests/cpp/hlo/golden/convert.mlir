module @convert {
  func.func public @main(%0: tensor<2xf32>, %1: tensor<2xi64>, %2: tensor<2xcomplex<f32>>, %3: tensor<2xi1>) -> (tensor<2xf16>, tensor<2xi8>, tensor<2xui8>, tensor<2xi32>, tensor<2xui32>, tensor<2xi1>, tensor<2xui8>, tensor<2xf32>, tensor<2xf32>, tensor<2xf64>, tensor<2xi1>, tensor<2xcomplex<f32>>, tensor<2xf32>) {
    %4 = "stablehlo.convert"(%0) : (tensor<2xf32>) -> tensor<2xf16>
    %5 = "stablehlo.convert"(%0) : (tensor<2xf32>) -> tensor<2xi32>
    %6 = "stablehlo.convert"(%5) : (tensor<2xi32>) -> tensor<2xi8>
    %7 = "stablehlo.convert"(%0) : (tensor<2xf32>) -> tensor<2xi32>
    %8 = "stablehlo.convert"(%7) : (tensor<2xi32>) -> tensor<2xui8>
    %9 = "stablehlo.convert"(%0) : (tensor<2xf32>) -> tensor<2xi32>
    %10 = "stablehlo.convert"(%0) : (tensor<2xf32>) -> tensor<2xi64>
    %11 = "stablehlo.convert"(%10) : (tensor<2xi64>) -> tensor<2xui32>
    %12 = "stablehlo.constant"() {value = dense<0.0> : tensor<2xf32>} : () -> tensor<2xf32>
    %13 = "stablehlo.compare"(%0, %12) {comparison_direction = #stablehlo<comparison_direction NE>, compare_type = #stablehlo<comparison_type FLOAT>} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    %14 = "stablehlo.convert"(%1) : (tensor<2xi64>) -> tensor<2xui8>
    %15 = "stablehlo.convert"(%3) : (tensor<2xi1>) -> tensor<2xf32>
    %16 = "stablehlo.real"(%2) : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
    %17 = "stablehlo.real"(%2) : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
    %18 = "stablehlo.convert"(%17) : (tensor<2xf32>) -> tensor<2xf64>
    %19 = "stablehlo.constant"() {value = dense<(0.0, 0.0)> : tensor<2xcomplex<f32>>} : () -> tensor<2xcomplex<f32>>
    %20 = "stablehlo.compare"(%2, %19) {comparison_direction = #stablehlo<comparison_direction NE>, compare_type = #stablehlo<comparison_type FLOAT>} : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xi1>
    %21 = "stablehlo.convert"(%0) : (tensor<2xf32>) -> tensor<2xcomplex<f32>>
    "func.return"(%4, %6, %8, %9, %11, %13, %14, %15, %16, %18, %20, %21, %0) : (tensor<2xf16>, tensor<2xi8>, tensor<2xui8>, tensor<2xi32>, tensor<2xui32>, tensor<2xi1>, tensor<2xui8>, tensor<2xf32>, tensor<2xf32>, tensor<2xf64>, tensor<2xi1>, tensor<2xcomplex<f32>>, tensor<2xf32>) -> ()
  }
}
