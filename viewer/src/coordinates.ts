// Coordinates along the axes of a slice, and how they are written.
import type { Axis } from './slicing';

export interface Coordinate {
  units: string | null;
  is_date: boolean; // values are days since 1970
  is_down: boolean;
  values: number[];
}

export interface ShownAxis {
  name: string;
  label: string; // with the unit
  coordinate: Coordinate | null;
  values: number[]; // coordinates, else indexes
}

export const DAY = 86400; // seconds

export function shownAxis(name: string, axis: Extract<Axis, { from: number }>, step: number, length: number, found: Coordinate | null): ShownAxis {
  const coordinate = found && found.values.length === length ? found : null;
  const values = coordinate?.values ?? Array.from({ length }, (_, i) => axis.from + i * step);
  return { name, coordinate, values, label: coordinate?.units ? `${name} / ${coordinate.units}` : name };
}

export function written(value: number, coordinate: Coordinate | null): string {
  return coordinate?.is_date ? date(value) : String(Number(value.toPrecision(9)));
}

// As short as the date is: a day, a minute, a second or a part of one.
export function date(days: number): string {
  const text = new Date(Math.round(days * DAY * 1000)).toISOString().replace('T', ' ');
  const [end] = [[' 00:00:00.000Z', 10], [':00.000Z', 16], ['.000Z', 19]].filter(([tail]) => text.endsWith(tail as string));
  return text.slice(0, (end?.[1] as number | undefined) ?? 23);
}

// Missing 64-bit integers arrive as null.
export const numeric = (value: unknown): number => (value === null ? NaN : Number(value));

// The step of evenly spaced values; null for others, whose positions a picture of equal cells can't have.
export function even(values: number[]): number | null {
  if (values.length < 2) return 1;
  const step = (values[values.length - 1] - values[0]) / (values.length - 1);
  return values.every((each, i) => Math.abs(each - values[0] - i * step) < Math.abs(step) / 20) ? step : null;
}
