module @fft {
  func.func public @main(%0: tensor<2x8xf32>, %1: tensor<2x5xcomplex<f32>>) -> (tensor<2x5xcomplex<f32>>, tensor<2x8xf32>, tensor<2x5xcomplex<f32>>, tensor<2x5xcomplex<f32>>) {
    %2 = "stablehlo.fft"(%0) {fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 8>} : (tensor<2x8xf32>) -> tensor<2x5xcomplex<f32>>
    %3 = "stablehlo.fft"(%1) {fft_type = #stablehlo<fft_type IRFFT>, fft_length = array<i64: 8>} : (tensor<2x5xcomplex<f32>>) -> tensor<2x8xf32>
    %4 = "stablehlo.fft"(%1) {fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 5>} : (tensor<2x5xcomplex<f32>>) -> tensor<2x5xcomplex<f32>>
    %5 = "stablehlo.fft"(%1) {fft_type = #stablehlo<fft_type IFFT>, fft_length = array<i64: 2, 5>} : (tensor<2x5xcomplex<f32>>) -> tensor<2x5xcomplex<f32>>
    "func.return"(%2, %3, %4, %5) : (tensor<2x5xcomplex<f32>>, tensor<2x8xf32>, tensor<2x5xcomplex<f32>>, tensor<2x5xcomplex<f32>>) -> ()
  }
}
