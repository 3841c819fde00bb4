import { getDomain, HeatmapVis, toTypedNdArray } from '@h5web/lib';
import '@h5web/lib/styles.css';
import { useMemo } from 'react';

import type { Shown } from './array';
import { ndarrayOf } from './ndarray-of';

export default function Heat({ axes, steps, lengths, values, label }: Shown) {
  const [array, domain] = useMemo(() => {
    const numbers = values instanceof Float32Array || values instanceof Float64Array ? values : Float64Array.from(values as ArrayLike<number>, Number);
    const found = toTypedNdArray(ndarrayOf(numbers, lengths), Float32Array);
    return [found, getDomain(found) ?? ([0, 1] as [number, number])];
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [values]);
  const along = (axis: number) => ({
    label: axes[axis].name,
    value: Array.from({ length: lengths[axis] }, (_, i) => axes[axis].from + i * steps[axis]),
  });
  return (
    <div className="picture" role="img" aria-label={`Heat map of ${label}: ${domain[0]} to ${domain[1]}`} data-domain={domain.join(',')}>
      <HeatmapVis
        className="vis" dataArray={array} domain={domain} colorMap="Viridis" title={label} aspect="auto"
        abscissaParams={along(1)} ordinateParams={along(0)}
      />
    </div>
  );
}
