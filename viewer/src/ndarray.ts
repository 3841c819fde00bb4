// What h5web uses of the package ndarray, which compiles its classes from text: a policy without 'unsafe-eval' forbids that.
type Data<T> = ArrayLike<T> & { [index: number]: T };

export class NdArray<T> {
  readonly stride: number[];
  readonly size: number;
  readonly dimension: number;
  readonly offset = 0;
  readonly dtype: string;

  constructor(readonly data: Data<T>, readonly shape: number[]) {
    this.dimension = shape.length;
    this.stride = shape.map((_, axis) => shape.slice(axis + 1).reduce((a, b) => a * b, 1));
    this.size = shape.reduce((a, b) => a * b, 1);
    this.dtype = Array.isArray(data) ? 'array' : data.constructor.name.replace('Array', '').toLowerCase();
  }

  index(...place: number[]): number {
    return place.reduce((sum, each, axis) => sum + each * this.stride[axis], this.offset);
  }

  get(...place: number[]): T {
    return this.data[this.index(...place)];
  }

  set(...placeAndValue: [...number[], T]): T {
    const value = placeAndValue[this.dimension] as T;
    this.data[this.index(...(placeAndValue.slice(0, this.dimension) as number[]))] = value;
    return value;
  }
}

export default function ndarray<T>(data: Data<T>, shape: number[] = [data.length]): NdArray<T> {
  return new NdArray(data, shape);
}
