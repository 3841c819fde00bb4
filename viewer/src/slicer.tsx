import { useEffect, useState } from 'react';

import { isShown, type Axis } from './slicing';
import type { ArrayNode } from './api';

interface Props {
  node: ArrayNode;
  axes: Axis[];
  onChange: (axes: Axis[], replace?: boolean) => void;
}

export function Slicer({ node, axes, onChange }: Props) {
  const set = (number: number, axis: Axis, replace = false) =>
    onChange(axes.map((old, each) => (each === number ? axis : old)), replace);
  // Showing an axis puts the first shown one at its start.
  const show = (number: number) => {
    const first = axes.findIndex(isShown);
    onChange(axes.map((old, each) => {
      if (each === number) return { from: 0, to: node.shape[number] };
      return each === first ? { at: 0 } : old;
    }));
  };
  return (
    <fieldset className="slicer">
      <legend>Slice</legend>
      {axes.map((axis, number) => {
        const name = node.dims[number] ?? `axis ${number}`;
        const length = node.shape[number];
        return (
          <div key={number} className="axis">
            <span className="dim">{name} <small>{length.toLocaleString('en')}</small></span>
            {isShown(axis) ? (
              <>
                <Whole label={`${name}: from`} value={axis.from} most={Math.max(axis.to - 1, 0)} onChange={(from) => set(number, { ...axis, from })} />
                <span aria-hidden="true">to</span>
                <Whole label={`${name}: to`} value={axis.to} least={axis.from + 1} most={length} onChange={(to) => set(number, { ...axis, to })} />
              </>
            ) : (
              <>
                <input
                  type="range" aria-label={`${name}: index slider`} min={0} max={Math.max(length - 1, 0)} value={axis.at}
                  onChange={(event) => set(number, { at: Number(event.target.value) }, true)}
                />
                <Whole label={`${name}: index`} value={axis.at} most={Math.max(length - 1, 0)} onChange={(at) => set(number, { at })} />
                <button type="button" onClick={() => show(number)} aria-label={`show along ${name}`}>show</button>
              </>
            )}
          </div>
        );
      })}
    </fieldset>
  );
}

interface WholeProps {
  label: string;
  value: number;
  least?: number;
  most: number;
  onChange: (value: number) => void;
}

// What is being typed stays until it is a valid number.
function Whole({ label, value, least = 0, most, onChange }: WholeProps) {
  const [text, setText] = useState(String(value));
  useEffect(() => setText(String(value)), [value]);
  return (
    <input
      type="number" aria-label={label} min={least} max={most} value={text}
      onBlur={() => setText(String(value))}
      onChange={(event) => {
        setText(event.target.value);
        const next = event.target.valueAsNumber;
        if (Number.isInteger(next) && next >= least && next <= most) onChange(next);
      }}
    />
  );
}
