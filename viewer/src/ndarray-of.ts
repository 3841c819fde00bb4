import ndarray, { type NdArray } from 'ndarray';

export function ndarrayOf(values: Float32Array | Float64Array, shape: number[]): NdArray<Float32Array | Float64Array> {
  return ndarray(values, shape);
}
