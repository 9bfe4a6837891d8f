module @complex {
  func.func public @main(%0: tensor<2xf64>, %1: tensor<2xf64>) -> (tensor<2xcomplex<f64>>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) {
    %2 = "stablehlo.complex"(%0, %1) : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xcomplex<f64>>
    %3 = "stablehlo.real"(%2) : (tensor<2xcomplex<f64>>) -> tensor<2xf64>
    %4 = "stablehlo.imag"(%2) : (tensor<2xcomplex<f64>>) -> tensor<2xf64>
    "func.return"(%2, %3, %4, %0) : (tensor<2xcomplex<f64>>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> ()
  }
}
