// Selections as the service takes them: `0,:,10:20`.
import type { ArrayNode } from './api';

export type Axis = { at: number } | { from: number; to: number };

const LARGEST = 32e6; // bytes of a first view
const WINDOW = 1024;
const STEPS = 2048; // elements along an axis of a picture

export const isShown = (axis: Axis): axis is { from: number; to: number } => 'from' in axis;

// The last `count` axes whole, if they are not too large.
export function standard(node: ArrayNode, count: number): Axis[] {
  const first = node.shape.length - count;
  const bytes = node.shape.slice(first).reduce((a, b) => a * b, node.itemsize);
  return node.shape.map((length, axis) =>
    axis < first ? { at: 0 } : { from: 0, to: bytes > LARGEST ? Math.min(length, WINDOW) : length },
  );
}

export function parse(text: string, node: ArrayNode, count: number): Axis[] {
  const parts = text.split(',');
  if (!text || parts.length !== node.shape.length) return standard(node, count);
  const axes = parts.map((part, axis): Axis => {
    const length = node.shape[axis];
    const inside = (x: number, default_: number) => (Number.isFinite(x) ? Math.min(Math.max(Math.trunc(x), 0), length) : default_);
    if (!part.includes(':')) return { at: Math.min(inside(Number(part), 0), Math.max(length - 1, 0)) };
    const [from, to] = part.split(':').map((each) => (each.trim() ? Number(each) : NaN));
    return { from: inside(from, 0), to: inside(to, length) };
  });
  return axes.filter(isShown).length === count ? axes : standard(node, count);
}

export function format(axes: Axis[], node: ArrayNode): string {
  return axes
    .map((axis, number) => {
      if (!isShown(axis)) return String(axis.at);
      return axis.from === 0 && axis.to === node.shape[number] ? ':' : `${axis.from}:${axis.to}`;
    })
    .join(',');
}

// The selection to ask for: every `step`-th element where an axis has more than a picture shows.
export function sampled(axes: Axis[], most = STEPS): { selection: string; steps: number[]; lengths: number[] } {
  const steps: number[] = [];
  const lengths: number[] = [];
  const parts = axes.map((axis) => {
    if (!isShown(axis)) return String(axis.at);
    const step = Math.max(Math.ceil((axis.to - axis.from) / most), 1);
    steps.push(step);
    lengths.push(Math.max(Math.ceil((axis.to - axis.from) / step), 0));
    return `${axis.from}:${axis.to}${step > 1 ? `:${step}` : ''}`;
  });
  return { selection: parts.join(','), steps, lengths };
}
