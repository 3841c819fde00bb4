import { ColorBar, DefaultInteractions, HeatmapMesh, ResetZoomButton, ScaleType, toTypedNdArray, TooltipMesh, VisCanvas } from '@h5web/lib';
import '@h5web/lib/styles.css';
import { useMemo } from 'react';

import type { Shown } from './array';
import { even, numeric, type ShownAxis, written } from './coordinates';
import { text } from './matrix';
import { ndarrayOf } from './ndarray-of';

export default function Heat({ axes, lengths, values, label }: Shown) {
  const [[rows, columns], [y, x]] = [lengths, axes.map(scale)];
  const [array, domain] = useMemo(() => {
    const numbers = Float32Array.from({ length: rows * columns }, (_, i) => {
      const [row, column] = [Math.floor(i / columns), i % columns];
      return numeric(values[(y.isReversed ? rows - 1 - row : row) * columns + (x.isReversed ? columns - 1 - column : column)]);
    });
    return [toTypedNdArray(ndarrayOf(numbers, lengths), Float32Array), extent(values)];
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [values, axes]);
  const hover = (left: number, up: number) => {
    const [row, column] = [y.index(up), x.index(left)];
    if (!(row >= 0 && row < rows && column >= 0 && column < columns)) return null;
    const at = (axis: ShownAxis, index: number) => `${axis.name} ${written(axis.values[index], axis.coordinate)} ${axis.coordinate?.units ?? ''}`.trim();
    return <>{at(axes[0], row)}, {at(axes[1], column)}<br /><strong>{text(values[row * columns + column])}</strong></>;
  };
  return (
    <div className="picture" role="img" aria-label={`Heat map of ${label}: ${domain[0]} to ${domain[1]}`} data-domain={domain.join(',')}>
      <div className="vis">
        <VisCanvas title={label} aspect="auto" abscissaConfig={{ ...x.config, flip: false }} ordinateConfig={y.config}>
          <DefaultInteractions />
          <ResetZoomButton />
          <TooltipMesh guides="both" renderTooltip={(left, up) => hover(left, up) ?? <></>} />
          <HeatmapMesh values={array} domain={domain} colorMap="Viridis" scaleType={ScaleType.Linear} scale={[1, y.config.flip ? -1 : 1, 1]} />
        </VisCanvas>
        <ColorBar domain={domain} scaleType={ScaleType.Linear} colorMap="Viridis" invertColorMap={false} withBounds />
      </div>
    </div>
  );
}

// An axis from its least to its greatest coordinate; unevenly spaced ones are names of equal cells.
function scale(axis: ShownAxis) {
  const { values, coordinate, label } = axis;
  const length = values.length;
  const step = even(values);
  const isReversed = coordinate !== null && length > 1 && values[0] > values[length - 1];
  const inside = (place: number) => (isReversed ? length - 1 - place : place);
  const flip = coordinate?.is_down ?? false;
  if (step === null) {
    const index = (place: number) => inside(Math.floor(place));
    // a tick at the middle of a cell, or at its start where there are many
    const isNamed = (place: number) => place < length && (Number.isInteger(place - 0.5) || (length > 7 && Number.isInteger(place)));
    const formatTick = (place: number) => (isNamed(place) ? short(values[index(place)], coordinate) : '');
    return { isReversed, index, config: { visDomain: [0, length] as [number, number], label, flip, formatTick } };
  }
  const low = Math.min(values[0], values[length - 1]);
  const width = Math.abs(step);
  const edge = coordinate ? width / 2 : 0; // a coordinate is the middle of its cell, an index its start
  const index = (place: number) => inside(Math.floor((place - low + edge) / width));
  const formatTick = coordinate?.is_date ? (place: number) => short(place, coordinate) : undefined;
  return { isReversed, index, config: { visDomain: [low - edge, low + width * length - edge] as [number, number], label, flip, formatTick } };
}

// Beside an axis there is no room for year and minute.
function short(value: number, coordinate: ShownAxis['coordinate']): string {
  const text = written(value, coordinate);
  return coordinate?.is_date && text.length > 10 ? text.slice(5, 16) : text;
}

function extent(values: ArrayLike<unknown>): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < values.length; i += 1) {
    const each = numeric(values[i]);
    if (!Number.isFinite(each)) continue;
    if (each < low) low = each;
    if (each > high) high = each;
  }
  return low > high ? [0, 1] : [low, high];
}
