// Minimum, mean and maximum of windows. A zoom is one request.
import { useMemo, useState } from 'react';

import { api, type ArrayNode, size, useJson } from './api';
import { Plot } from './plot';

interface Windows {
  axis: string;
  source: string;
  bytes_read: number;
  t0: number;
  step: number;
  seen?: number; // samples of each window that were read, where not all were
  min: (number | null)[];
  mean: (number | null)[];
  max: (number | null)[];
}

const UTC = 'UTC seconds'; // the service's name of seconds since 1970

const SERIES = [
  {},
  { label: 'maximum', stroke: '#7aa7ee', width: 1 },
  { label: 'mean', stroke: '#2f6fdb', width: 1 },
  { label: 'minimum', stroke: '#7aa7ee', width: 1 },
];

export default function Trend({ file, node }: { file: string; node: ArrayNode }) {
  const [spans, setSpans] = useState<[number, number][]>([]);
  const span = spans.at(-1);
  const { value, error, isOld } = useJson<Windows>(
    api('trend', { file, path: node.path, ...(span ? { start: span[0], stop: span[1] } : {}) }),
  );
  const data = useMemo<[number[], (number | null)[], (number | null)[], (number | null)[]] | null>(
    () => value ? [value.min.map((_, i) => value.t0 + i * value.step), value.max, value.mean, value.min] : null,
    [value],
  );
  const units = [node.name, node.units].filter(Boolean).join(' / ');
  return (
    <figure aria-busy={isOld}>
      <p>
        <button type="button" disabled={!span} onClick={() => setSpans(spans.slice(0, -1))}>zoom out</button>{' '}
        <button type="button" disabled={!data} onClick={() => data && setSpans([...spans, middle(data[0])])}>zoom in</button>{' '}
        <small>or drag over a stretch</small>
      </p>
      {error && <p role="alert" className="error">{error}</p>}
      {!value && !error && <p role="status">Loading…</p>}
      {value && data && !error && (
        <>
          <Plot
            data={data} series={SERIES} bands={[{ series: [1, 3], fill: 'rgba(47,111,219,0.25)' }]} x={value.axis === UTC ? 'time' : value.axis} y={units} isDate={value.axis === UTC}
            label={`Trend of ${units}: ${value.min.length} windows from ${least(value.min)} to ${most(value.max)}`}
            onZoom={(from, to) => setSpans([...spans, [from, to]])}
          />
          <figcaption className="quiet">
            Each window of {value.step.toLocaleString('en')} {value.axis === 'index' ? 'samples' : 's'} is drawn from its minimum to its maximum.
            {(value.seen ?? value.step) < value.step && `Only the first ${value.seen?.toLocaleString('en')} samples of each were read, so peaks may be missing: zoom in for all. `}
            Read: {size(value.bytes_read)} of {value.source === 'samples' ? 'samples' : `stored trends of ${value.source}`}.
          </figcaption>
        </>
      )}
    </figure>
  );
}

function middle(x: number[]): [number, number] {
  const [low, high] = [x[0], x[x.length - 1]];
  return [low + (high - low) / 4, high - (high - low) / 4];
}

const numbers = (column: (number | null)[]) => column.filter((each): each is number => each !== null);
const least = (column: (number | null)[]) => numbers(column).reduce((a, b) => Math.min(a, b), Infinity);
const most = (column: (number | null)[]) => numbers(column).reduce((a, b) => Math.max(a, b), -Infinity);
