module @solvers {
  func.func public @main(%0: tensor<3x3xf32>, %1: tensor<3x2xf32>) -> (tensor<3x3xf32>, tensor<3x2xf32>, tensor<2x3xf32>) {
    %2 = "stablehlo.cholesky"(%0) {lower = true} : (tensor<3x3xf32>) -> tensor<3x3xf32>
    %3 = "stablehlo.triangular_solve"(%2, %1) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
    %4 = "stablehlo.transpose"(%1) {permutation = array<i64: 1, 0>} : (tensor<3x2xf32>) -> tensor<2x3xf32>
    %5 = "stablehlo.triangular_solve"(%0, %4) {left_side = false, lower = false, unit_diagonal = true, transpose_a = #stablehlo<transpose ADJOINT>} : (tensor<3x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    "func.return"(%2, %3, %5) : (tensor<3x3xf32>, tensor<3x2xf32>, tensor<2x3xf32>) -> ()
  }
}
