import { useMemo } from 'react';

import type { Shown } from './array';
import { DAY, numeric } from './coordinates';
import { Plot } from './plot';

export default function Line({ axes: [axis], values, label }: Shown) {
  const isDate = axis.coordinate?.is_date ?? false;
  const data = useMemo<[number[], (number | null)[]]>(() => {
    const x = axis.values.map((each) => (isDate ? each * DAY : each));
    const y = Array.from(values, numeric).map((each) => (Number.isFinite(each) ? each : null));
    return x[0] > x[x.length - 1] ? [x.reverse(), y.reverse()] : [x, y];
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [values, axis]);
  const there = data[1].filter((each): each is number => each !== null);
  const [low, high] = there.reduce(([a, b], each) => [Math.min(a, each), Math.max(b, each)], [Infinity, -Infinity]);
  return (
    <Plot
      data={data} series={[{ label: axis.name }, { label, stroke: '#2f6fdb', points: { show: data[0].length < 60 } }]}
      x={axis.label} y={label} isDate={isDate} label={`Line of ${label}: ${there.length} values, ${low} to ${high}`}
    />
  );
}
