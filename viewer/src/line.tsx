import { useMemo } from 'react';

import type { Shown } from './array';
import { Plot } from './plot';

export default function Line({ axes, steps, values, label }: Shown) {
  const data = useMemo<[number[], (number | null)[]]>(() => {
    const numbers = Array.from(values as ArrayLike<number | bigint>, Number);
    return [numbers.map((_, i) => axes[0].from + i * steps[0]), numbers.map((each) => (Number.isFinite(each) ? each : null))];
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [values]);
  const there = data[1].filter((each): each is number => each !== null);
  const [low, high] = there.reduce(([a, b], each) => [Math.min(a, each), Math.max(b, each)], [Infinity, -Infinity]);
  return (
    <Plot
      data={data} series={[{ label: axes[0].name }, { label, stroke: '#2f6fdb', points: { show: data[0].length < 60 } }]}
      x={axes[0].name} y={label} label={`Line of ${label}: ${there.length} values, ${low} to ${high}`}
    />
  );
}
