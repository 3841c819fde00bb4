// Points of a table in the plane of its two coordinates.
import { useEffect, useRef, useState } from 'react';

import { api, type GroupNode, useJson } from './api';

interface Points {
  rows: number;
  step: number;
  names: [string, string, string];
  units: string | null; // of z
  x: (number | null)[];
  y: (number | null)[];
  z: (number | null)[];
}

interface Props {
  file: string;
  path: string;
  coordinates: NonNullable<GroupNode['coordinates']>;
}

const [WIDTH, HEIGHT, EDGE] = [900, 480, 46];

export default function PointMap({ file, path, coordinates }: Props) {
  const [color, setColor] = useState(coordinates.others[0] ?? coordinates.y);
  const { value, error } = useJson<Points>(api('map', { file, path, color }));
  const place = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    if (place.current && value) draw(place.current, value);
  }, [value]);
  const shown = value?.x.length ?? 0;
  return (
    <figure>
      <label>
        Colour{' '}
        <select value={color} onChange={(event) => setColor(event.target.value)}>
          {[...coordinates.others, coordinates.x, coordinates.y].map((name) => <option key={name}>{name}</option>)}
        </select>
      </label>
      {error && <p role="alert" className="error">{error}</p>}
      <canvas ref={place} width={WIDTH} height={HEIGHT} className="map" role="img" aria-label={`Map of ${path}: ${shown} points, coloured by ${color}`} />
      {value && (
        <figcaption className="quiet">
          {value.step > 1
            ? `One of ${value.step} rows is shown: ${shown.toLocaleString('en')} of ${value.rows.toLocaleString('en')}.`
            : `All ${value.rows.toLocaleString('en')} rows.`}{' '}
          {value.names[2]}: {range(value.z).map((each) => each.toPrecision(4)).join(' (dark) to ')}{value.units ? ` ${value.units}` : ''} (bright).
        </figcaption>
      )}
    </figure>
  );
}

function range(column: (number | null)[]): [number, number] {
  return column.reduce<[number, number]>(
    ([low, high], each) => (each === null ? [low, high] : [Math.min(low, each), Math.max(high, each)]),
    [Infinity, -Infinity],
  );
}

function draw(canvas: HTMLCanvasElement, { x, y, z, names }: Points) {
  const pen = canvas.getContext('2d');
  if (!pen) return;
  const [[west, east], [south, north], [low, high]] = [range(x), range(y), range(z)];
  const place = (value: number, from: number, to: number, length: number) => ((value - from) / (to - from || 1)) * length;
  pen.clearRect(0, 0, WIDTH, HEIGHT);
  pen.fillStyle = getComputedStyle(canvas).color;
  pen.font = '13px system-ui, sans-serif';
  pen.fillText(`${names[0]} ${west.toPrecision(6)} … ${east.toPrecision(6)}`, EDGE, HEIGHT - 8);
  pen.fillText(`${names[1]} ${north.toPrecision(6)}`, EDGE, 14);
  pen.fillText(`${south.toPrecision(6)}`, EDGE, HEIGHT - 26);
  x.forEach((each, i) => {
    const [other, value] = [y[i], z[i]];
    if (each === null || other === null) return;
    pen.fillStyle = value === null ? '#888' : shade(place(value, low, high, 1));
    const left = EDGE + place(each, west, east, WIDTH - 2 * EDGE);
    pen.fillRect(left - 1, HEIGHT - EDGE - place(other, south, north, HEIGHT - 2 * EDGE) - 1, 3, 3);
  });
}

// From blue to yellow, readable on white and on black.
function shade(part: number): string {
  return `hsl(${260 - 205 * part} 75% ${42 + 12 * part}%)`;
}
