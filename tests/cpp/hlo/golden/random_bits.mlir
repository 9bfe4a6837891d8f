module @random_bits {
  func.func public @main(%0: tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>) {
    %1, %2 = "stablehlo.rng_bit_generator"(%0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
    "func.return"(%1, %2) : (tensor<2xui64>, tensor<4xui32>) -> ()
  }
}
